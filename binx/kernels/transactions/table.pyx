# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A table of transaction records, and the queries that need no Arrow.

A scan fills the table; a selection marks records in a mask of one byte each;
``column`` returns one field of all records as bytes that Arrow takes over.

Tables are also built from the columns of an index file: every number is checked against what a record can hold: index files are untrusted input.
"""

from array import array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memset

from binx.kernels.hashing cimport Slots, slot_bytes, slot_entry, slot_of, slots_release
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release, reserve
from binx.kernels.transactions.fields cimport *
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.transactions.wanted cimport in_intervals
from binx.kernels.walk.gtids cimport TIME_BITS


UNSIGNED_MAXIMUM = (1 << 64) - 1

cdef enum:
    LARGEST_MARK = 7

cdef Transaction _blank


cdef int field(const void *member, int storage):
    return <int> ((<const uint8_t *> member) - (<const uint8_t *> &_blank)) << STORAGE_BITS | storage


FIELDS = {
    "start": field(&_blank.start, STORAGE_INT64),
    "end": field(&_blank.end, STORAGE_INT64),
    "claimed_length": field(&_blank.claimed_length, STORAGE_INT64),
    "uncompressed_bytes": field(&_blank.uncompressed_bytes, STORAGE_INT64),
    "commit_timestamp": field(&_blank.commit_timestamp, STORAGE_INT64),
    "original_commit_timestamp": field(&_blank.original_commit_timestamp, STORAGE_INT64),
    "begin_timestamp": field(&_blank.begin_timestamp, STORAGE_INT64),
    "last_committed": field(&_blank.last_committed, STORAGE_INT64),
    "sequence_number": field(&_blank.sequence_number, STORAGE_INT64),
    "number": field(&_blank.number, STORAGE_INT64),
    "xid": field(&_blank.xid, STORAGE_INT64),
    "rows": field(&_blank.rows, STORAGE_INT64),
    "events": field(&_blank.events, STORAGE_INT64),
    "statements": field(&_blank.statements, STORAGE_INT64),
    "first_count": field(&_blank.first_count, STORAGE_INT64),
    "counts": field(&_blank.counts, STORAGE_INT32),
    "source": field(&_blank.source, STORAGE_INT32),
    "server_id": field(&_blank.server_id, STORAGE_UINT32),
    "thread_id": field(&_blank.thread_id, STORAGE_UINT32),
    "kind": field(&_blank.kind, STORAGE_BYTE),
    "gtid_kind": field(&_blank.gtid_kind, STORAGE_BYTE),
    "flags": field(&_blank.flags, STORAGE_BYTE),
    "undoes_part": field(&_blank.undoes_part, STORAGE_BYTE),
    "text": field(&_blank.text, STORAGE_BYTE),
    "bytes": STORAGE_BYTES_BETWEEN,
}
"""The fields of a record by name, and ``bytes`` from start to end; all come out as 64-bit integers."""

FLAG_HAS_XID = HAS_XID
FLAG_HAS_THREAD = HAS_THREAD
FLAG_HAS_CLOCK = HAS_CLOCK
FLAG_HAS_COUNTS = HAS_COUNTS
FLAG_BY_LENGTH = BY_LENGTH
FLAG_COMMIT_TIME_FROM_GTID = COMMIT_TIME_FROM_GTID
FLAG_COMPRESSED = COMPRESSED
FLAG_LENGTH_WRONG = LENGTH_WRONG


cdef object single_intervals(object values):
    """Return numbers as ascending intervals of one number each, for ``in_intervals``; omits those beyond 64 bits."""
    numbers = {value & UNSIGNED_MAXIMUM for value in values if -(1 << 63) <= value <= UNSIGNED_MAXIMUM}
    return array("Q", [bound for number in sorted(numbers) for bound in (number, number)])


cdef class TransactionTable:
    def __dealloc__(self):
        release(&self.records)
        release(&self.counts)

    def __len__(self):
        return self.length()

    @property
    def bytes_held(self):
        return self.records.capacity + self.counts.capacity

    def value(self, str field, int64_t index):
        if not 0 <= index < self.length():
            raise IndexError(index)
        return field_of(self.record(index), FIELDS[field])

    def column(self, str field):
        cdef int number = FIELDS[field]
        cdef int64_t count = self.length()
        cdef bytes out = PyBytes_FromStringAndSize(NULL, count * 8)
        cdef int64_t *values = <int64_t *> PyBytes_AS_STRING(out)
        cdef int64_t i
        with nogil:
            for i in range(count):
                values[i] = field_of(self.record(i), number)
        return out

    def gtid(self, int64_t index):
        cdef Output out = empty_output()
        if not 0 <= index < self.length():
            raise IndexError(index)
        try:
            render_gtid(self.record(index), self.sources, &out)
            return out.data[: out.size].decode() if out.size else None
        finally:
            release(&out)

    def gtids(self):
        cdef Output out = empty_output()
        cdef int64_t count = self.length()
        cdef bytes offsets = PyBytes_FromStringAndSize(NULL, (count + 1) * 4)
        cdef int32_t *ends = <int32_t *> PyBytes_AS_STRING(offsets)
        cdef int64_t i
        try:
            with nogil:
                ends[0] = 0
                for i in range(count):
                    render_gtid(self.record(i), self.sources, &out)
                    ends[i + 1] = <int32_t> out.size
            return offsets, bytes_in(&out)
        finally:
            release(&out)

    def all_have_gtids(self):
        cdef int64_t i
        cdef bint all_have = True
        with nogil:
            for i in range(self.length()):
                if not has_gtid(self.record(i)):
                    all_have = False
                    break
        return all_have

    def source_key(self, int64_t index):
        cdef Transaction *record
        if not 0 <= index < self.length():
            raise IndexError(index)
        record = self.record(index)
        if not has_gtid(record):
            return None
        return self.key_of(record.source)

    def counts_of(self, int64_t index):
        cdef Transaction *record
        cdef TableCount *count
        cdef int32_t i
        if not 0 <= index < self.length():
            raise IndexError(index)
        record = self.record(index)
        result = []
        for i in range(record.counts):
            count = (<TableCount *> self.counts.data) + record.first_count + i
            result.append((count.table, count.inserts, count.updates, count.deletes, count.bytes))
        return result

    def count_column(self, int which):
        cdef int64_t count = self.counts.size // sizeof(TableCount)
        cdef bytes out = PyBytes_FromStringAndSize(NULL, count * 8)
        cdef int64_t *values = <int64_t *> PyBytes_AS_STRING(out)
        cdef TableCount *counts = <TableCount *> self.counts.data
        cdef int64_t i
        if not 0 <= which <= 4:
            raise IndexError(which)
        with nogil:
            for i in range(count):
                values[i] = (&counts[i].inserts)[which - 1] if which else counts[i].table
        return out

    def mask(self):
        return bytearray(b"\x01") * self.length()

    def keep_range(self, uint8_t[::1] mask, str field, int64_t first, int64_t last):
        cdef int number = FIELDS[field]
        cdef int64_t i
        cdef int64_t value
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    value = field_of(self.record(i), number)
                    mask[i] = first <= value <= last

    def keep_overlap(self, uint8_t[::1] mask, int64_t start, int64_t stop):
        cdef int64_t i
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    mask[i] = self.record(i).end > start and self.record(i).start < stop

    def keep_values(self, uint8_t[::1] mask, str field, object values, int flag = 0):
        cdef int number = FIELDS[field]
        cdef const uint64_t[::1] wanted = single_intervals(values)
        cdef int64_t count = wanted.shape[0] // 2
        cdef int64_t i
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    mask[i] = (
                        count > 0
                        and (self.record(i).flags & flag) == flag
                        and in_intervals(&wanted[0], count, <uint64_t> field_of(self.record(i), number))
                    )

    def keep_gtids(self, uint8_t[::1] mask, dict intervals, bint inside):
        cdef int32_t count = self.sources.count if self.sources != NULL else 0
        cdef list packed_bounds = [None] * count
        cdef const uint64_t **bounds
        cdef int64_t *sizes
        cdef bytes bound_bytes = PyBytes_FromStringAndSize(NULL, count * sizeof(void *) + 8)
        cdef bytes size_bytes = PyBytes_FromStringAndSize(NULL, count * 8 + 8)
        cdef int32_t slot
        cdef int64_t i
        cdef bint in_set
        cdef Transaction *record
        cdef bytes packed
        self.check(mask)
        bounds = <const uint64_t **> PyBytes_AS_STRING(bound_bytes)
        sizes = <int64_t *> PyBytes_AS_STRING(size_bytes)
        for slot in range(count):
            packed = intervals.get(self.key_of(slot), b"")
            packed_bounds[slot] = packed
            bounds[slot] = <const uint64_t *> PyBytes_AS_STRING(packed)
            sizes[slot] = len(packed) // 16
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    record = self.record(i)
                    in_set = has_gtid(record) and in_intervals(
                        bounds[record.source], sizes[record.source], record.number
                    )
                    mask[i] = in_set == inside

    cdef bytes key_of(self, int32_t source):
        """Return a source's bytes: UUID and tag, or domain and server."""
        return slot_bytes(self.sources, source)[: slot_entry(self.sources, source).size]

    def keep_tables(self, uint8_t[::1] mask, const uint8_t[::1] wanted):
        cdef int64_t i
        cdef int32_t k
        cdef Transaction *record
        cdef TableCount *counts = <TableCount *> self.counts.data
        cdef int32_t table
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    record = self.record(i)
                    mask[i] = 0
                    for k in range(record.counts):
                        table = counts[record.first_count + k].table
                        if table < wanted.shape[0] and wanted[table]:
                            mask[i] = 1
                            break

    def mark_work(self, uint8_t[::1] mask):
        cdef int64_t i
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    mask[i] = 3 if self.record(i).kind == KIND_ROLLBACK else 1
        self.mark_statements(mask)

    def mark_statements(self, uint8_t[::1] mask):
        cdef int64_t i
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if not mask[i] and self.record(i).statements:
                    mask[i] = 2

    def sum_counts(self, const uint8_t[::1] mask):
        cdef int64_t i
        cdef int32_t k
        cdef int64_t cell
        cdef int32_t tables = self.tables.count if self.tables != NULL else 0
        cdef Transaction *record
        cdef TableCount *count
        cdef int mark = 0
        cdef bytes sum_bytes
        cdef int64_t *sums
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                mark = mask[i] if mask[i] > mark else mark
        if mark > LARGEST_MARK:
            raise ValueError(f"a mark of {mark}")
        sum_bytes = b"\0" * ((mark + 1) * tables * 24)
        sums = <int64_t *> PyBytes_AS_STRING(sum_bytes)
        with nogil:
            for i in range(self.length()):
                record = self.record(i)
                for k in range(record.counts):
                    count = (<TableCount *> self.counts.data) + record.first_count + k
                    cell = 3 * (<int64_t> mask[i] * tables + count.table)
                    sums[cell] += count.inserts
                    sums[cell + 1] += count.updates
                    sums[cell + 2] += count.deletes
        return [
            (cell // tables, cell % tables, sums[3 * cell], sums[3 * cell + 1], sums[3 * cell + 2])
            for cell in range(<int64_t> (mark + 1) * tables)
            if sums[3 * cell] or sums[3 * cell + 1] or sums[3 * cell + 2]
        ]

    def extents(self, const uint8_t[::1] mask):
        cdef const Transaction *record
        cdef int64_t first = -1
        cdef int64_t last = -1
        cdef int64_t least = 0
        cdef int64_t most = 0
        cdef int64_t i
        self.check(mask)
        with nogil:
            for i in range(self.length()):
                if mask[i]:
                    record = self.record(i)
                    least = record.commit_timestamp if first < 0 else min(least, record.commit_timestamp)
                    most = record.commit_timestamp if first < 0 else max(most, record.commit_timestamp)
                    first = record.start if first < 0 else first
                    last = record.start
        return None if first < 0 else (first, last, least, most)

    def undoing(self, const uint8_t[::1] mask):
        return self.indexes(mask, True)

    def marked(self, const uint8_t[::1] mask):
        return self.indexes(mask, False)

    cdef object indexes(self, const uint8_t[::1] mask, bint undoing):
        """Return the indexes of the records with mark 1, or of those among them that undo a part of themselves."""
        cdef Output indexes = empty_output()
        cdef int64_t i
        self.check(mask)
        try:
            with nogil:
                for i in range(self.length()):
                    if mask[i] == 1 and (not undoing or self.record(i).undoes_part):
                        append(&indexes, &i, sizeof(int64_t))
            return array("q", bytes_in(&indexes))
        finally:
            release(&indexes)

    cdef int check(self, mask) except -1:
        if len(mask) != self.length():
            raise ValueError(f"a mask of {len(mask)} for {self.length()} records")
        return 0


COUNT_COLUMNS = 5

COLUMN_NAMES = (
    "start", "end", "claimed_length", "uncompressed_bytes", "commit_timestamp", "original_commit_timestamp",
    "begin_timestamp", "last_committed", "sequence_number", "number", "xid", "rows", "events", "statements", "counts",
    "source", "server_id", "thread_id", "kind", "gtid_kind", "flags", "undoes_part",
)


def join(TransactionTable table not None, TransactionTable more not None):
    cdef int64_t first = table.length()
    cdef int64_t counts = table.counts.size // <int64_t> sizeof(TableCount)
    cdef int64_t i
    if table.owner is not more.owner or table is more:
        raise ValueError("the tables are not of one scan")
    with nogil:
        append(&table.records, more.records.data, more.records.size)
        append(&table.counts, more.counts.data, more.counts.size)
        for i in range(first, table.length()):
            table.record(i).first_count += counts


def sources_of(TransactionTable table not None):
    cdef int32_t number
    cdef int32_t count = table.sources.count if table.sources != NULL else 0
    return [table.key_of(number) for number in range(count)]


cdef class IndexedTables:
    cdef Slots sources
    cdef Slots tables

    def __init__(self, list sources, int32_t tables):
        cdef bytes key
        cdef int32_t number
        for key in sources:
            slot_of(&self.sources, key, len(key))
        for number in range(tables):
            slot_of(&self.tables, <const uint8_t *> &number, sizeof(int32_t))
        if self.sources.count != len(sources):
            bad_column("a source of GTIDs twice")

    def __dealloc__(self):
        slots_release(&self.sources)
        slots_release(&self.tables)

    def table(self, list columns, list counts, int64_t first, int64_t end):
        cdef TransactionTable table = TransactionTable()
        cdef const int64_t[::1] values
        cdef int64_t records = len(columns[0])
        cdef int column
        cdef int field
        table.sources = &self.sources
        table.tables = &self.tables
        table.owner = self
        if len(columns) != len(COLUMN_NAMES) or len(counts) != COUNT_COLUMNS:
            raise ValueError("not as many columns as there are")
        reserve(&table.records, records * sizeof(Transaction))
        if records:
            memset(table.records.data, 0, records * sizeof(Transaction))
        table.records.size = records * sizeof(Transaction)
        for column in range(len(COLUMN_NAMES)):
            values = columns[column]
            field = FIELDS[COLUMN_NAMES[column]]
            if values.shape[0] != records:
                raise ValueError("columns of different lengths")
            with nogil:
                self.set_values(table, field, values)
        self.set_counts(table, counts)
        with nogil:
            self.check(table, first, end)
        return table

    cdef int set_values(self, TransactionTable table, int field, const int64_t[::1] values) except -1 nogil:
        cdef int64_t i
        for i in range(table.length()):
            if not set_field(table.record(i), field, values[i]):
                bad_column("a number that no record can hold")
        return 0

    cdef int set_counts(self, TransactionTable table, list columns) except -1:
        cdef const int64_t[::1] tables = columns[0]
        cdef const int64_t[::1] inserts = columns[1]
        cdef const int64_t[::1] updates = columns[2]
        cdef const int64_t[::1] deletes = columns[3]
        cdef const int64_t[::1] sizes = columns[4]
        cdef int64_t count = tables.shape[0]
        cdef TableCount *out
        cdef int64_t i
        if not inserts.shape[0] == updates.shape[0] == deletes.shape[0] == sizes.shape[0] == count:
            raise ValueError("columns of different lengths")
        reserve(&table.counts, count * sizeof(TableCount))
        table.counts.size = count * sizeof(TableCount)
        out = <TableCount *> table.counts.data
        with nogil:
            for i in range(count):
                if not 0 <= tables[i] < self.tables.count:
                    bad_column("the number of a table that there is not")
                out[i].table = <int32_t> tables[i]
                out[i].inserts = inserts[i]
                out[i].updates = updates[i]
                out[i].deletes = deletes[i]
                out[i].bytes = sizes[i]
        return 0

    cdef int check(self, TransactionTable table, int64_t first, int64_t end) except -1 nogil:
        """Check that all transactions are within the log, in order, with known sources and enough counts."""
        cdef int64_t previous_end = first
        cdef int64_t counts = 0
        cdef int64_t i
        cdef Transaction *record
        for i in range(table.length()):
            record = table.record(i)
            if not previous_end <= record.start < record.end <= end:
                bad_column("a transaction where none can be")
            previous_end = record.end
            record.first_count = counts
            counts += record.counts
            if not has_times(record) or not self.has_source(record):
                bad_column("a time or a GTID that no log can have")
            if record.kind >= KINDS or record.gtid_kind >= GTID_KINDS or record.undoes_part > 1:
                bad_column("a kind that no transaction has")
        if counts != table.counts.size // <int64_t> sizeof(TableCount):
            bad_column("another number of counts than transactions have")
        return 0

    cdef bint has_source(self, const Transaction *record) noexcept nogil:
        """Whether the source of a record's GTID is known and of the GTID's kind."""
        cdef int64_t size
        if not has_gtid(record):
            return True
        if not 0 <= record.source < self.sources.count:
            return False
        size = slot_entry(&self.sources, record.source).size
        if record.gtid_kind == GTID_MARIADB:
            return size == MARIADB_SOURCE_SIZE
        return UUID_SIZE <= size <= UUID_SIZE + TAG_MAXIMUM


cdef inline bint has_times(const Transaction *record) noexcept nogil:
    """Whether a record's times are within the range of logs; none is below 0."""
    return (
        record.commit_timestamp >> TIME_BITS == 0
        and record.original_commit_timestamp >> TIME_BITS == 0
        and record.begin_timestamp >> 32 == 0
    )


cdef int bad_column(str found) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(f"expected what a log's transactions can be, found {found}")
