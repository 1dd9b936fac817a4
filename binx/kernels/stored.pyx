# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records of transactions as an index file keeps them: packed column by column, and unpacked again.

A block holds the transactions of one table as 22 columns of records and 5 of per-table counts, one behind the
other, each delta-packed; see stored_columns.pxd.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from binx.kernels.blocks cimport BlockFunctions, best_blocks
from binx.kernels.cursor cimport Cursor, cursor_over, remaining
from binx.kernels.delta cimport bad_delta, put_deltas, take_deltas
from binx.kernels.gtids cimport TIME_BITS
from binx.kernels.hashing cimport Slots, slot_entry, slot_of, slots_release
from binx.kernels.output cimport Output, append, no_memory, release, reserve
from binx.kernels.stored_columns cimport *
from binx.kernels.transactions cimport *

cdef enum:
    UUID_SIZE = 16
    # What a GTID's tag takes at most, see gtids.pxd.
    TAG_SIZE = 32
    DOMAIN_SIZE = 8

cdef struct Extent:
    int64_t least
    int64_t most

RECORDS_MAXIMUM = RECORDS_LIMIT
COUNTS_MAXIMUM = COUNTS_LIMIT


def pack(TransactionTable table not None):
    """A table's transactions as one block."""
    cdef int64_t records = table.length()
    cdef int64_t counts = table.counts.size // <int64_t> sizeof(TableCount)
    cdef int64_t larger = COLUMNS * records if COLUMNS * records > counts else counts
    cdef int64_t *values = <int64_t *> malloc(larger * 8 + 8)
    cdef const BlockFunctions *blocks = best_blocks()
    cdef Output out
    cdef TableCount *count = <TableCount *> table.counts.data
    cdef Transaction *record
    cdef int64_t before = 0
    cdef int64_t i
    cdef int column
    if values == NULL:
        no_memory(larger * 8)
    memset(&out, 0, sizeof(Output))
    try:
        with nogil:
            for i in range(records):
                record = table.record(i)
                put_values(record, before, values + i, records)
                before = record.end
            for column in range(COLUMNS):
                put_deltas(&out, blocks, values + column * records, records)
            for column in range(COUNT_COLUMNS):
                for i in range(counts):
                    values[i] = count[i].table if column == COUNT_TABLE else count_field(&count[i], column)[0]
                put_deltas(&out, blocks, values, counts)
        return out.data[: out.size]
    finally:
        free(values)
        release(&out)


def join(TransactionTable table not None, TransactionTable more not None):
    """Append to a table the transactions of the next one of the same scan."""
    cdef int64_t held = table.length()
    cdef int64_t counts = table.counts.size // <int64_t> sizeof(TableCount)
    cdef int64_t i
    if table.owner is not more.owner or table is more:
        raise ValueError("the tables are not of one scan")
    append(&table.records, more.records.data, more.records.size)
    append(&table.counts, more.counts.data, more.counts.size)
    for i in range(held, table.length()):
        table.record(i).first_count += counts


def counts_of(TransactionTable table not None):
    """How many per-table counts a table's transactions have."""
    return table.counts.size // <int64_t> sizeof(TableCount)


def sources_of(TransactionTable table not None):
    """The keys of all sources that the scan has numbered so far, by their numbers."""
    cdef int32_t number
    cdef int32_t count = table.sources.count if table.sources != NULL else 0
    return [table.key_of(number) for number in range(count)]


cdef inline void widen(Extent *extent, int64_t value) noexcept nogil:
    extent.least = min(extent.least, value)
    extent.most = max(extent.most, value)


cdef object extent_of(const Extent *extent):
    return (extent.least, extent.most) if extent.least <= extent.most else None


def block_facts(TransactionTable table not None):
    """What can be said of all transactions of a block, see stored.pyi; all of it in one pass over the records."""
    cdef Extent times, servers, sizes, xids, threads
    cdef const Transaction *record
    cdef int64_t steps = 0
    cdef int64_t i
    times.least = servers.least = sizes.least = xids.least = threads.least = INT64_MAX
    times.most = servers.most = sizes.most = xids.most = threads.most = INT64_MIN
    with nogil:
        for i in range(table.length()):
            record = table.record(i)
            widen(&times, record.commit_timestamp)
            widen(&servers, record.server_id)
            widen(&sizes, record.end - record.start)
            if record.flags & HAS_XID:
                widen(&xids, <int64_t> record.xid)
            if record.flags & HAS_THREAD:
                widen(&threads, record.thread_id)
            steps += record.statements > 0
            steps += KIND_XA_PREPARE <= record.kind <= KIND_XA_ROLLBACK
    return extent_of(&times), extent_of(&servers), extent_of(&sizes), extent_of(&xids), extent_of(&threads), steps


