# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A table of transaction records, and the queries that need no Arrow.

A scan fills the table; a selection marks records in a mask of one byte each;
``column`` returns one field of all records as bytes that Arrow takes over.
"""

from array import array

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from binx.kernels.transactions.fields cimport *
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.hashing cimport slot_bytes, slot_entry
from binx.kernels.transactions.wanted cimport in_intervals
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release

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
