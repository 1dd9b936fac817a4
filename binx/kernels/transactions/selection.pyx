# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Selected transactions: their byte ranges in a log, GTIDs, logical clock checks, and rankings."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort

from binx.kernels.render.clock cimport TIME_LAST
from binx.kernels.hashing cimport slot_entry
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release
from binx.kernels.transactions.table cimport (
    GTID_MYSQL,
    HAS_CLOCK,
    HAS_COUNTS,
    HAS_XID,
    KIND_DML,
    LENGTH_WRONG,
    UUID_SIZE,
    Transaction,
    TransactionTable,
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
