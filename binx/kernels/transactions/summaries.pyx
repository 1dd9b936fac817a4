# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Selected transactions: their byte ranges in a log, GTIDs, logical clock checks, rankings, and running sums.

Memory is bounded whatever the number of transactions: sums by kind, size and server, a histogram with a
fixed number of buckets that grow wider, the connections with the most bytes, one sum per table.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memmove, memset

from binx.kernels.calendar cimport SECOND
from binx.kernels.hashing cimport Slots, slot_entry, slot_of, slots_release
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release
from binx.kernels.render.clock cimport TIME_LAST
from binx.kernels.transactions.table cimport (
    COMMIT_TIME_FROM_GTID,
    COMPRESSED,
    GTID_MYSQL,
    HAS_CLOCK,
    HAS_COUNTS,
    HAS_THREAD,
    HAS_XID,
    KINDS,
    KIND_DML,
    KIND_ROLLBACK,
    KIND_XA_PREPARE,
    LENGTH_WRONG,
    TableCount,
    Transaction,
    TransactionTable,
    UUID_SIZE,
    has_gtid,
)


cdef enum:
    # In place of the number of transactions: one whose GTID event cannot be patched in place.
    UNPATCHABLE = -1

cdef struct TransactionRange:
    int64_t start
    int64_t end
    int64_t transactions


def merged_ranges(TransactionTable table not None, const uint8_t[::1] mask, bint lengths_change):
    cdef Output ranges = empty_output()
    if mask is not None and mask.shape[0] != table.length():
        raise ValueError(f"a mask of {mask.shape[0]} for {table.length()} records")
    try:
        with nogil:
            merge(table, mask, lengths_change, &ranges)
        return bytes_in(&ranges)
    finally:
        release(&ranges)


cdef int merge(TransactionTable table, const uint8_t[::1] mask, bint lengths_change, Output *ranges) except -1 nogil:
    cdef Transaction *record
    cdef TransactionRange *last
    cdef TransactionRange fresh
    cdef int64_t i
    cdef bint masked = mask is not None
    for i in range(table.length()):
        if masked and not mask[i]:
            continue
        record = table.record(i)
        fresh.start = record.start
        fresh.end = record.end
        fresh.transactions = UNPATCHABLE if is_unpatchable(table, record, lengths_change) else 1
        if ranges.size and fresh.transactions != UNPATCHABLE:
            last = <TransactionRange *> (ranges.data + ranges.size) - 1
            if last.end == fresh.start and last.transactions != UNPATCHABLE:
                last.end = fresh.end
                last.transactions += 1
                continue
        append(ranges, &fresh, sizeof(TransactionRange))
    return 0


cdef bint is_unpatchable(TransactionTable table, Transaction *record, bint lengths_change) noexcept nogil:
    """Whether a transaction's GTID event takes more than patching in place."""
    return (
        record.flags & LENGTH_WRONG
        or (lengths_change and record.claimed_length)
        or (record.gtid_kind == GTID_MYSQL and slot_entry(table.sources, record.source).size > UUID_SIZE)
    )


cdef inline bint is_usual(const Transaction *record) noexcept nogil:
    """Whether a script runs the transaction between BEGIN and COMMIT without anything special.

    Not for changes of several rows without an engine's transaction (MyISAM), which the script keeps out of the log.
    """
    return (
        record.kind == KIND_DML
        and (record.flags & HAS_XID or record.rows == 1 or not has_gtid(record))
        and 0 <= record.commit_timestamp <= TIME_LAST
    )