cdef class StoredTables:
    """Gives the tables of packed blocks; the names of sources and tables are shared by all.

    Args:
        sources: the keys of the GTIDs' sources, by their numbers.
        tables: how many tables the counts speak of.

    Raises:
        DamagedError: a source stands there twice.
    """

    cdef Slots sources
    cdef Slots tables

    def __cinit__(self):
        memset(&self.sources, 0, sizeof(Slots))
        memset(&self.tables, 0, sizeof(Slots))

    def __init__(self, list sources, int32_t tables):
        cdef bytes key
        cdef int32_t number
        for key in sources:
            slot_of(&self.sources, key, len(key))
        for number in range(tables):
            slot_of(&self.tables, <const uint8_t *> &number, sizeof(int32_t))
        if self.sources.count != len(sources):
            from binx.errors import DamagedError

            raise DamagedError("expected each source of GTIDs once, found one twice")

    def __dealloc__(self):
        slots_release(&self.sources)
        slots_release(&self.tables)

    def unpack(self, const uint8_t[::1] block, int64_t records, int64_t counts, int64_t first, int64_t end, int64_t origin):
        """A block's transactions.

        Args:
            block: the block's bytes.
            records: how many transactions it holds.
            counts: how many per-table counts.
            first: offset in the log before which no transaction may begin.
            end: offset in the log behind which none may end.
            origin: offset of the block in its file, for messages.

        Raises:
            DamagedError: it holds anything else.
        """
        cdef TransactionTable table = TransactionTable()
        cdef int64_t larger = records if records > counts else counts
        cdef int64_t *values
        cdef Cursor cursor = cursor_over(&block[0] if block.shape[0] else NULL, block.shape[0], origin)
        if not (0 < records <= RECORDS_LIMIT and 0 <= counts <= COUNTS_LIMIT):
            bad_delta(&cursor)
        table.sources = &self.sources
        table.tables = &self.tables
        table.owner = self
        values = <int64_t *> malloc(larger * 8)
        if values == NULL:
            no_memory(larger * 8)
        try:
            with nogil:
                self.read_records(&cursor, values, records, table)
                self.read_counts(&cursor, values, counts, table)
                if remaining(&cursor) or not self.fits(table, first, end):
                    bad_delta(&cursor)
        finally:
            free(values)
        return table

    cdef int read_records(self, Cursor *cursor, int64_t *values, int64_t count, TransactionTable table) except -1 nogil:
        cdef int column
        cdef int64_t i
        reserve(&table.records, count * sizeof(Transaction))
        memset(table.records.data, 0, count * sizeof(Transaction))
        table.records.size = count * sizeof(Transaction)
        for column in range(COLUMNS):
            take_deltas(cursor, values, count)
            for i in range(count):
                if not set_value(table.record(i), column, values[i]):
                    bad_delta(cursor)
        return 0

    cdef int read_counts(self, Cursor *cursor, int64_t *values, int64_t count, TransactionTable table) except -1 nogil:
        cdef TableCount *counts
        cdef int column
        cdef int64_t i
        reserve(&table.counts, count * sizeof(TableCount))
        counts = <TableCount *> table.counts.data
        table.counts.size = count * sizeof(TableCount)
        for column in range(COUNT_COLUMNS):
            take_deltas(cursor, values, count)
            for i in range(count):
                if column != COUNT_TABLE:
                    count_field(&counts[i], column)[0] = values[i]
                elif 0 <= values[i] < self.tables.count:
                    counts[i].table = <int32_t> values[i]
                else:
                    bad_delta(cursor)
        return 0

    cdef bint fits(self, TransactionTable table, int64_t first, int64_t end) noexcept nogil:
        """Turn gaps and sizes into offsets; whether all transactions are where some can be, in order."""
        cdef int64_t before = 0
        cdef int64_t counts = 0
        cdef int64_t i
        cdef Transaction *record
        for i in range(table.length()):
            record = table.record(i)
            # Neither sum can overflow: both offsets before it are within the file.
            if record.start < 0 or record.start > end - before:
                return False
            record.start += before
            if record.start < first or record.end <= 0 or record.end > end - record.start:
                return False
            record.end += record.start
            before = record.end
            if record.flags & BY_LENGTH:
                record.claimed_length = record.end - record.start
            record.first_count = counts
            counts += record.counts
            if not has_times(record) or not self.has_source(record):
                return False
        return counts == table.counts.size // <int64_t> sizeof(TableCount)

    cdef bint has_source(self, const Transaction *record) noexcept nogil:
        """Whether the source of a record's GTID is known, and of the kind that its GTID has."""
        cdef int64_t size
        if record.gtid_kind != GTID_MYSQL and record.gtid_kind != GTID_MARIADB:
            return True
        if not 0 <= record.source < self.sources.count:
            return False
        size = slot_entry(&self.sources, record.source).size
        if record.gtid_kind == GTID_MARIADB:
            return size == DOMAIN_SIZE
        return UUID_SIZE <= size <= UUID_SIZE + TAG_SIZE


cdef bint has_times(const Transaction *record) noexcept nogil:
    """Whether a record's times are some that a log can tell; none is below 0."""
    return (
        record.commit_timestamp >> TIME_BITS == 0
        and record.original_commit_timestamp >> TIME_BITS == 0
        and record.begin_timestamp >> 32 == 0
    )
