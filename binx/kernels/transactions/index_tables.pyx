# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Build transaction tables from the columns of an index file.

Every number is checked against what a record can hold: index files are untrusted input.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.walk.gtids cimport TIME_BITS
from binx.kernels.hashing cimport Slots, slot_entry, slot_of, slots_release
from binx.kernels.output cimport append, reserve
from binx.kernels.transactions.fields cimport set_field
from binx.kernels.transactions.table cimport *

from binx.kernels.transactions.table import FIELDS

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