def whole_transactions(
    TransactionTable table,
    const int64_t[::1] taken not None,
    int64_t first,
    const int64_t[::1] versions not None,
    const uint8_t[::1] marks not None,
    const int64_t[::1] ends not None,
    int64_t run,
    int64_t stop,
    bint usual,
    int mark,
    bint without_gtid,
):
    cdef int64_t count = 0
    cdef int64_t index
    cdef int64_t begin
    cdef bint claimed = False
    cdef const Transaction *record
    if versions.shape[0] != ends.shape[0] or marks.shape[0] != ends.shape[0] or run < 0 or first < 0:
        raise ValueError("runs have a version, a mark and an end each")
    stop = min(stop, ends.shape[0])
    with nogil:
        while run + count < stop and first + count < taken.shape[0]:
            index = taken[first + count]
            if index < 0 or index >= table.length():
                break
            record = table.record(index)
            begin = ends[run + count - 1] if run + count else 0
            if (
                record.start != versions[run + count] & <int64_t> 0xFFFFFFFF
                or not record.flags & HAS_COUNTS
                or record.statements
                or record.rows != ends[run + count] - begin
            ):
                break
            if usual:
                if not is_usual(record) or marks[run + count] != mark:
                    break
                if not has_gtid(record) and not without_gtid:
                    break
                if count and has_gtid(record) != claimed:
                    break
                claimed = has_gtid(record)
            count += 1
    return count


def clock_faults(TransactionTable table not None, int64_t reached):
    cdef int64_t faults = 0
    cdef int64_t first = -1
    cdef int64_t i
    cdef const Transaction *record
    with nogil:
        for i in range(table.length()):
            record = table.record(i)
            if not record.flags & HAS_CLOCK or record.sequence_number == 0:
                continue
            if (
                record.sequence_number <= reached
                or record.last_committed < 0
                or record.last_committed >= record.sequence_number
            ):
                if faults == 0:
                    first = i
                faults += 1
            reached = record.sequence_number
    return faults, first, reached


def flagged(TransactionTable table not None, int flag):
    cdef int64_t count = 0
    cdef int64_t first = -1
    cdef int64_t i
    with nogil:
        for i in range(table.length()):
            if table.record(i).flags & flag:
                if count == 0:
                    first = i
                count += 1
    return count, first


cdef struct Ranked:
    int64_t value
    int64_t index


cdef inline int64_t measured(const Transaction *record, int measure) noexcept nogil:
    if measure == MEASURE_ROWS:
        return record.rows
    if measure == MEASURE_DURATION:
        return sure_seconds(record)
    if measure == MEASURE_COMMIT_TIME:
        return record.commit_timestamp
    return record.end - record.start


def measures(TransactionTable table, mask, int measure):
    cdef const uint8_t[::1] marks = table.mask() if mask is None else mask
    cdef Output out = empty_output()
    cdef int64_t value
    cdef int64_t i
    if marks.shape[0] != table.length():
        raise ValueError(f"a mask of {marks.shape[0]} for {table.length()} records")
    try:
        with nogil:
            for i in range(table.length()):
                if marks[i] == 1:
                    value = measured(table.record(i), measure)
                    append(&out, &value, sizeof(int64_t))
        return bytes_in(&out)
    finally:
        release(&out)


def rank(TransactionTable table, mask, int measure, bint smallest, int64_t limit, floor=None):
    cdef Output ranked = empty_output()
    cdef Ranked item
    cdef Ranked *items
    cdef int64_t sign = -1 if smallest else 1
    cdef bint bounded = floor is not None
    cdef int64_t least = sign * <int64_t> floor if bounded else 0
    cdef const uint8_t[::1] marks = table.mask() if mask is None else mask
    cdef int64_t count
    cdef int64_t i
    if marks.shape[0] != table.length():
        raise ValueError(f"a mask of {marks.shape[0]} for {table.length()} records")
    try:
        with nogil:
            for i in range(table.length()):
                if marks[i]:
                    item.value = sign * measured(table.record(i), measure)
                    item.index = i
                    if not bounded or item.value > least:
                        append(&ranked, &item, sizeof(Ranked))
            count = ranked.size // <int64_t> sizeof(Ranked)
            if count:
                qsort(ranked.data, count, sizeof(Ranked), compare_ranked)
        items = <Ranked *> ranked.data
        return [(sign * items[i].value, items[i].index) for i in range(min(count, max(limit, 0)))]
    finally:
        release(&ranked)


cdef int compare_ranked(const void *left, const void *right) noexcept nogil:
    """Compare by descending value, then by index."""
    cdef const Ranked *first = <const Ranked *> left
    cdef const Ranked *second = <const Ranked *> right
    if first.value != second.value:
        return -1 if first.value > second.value else 1
    return -1 if first.index < second.index else 1


cdef struct GtidRun:
    int32_t source
    uint64_t first
    uint64_t last


