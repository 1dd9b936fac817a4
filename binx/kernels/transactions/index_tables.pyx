# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Tables of transactions made of columns of numbers, as an index file gives them.

Every number is checked against what a record can hold: an index file is input like any other.
"""

from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from binx.kernels.walk.gtids cimport TIME_BITS
from binx.kernels.hashing cimport Slots, slot_entry, slot_of, slots_release
from binx.kernels.output cimport append, reserve
from binx.kernels.transactions.table cimport *

cdef enum:
    UUID_SIZE = 16
    # What a GTID's tag takes at most, see gtids.pxd.
    TAG_SIZE = 32
    DOMAIN_SIZE = 8
    KINDS = KIND_INCIDENT + 1
    GTID_KINDS = GTID_ANONYMOUS + 1

cdef enum Column:
    COLUMN_START
    COLUMN_END
    COLUMN_CLAIMED_LENGTH
    COLUMN_UNCOMPRESSED_BYTES
    COLUMN_COMMIT_TIMESTAMP
    COLUMN_ORIGINAL_COMMIT_TIMESTAMP
    COLUMN_BEGIN_TIMESTAMP
    COLUMN_LAST_COMMITTED
    COLUMN_SEQUENCE_NUMBER
    COLUMN_NUMBER
    COLUMN_XID
    COLUMN_ROWS
    COLUMN_EVENTS
    COLUMN_STATEMENTS
    COLUMN_COUNTS
    COLUMN_SOURCE
    COLUMN_SERVER_ID
    COLUMN_THREAD_ID
    COLUMN_KIND
    COLUMN_GTID_KIND
    COLUMN_FLAGS
    COLUMN_UNDOES_PART
    COLUMNS

COUNT_COLUMNS = 5

COLUMN_NAMES = (
    "start", "end", "claimed_length", "uncompressed_bytes", "commit_timestamp", "original_commit_timestamp",
    "begin_timestamp", "last_committed", "sequence_number", "number", "xid", "rows", "events", "statements", "counts",
    "source", "server_id", "thread_id", "kind", "gtid_kind", "flags", "undoes_part",
)


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


def sources_of(TransactionTable table not None):
    """The keys of all sources that the scan has numbered so far, by their numbers."""
    cdef int32_t number
    cdef int32_t count = table.sources.count if table.sources != NULL else 0
    return [table.key_of(number) for number in range(count)]


cdef class IndexedTables:
    """Gives tables of transactions that share the names of sources and tables.

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
            bad_column("a source of GTIDs twice")

    def __dealloc__(self):
        slots_release(&self.sources)
        slots_release(&self.tables)

    def table(self, list columns, list counts, int64_t first, int64_t end):
        """The transactions that columns of numbers describe.

        Args:
            columns: for each of ``COLUMN_NAMES`` a 64-bit integer for each transaction.
            counts: of all transactions' tables, in their order: table numbers, inserts, updates, deletes, bytes.
            first: offset in the log before which no transaction may begin.
            end: offset in the log behind which none may end.

        Raises:
            DamagedError: a number is none that a log can have.
        """
        cdef TransactionTable made = TransactionTable()
        cdef const int64_t[::1] values
        cdef int64_t records = len(columns[0])
        cdef int column
        made.sources = &self.sources
        made.tables = &self.tables
        made.owner = self
        if len(columns) != COLUMNS or len(counts) != COUNT_COLUMNS:
            raise ValueError("not as many columns as there are")
        reserve(&made.records, records * sizeof(Transaction))
        memset(made.records.data, 0, records * sizeof(Transaction))
        made.records.size = records * sizeof(Transaction)
        for column in range(COLUMNS):
            values = columns[column]
            if values.shape[0] != records:
                raise ValueError("columns of different lengths")
            with nogil:
                self.set_values(made, column, values)
        self.set_counts(made, counts)
        with nogil:
            self.check(made, first, end)
        return made

    cdef int set_values(self, TransactionTable table, int column, const int64_t[::1] values) except -1 nogil:
        cdef int64_t i
        for i in range(table.length()):
            if not set_value(table.record(i), column, values[i]):
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
        """Whether all transactions are where some can be, in order, with sources and counts that there are."""
        cdef int64_t before = first
        cdef int64_t counts = 0
        cdef int64_t i
        cdef Transaction *record
        for i in range(table.length()):
            record = table.record(i)
            if not before <= record.start < record.end <= end:
                bad_column("a transaction where none can be")
            before = record.end
            record.first_count = counts
            counts += record.counts
            if not has_times(record) or not self.has_source(record):
                bad_column("a time or a GTID that no log can have")
        if counts != table.counts.size // <int64_t> sizeof(TableCount):
            bad_column("another number of counts than transactions have")
        return 0

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


cdef inline bint has_times(const Transaction *record) noexcept nogil:
    """Whether a record's times are some that a log can tell; none is below 0."""
    return (
        record.commit_timestamp >> TIME_BITS == 0
        and record.original_commit_timestamp >> TIME_BITS == 0
        and record.begin_timestamp >> 32 == 0
    )


cdef inline bint set_value(Transaction *record, int column, int64_t value) noexcept nogil:
    """Give a record what a column holds of it. False: no record has that."""
    if column == COLUMN_START:
        record.start = value
    elif column == COLUMN_END:
        record.end = value
    elif column == COLUMN_CLAIMED_LENGTH:
        record.claimed_length = value
    elif column == COLUMN_UNCOMPRESSED_BYTES:
        record.uncompressed_bytes = value
    elif column == COLUMN_COMMIT_TIMESTAMP:
        record.commit_timestamp = value
    elif column == COLUMN_ORIGINAL_COMMIT_TIMESTAMP:
        record.original_commit_timestamp = value
    elif column == COLUMN_BEGIN_TIMESTAMP:
        record.begin_timestamp = value
    elif column == COLUMN_LAST_COMMITTED:
        record.last_committed = value
    elif column == COLUMN_SEQUENCE_NUMBER:
        record.sequence_number = value
    elif column == COLUMN_NUMBER:
        record.number = <uint64_t> value
    elif column == COLUMN_XID:
        record.xid = <uint64_t> value
    elif column == COLUMN_ROWS:
        record.rows = value
    elif column == COLUMN_EVENTS:
        record.events = value
    elif column == COLUMN_STATEMENTS:
        record.statements = value
    elif column == COLUMN_COUNTS:
        record.counts = <int32_t> value
        return 0 <= value <= INT32_MAX
    elif column == COLUMN_SOURCE:
        record.source = <int32_t> value
        return 0 <= value <= INT32_MAX
    elif column == COLUMN_SERVER_ID:
        record.server_id = <uint32_t> value
        return 0 <= value <= UINT32_MAX
    elif column == COLUMN_THREAD_ID:
        record.thread_id = <uint32_t> value
        return 0 <= value <= UINT32_MAX
    elif column == COLUMN_KIND:
        record.kind = <uint8_t> value
        return 0 <= value < KINDS
    elif column == COLUMN_GTID_KIND:
        record.gtid_kind = <uint8_t> value
        return 0 <= value < GTID_KINDS
    elif column == COLUMN_FLAGS:
        record.flags = <uint8_t> value
        return record.flags == <uint64_t> value
    else:
        record.undoes_part = <uint8_t> value
        return 0 <= value <= 1
    return True


cdef int bad_column(str found) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(f"expected what a log's transactions can be, found {found}")