def gtid_runs(TransactionTable table not None, const uint8_t[::1] mask not None):
    cdef int32_t count = table.sources.count if table.sources != NULL else 0
    # Each source's interval that may still grow; it is empty if its first number is above its last.
    cdef bytes open_bytes = PyBytes_FromStringAndSize(NULL, count * sizeof(GtidRun))
    cdef GtidRun *open_runs = <GtidRun *> PyBytes_AS_STRING(open_bytes)
    cdef GtidRun *run
    cdef Output closed = empty_output()
    cdef const Transaction *record
    cdef int64_t i
    table.check(mask)
    try:
        with nogil:
            for i in range(count):
                open_runs[i].source, open_runs[i].first, open_runs[i].last = <int32_t> i, 1, 0
            for i in range(table.length()):
                record = table.record(i)
                if not mask[i] or not has_gtid(record):
                    continue
                run = open_runs + record.source
                if run.first <= run.last:
                    if record.number > run.last and record.number - run.last == 1:
                        run.last = record.number
                        continue
                    append(&closed, run, sizeof(GtidRun))
                run.first = run.last = record.number
            for i in range(count):
                if open_runs[i].first <= open_runs[i].last:
                    append(&closed, open_runs + i, sizeof(GtidRun))
        run = <GtidRun *> closed.data
        return [
            (table.key_of(run[i].source), run[i].first, run[i].last)
            for i in range(closed.size // <int64_t> sizeof(GtidRun))
        ]
    finally:
        release(&closed)


cdef enum:
    SIZE_CLASSES = 65
    BUCKETS_MAXIMUM = 240
    GROUPS_MAXIMUM = 65536
    WIDTHS = 14

cdef struct Sums:
    int64_t transactions
    int64_t bytes
    int64_t rows

cdef struct Group:
    uint64_t key
    Sums sums

cdef struct TableSums:
    int64_t transactions
    int64_t inserts
    int64_t updates
    int64_t deletes
    int64_t bytes

cdef struct Groups:
    # The keys; the number of each is its group's index.
    Slots keys
    Output groups

cdef struct Steps:
    int64_t count
    int64_t largest


# Seconds per bucket, each a multiple of the one before; after a week they double.
cdef int64_t[WIDTHS] BUCKET_WIDTHS = [
    1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 604800
]

cdef inline void add_to(Sums *sums, const Transaction *record) noexcept nogil:
    sums.transactions += 1
    sums.bytes += record.end - record.start
    sums.rows += record.rows


cdef inline tuple sums_of(const Sums *sums):
    return sums.transactions, sums.bytes, sums.rows


cdef int64_t group_count(const Groups *groups) noexcept nogil:
    return groups.groups.size // <int64_t> sizeof(Group)


cdef int add_to_group(Groups *groups, uint64_t key, const Transaction *record) except -1 nogil:
    cdef Group fresh
    cdef int32_t slot = slot_of(&groups.keys, <const uint8_t *> &key, sizeof(uint64_t))
    if slot == group_count(groups):
        memset(&fresh, 0, sizeof(Group))
        fresh.key = key
        append(&groups.groups, &fresh, sizeof(Group))
    add_to(&((<Group *> groups.groups.data) + slot).sums, record)
    return 0


cdef inline void step_from(int64_t *last, int64_t moment, Steps *steps) noexcept nogil:
    """Advance to a time, and count it if it is well before the last one."""
    # Smaller steps come from commits of one group.
    if moment + SECOND < last[0]:
        steps.count += 1
        steps.largest = max(steps.largest, last[0] - moment)
    last[0] = moment


cdef list sums_by_key(const Groups *groups):
    cdef Group *group = <Group *> groups.groups.data
    cdef int64_t i
    return [(group[i].key, *sums_of(&group[i].sums)) for i in range(group_count(groups))]


cdef void release_groups(Groups *groups) noexcept nogil:
    slots_release(&groups.keys)
    release(&groups.groups)


cdef class Tally:
    cdef Sums total
    cdef Sums kind_sums[KINDS]
    cdef Sums size_sums[SIZE_CLASSES]
    cdef Sums buckets[BUCKETS_MAXIMUM]
    cdef int64_t bucket_seconds
    cdef int64_t first_bucket
    cdef int64_t bucket_count
    cdef Groups server_groups
    cdef Groups thread_groups
    cdef readonly bint servers_forgotten
    cdef readonly bint threads_forgotten
    cdef Output table_sums
    cdef Sums compressed_sums
    cdef int64_t uncompressed
    cdef Sums text_sums
    cdef readonly int64_t statements
    cdef int64_t last_clock
    cdef Steps steps
    cdef int64_t last_event_second
    cdef Steps event_steps

    def __cinit__(self):
        self.bucket_seconds = 1
        self.last_clock = -1
        self.last_event_second = -1

    def __dealloc__(self):
        release_groups(&self.server_groups)
        release_groups(&self.thread_groups)
        release(&self.table_sums)

    def add(self, TransactionTable table, mask=None):
        cdef const uint8_t[::1] marks
        cdef TableCount *counts = <TableCount *> table.counts.data
        cdef Transaction *record
        cdef int64_t i
        if mask is None:
            with nogil:
                for i in range(table.length()):
                    self.add_record(table.record(i))
                self.add_counts(counts, table.counts.size // <int64_t> sizeof(TableCount))
            return
        marks = mask
        if marks.shape[0] != table.length():
            raise ValueError(f"a mask of {marks.shape[0]} for {table.length()} records")
        with nogil:
            for i in range(table.length()):
                if marks[i] == 1:
                    record = table.record(i)
                    self.add_record(record)
                    if record.counts:
                        self.add_counts(counts + record.first_count, record.counts)

    cdef int add_record(self, const Transaction *record) except -1 nogil:
        cdef uint64_t size = <uint64_t> (record.end - record.start)
        cdef int size_class = 0
        cdef uint64_t connection
        while size:
            size_class += 1
            size >>= 1
        add_to(&self.total, record)
        add_to(&self.kind_sums[record.kind], record)
        add_to(&self.size_sums[size_class], record)
        self.statements += record.statements
        if group_count(&self.server_groups) >= GROUPS_MAXIMUM:
            self.forget(&self.server_groups)
            self.servers_forgotten = True
        add_to_group(&self.server_groups, record.server_id, record)
        if record.flags & HAS_THREAD:
            if group_count(&self.thread_groups) >= GROUPS_MAXIMUM:
                self.forget(&self.thread_groups)
                self.threads_forgotten = True
            connection = <uint64_t> record.server_id << 32 | record.thread_id
            add_to_group(&self.thread_groups, connection, record)
        if record.flags & COMPRESSED:
            add_to(&self.compressed_sums, record)
            self.uncompressed += record.uncompressed_bytes
        if record.statements and (
            record.kind == KIND_DML or record.kind == KIND_ROLLBACK or record.kind == KIND_XA_PREPARE
        ):
            add_to(&self.text_sums, record)
        if record.flags & COMMIT_TIME_FROM_GTID:
            step_from(&self.last_clock, record.commit_timestamp, &self.steps)
        else:
            step_from(&self.last_event_second, record.commit_timestamp, &self.event_steps)
        return self.add_moment(record.commit_timestamp, record)

    cdef int add_counts(self, const TableCount *count, int64_t length) except -1 nogil:
        """Add the transactions' row changes to each table's sums; their counts are contiguous."""
        cdef TableSums blank
        cdef TableSums *sums
        cdef int64_t i
        memset(&blank, 0, sizeof(TableSums))
        for i in range(length):
            while self.table_sums.size // <int64_t> sizeof(TableSums) <= count[i].table:
                append(&self.table_sums, &blank, sizeof(TableSums))
            sums = (<TableSums *> self.table_sums.data) + count[i].table
            sums.transactions += 1
            sums.inserts += count[i].inserts
            sums.updates += count[i].updates
            sums.deletes += count[i].deletes
            sums.bytes += count[i].bytes
        return 0

    cdef int add_moment(self, int64_t moment, const Transaction *record) except -1 nogil:
        """Add a transaction to the bucket of its commit time; buckets widen until all times fit."""
        cdef int64_t bucket = moment // SECOND // self.bucket_seconds
        cdef int64_t shift
        if self.bucket_count == 0:
            self.first_bucket = bucket
            self.bucket_count = 1
        while bucket - self.first_bucket >= BUCKETS_MAXIMUM or (
            self.first_bucket + self.bucket_count - bucket > BUCKETS_MAXIMUM
        ):
            self.widen()
            bucket = moment // SECOND // self.bucket_seconds
        if bucket < self.first_bucket:
            shift = self.first_bucket - bucket
            memmove(&self.buckets[shift], &self.buckets[0], self.bucket_count * sizeof(Sums))
            memset(&self.buckets[0], 0, shift * sizeof(Sums))
            self.first_bucket = bucket
            self.bucket_count += shift
        if bucket - self.first_bucket >= self.bucket_count:
            self.bucket_count = bucket - self.first_bucket + 1
        add_to(&self.buckets[bucket - self.first_bucket], record)
        return 0

    cdef int widen(self) except -1 nogil:
        """Change to the next width, and merge buckets."""
        cdef int64_t seconds = self.bucket_seconds * 2
        cdef int64_t factor
        cdef int64_t first
        cdef int64_t target
        cdef int64_t i
        cdef Sums moved
        for i in range(WIDTHS):
            if BUCKET_WIDTHS[i] > self.bucket_seconds:
                seconds = BUCKET_WIDTHS[i]
                break
        factor = seconds // self.bucket_seconds
        first = self.first_bucket // factor
        for i in range(self.bucket_count):
            # `target` is never greater than i, so no bucket is overwritten before it is moved.
            target = (self.first_bucket + i) // factor - first
            moved = self.buckets[i]
            memset(&self.buckets[i], 0, sizeof(Sums))
            self.buckets[target].transactions += moved.transactions
            self.buckets[target].bytes += moved.bytes
            self.buckets[target].rows += moved.rows
        self.bucket_count = (self.first_bucket + self.bucket_count - 1) // factor - first + 1
        self.first_bucket = first
        self.bucket_seconds = seconds
        return 0

    cdef int forget(self, Groups *groups) except -1 with gil:
        """Keep the half of the groups that wrote the most."""
        cdef Group *group = <Group *> groups.groups.data
        cdef Groups kept
        cdef int64_t i
        order = sorted(
            range(group_count(groups)), key=lambda number: (-group[<int64_t> number].sums.bytes, number)
        )
        memset(&kept, 0, sizeof(Groups))
        for i in sorted(order[: GROUPS_MAXIMUM // 2]):
            append(&kept.groups, &group[i], sizeof(Group))
            slot_of(&kept.keys, <const uint8_t *> &group[i].key, sizeof(uint64_t))
        release_groups(groups)
        groups[0] = kept
        return 0

    def take_tables(self):
        cdef TableSums *sums = <TableSums *> self.table_sums.data
        cdef int64_t i
        taken = [
            (sums[i].transactions, sums[i].inserts, sums[i].updates, sums[i].deletes, sums[i].bytes)
            for i in range(self.table_sums.size // <int64_t> sizeof(TableSums))
        ]
        self.table_sums.size = 0
        return taken

    @property
    def totals(self):
        return sums_of(&self.total)

    @property
    def kinds(self):
        return {i: sums_of(&self.kind_sums[i]) for i in range(KINDS) if self.kind_sums[i].transactions}

    @property
    def sizes(self):
        return {i: sums_of(&self.size_sums[i]) for i in range(SIZE_CLASSES) if self.size_sums[i].transactions}

    @property
    def servers(self):
        return sums_by_key(&self.server_groups)

    @property
    def threads(self):
        return sums_by_key(&self.thread_groups)

    @property
    def compressed(self):
        return (*sums_of(&self.compressed_sums), self.uncompressed)

    @property
    def with_text(self):
        return sums_of(&self.text_sums)

    @property
    def backward_steps(self):
        return self.steps.count, self.steps.largest

    @property
    def backward_event_steps(self):
        return self.event_steps.count, self.event_steps.largest

    @property
    def histogram(self):
        cdef int64_t i
        return (
            self.bucket_seconds,
            self.first_bucket * self.bucket_seconds,
            [sums_of(&self.buckets[i]) for i in range(self.bucket_count)],
        )
