# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The columns of the transaction index, made of a table's records in one go."""

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from binx.kernels.transactions cimport *

cdef enum:
    MICROSECONDS = 1000000
    # What a record may be without; a column of such values has these as nulls.
    KNOWN_GTID = 0
    KNOWN_XID = 1
    KNOWN_UNCOMPRESSED = 2
    KNOWN_ORIGINAL = 3
    KNOWN_CLOCK = 4
    KNOWN_THREAD = 5
    KNOWN_EVENTS = 6
    KNOWN_ROWS = 7


cdef inline uint32_t known_of(const Transaction *record) noexcept nogil:
    """What a record has, a bit each."""
    cdef uint32_t known = 0
    known |= <uint32_t> (record.gtid_kind == GTID_MYSQL or record.gtid_kind == GTID_MARIADB) << KNOWN_GTID
    known |= <uint32_t> (record.flags & HAS_XID != 0) << KNOWN_XID
    known |= <uint32_t> (record.flags & COMPRESSED != 0) << KNOWN_UNCOMPRESSED
    known |= <uint32_t> (record.original_commit_timestamp != 0) << KNOWN_ORIGINAL
    known |= <uint32_t> (record.flags & HAS_CLOCK != 0) << KNOWN_CLOCK
    known |= <uint32_t> (record.flags & HAS_THREAD != 0) << KNOWN_THREAD
    # A compressed transaction's own events are seen only by a scan that looks inside.
    known |= <uint32_t> (
        record.events > 0 and (record.flags & HAS_COUNTS != 0 or record.flags & COMPRESSED == 0)
    ) << KNOWN_EVENTS
    known |= <uint32_t> (record.flags & HAS_COUNTS != 0) << KNOWN_ROWS
    return known


cdef bytes known_values(TransactionTable table):
    """What each record has, a byte each."""
    cdef int64_t count = table.length()
    cdef bytes made = PyBytes_FromStringAndSize(NULL, count)
    cdef uint8_t *known = <uint8_t *> PyBytes_AS_STRING(made)
    cdef int64_t i
    with nogil:
        for i in range(count):
            known[i] = <uint8_t> known_of(table.record(i))
    return made


cdef tuple validity(bytes known_values, int which):
    """A column's validity bits, None where all are set, and how many are not."""
    cdef int64_t count = len(known_values)
    cdef const uint8_t *known = <const uint8_t *> PyBytes_AS_STRING(known_values)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, (count + 7) // 8)
    cdef uint8_t *bits = <uint8_t *> PyBytes_AS_STRING(made)
    cdef int64_t nulls = 0
    cdef int64_t i
    cdef uint8_t bit
    memset(bits, 0, (count + 7) // 8)
    with nogil:
        for i in range(count):
            bit = known[i] >> which & 1
            bits[i >> 3] |= bit << (i & 7)
            nulls += 1 - bit
    return (made if nulls else None), nulls


cdef class Column:
    """Memory for a value of each record."""

    cdef bytes made
    cdef void *data

    def __cinit__(self, int64_t size):
        self.made = PyBytes_FromStringAndSize(NULL, size)
        self.data = PyBytes_AS_STRING(self.made)


def index_columns(TransactionTable table not None, int64_t base, int64_t first_seqno, int32_t epoch):
    """The values of all columns, and what is null in those that may have nulls.

    Returns by the column's name what its Arrow array is made of: validity bits (None where nothing is null), the
    number of nulls, the values. ``kind``, ``how`` and ``commit_time_source`` are numbers of one byte, ``epoch``
    has four, ``tables`` is the offsets of lists (four bytes, one more than there are records), all others have
    eight.
    """
    cdef int64_t count = table.length()
    cdef dict made = {}
    cdef dict nulls = {}
    cdef Column column
    cdef str name
    cdef int which
    for name in (
        "commit_version", "xid", "server_id", "seqno", "start", "end", "bytes", "uncompressed_bytes",
        "commit_timestamp", "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number",
        "thread_id", "events", "rows", "statements",
    ):
        made[name] = Column(8 * count)
    for name in ("kind", "how", "commit_time_source"):
        made[name] = Column(count)
    made["epoch"] = Column(4 * count)
    made["tables"] = Column(4 * count + 4)
    fill(table, made, base, first_seqno, epoch)
    known = known_values(table)
    for name, which in (
        ("gtid", KNOWN_GTID),
        ("xid", KNOWN_XID),
        ("uncompressed_bytes", KNOWN_UNCOMPRESSED),
        ("original_commit_timestamp", KNOWN_ORIGINAL),
        ("last_committed", KNOWN_CLOCK),
        ("thread_id", KNOWN_THREAD),
        ("events", KNOWN_EVENTS),
        ("rows", KNOWN_ROWS),
    ):
        nulls[name] = validity(known, which)
    nulls["sequence_number"] = nulls["last_committed"]
    nulls["statements"] = nulls["events"]
    columns = {}
    for name, column in made.items():
        columns[name] = (*nulls.get(name, (None, 0)), column.made)
    columns["gtid"] = (*nulls["gtid"], b"")
    return columns


cdef int64_t *longs(dict made, str name):
    return <int64_t *> (<Column> made[name]).data


cdef int fill(TransactionTable table, dict made, int64_t base, int64_t first_seqno, int32_t epoch) except -1:
    cdef int64_t *commit_version = longs(made, "commit_version")
    cdef int64_t *xid = longs(made, "xid")
    cdef int64_t *server_id = longs(made, "server_id")
    cdef int64_t *seqno = longs(made, "seqno")
    cdef int64_t *start = longs(made, "start")
    cdef int64_t *end = longs(made, "end")
    cdef int64_t *size = longs(made, "bytes")
    cdef int64_t *uncompressed = longs(made, "uncompressed_bytes")
    cdef int64_t *commit = longs(made, "commit_timestamp")
    cdef int64_t *original = longs(made, "original_commit_timestamp")
    cdef int64_t *begin = longs(made, "begin_timestamp")
    cdef int64_t *last_committed = longs(made, "last_committed")
    cdef int64_t *sequence_number = longs(made, "sequence_number")
    cdef int64_t *thread_id = longs(made, "thread_id")
    cdef int64_t *events = longs(made, "events")
    cdef int64_t *rows = longs(made, "rows")
    cdef int64_t *statements = longs(made, "statements")
    cdef int8_t *kind = <int8_t *> longs(made, "kind")
    cdef int8_t *how = <int8_t *> longs(made, "how")
    cdef int8_t *time_source = <int8_t *> longs(made, "commit_time_source")
    cdef int32_t *epochs = <int32_t *> longs(made, "epoch")
    cdef int32_t *lists = <int32_t *> longs(made, "tables")
    cdef const Transaction *record
    cdef int64_t count = table.length()
    cdef int64_t i
    with nogil:
        for i in range(count):
            record = table.record(i)
            commit_version[i] = base + record.start
            xid[i] = <int64_t> record.xid
            server_id[i] = record.server_id
            seqno[i] = first_seqno + i
            start[i] = record.start
            end[i] = record.end
            size[i] = record.end - record.start
            uncompressed[i] = record.uncompressed_bytes
            commit[i] = record.commit_timestamp
            original[i] = record.original_commit_timestamp
            begin[i] = record.begin_timestamp * MICROSECONDS
            last_committed[i] = record.last_committed
            sequence_number[i] = record.sequence_number
            thread_id[i] = record.thread_id
            events[i] = record.events
            rows[i] = record.rows
            statements[i] = record.statements
            kind[i] = <int8_t> record.kind
            how[i] = record.flags & BY_LENGTH != 0
            time_source[i] = record.flags & COMMIT_TIME_FROM_GTID != 0
            epochs[i] = epoch
            lists[i] = <int32_t> record.first_count
        lists[count] = <int32_t> (table.counts.size // <int64_t> sizeof(TableCount))
    return 0


def count_columns(TransactionTable table not None, list databases not None, list names not None):
    """What all transactions did to tables, one after another.

    Args:
        databases: by table number, the number that its database goes by.
        names: by table number, the number that its name goes by.

    Returns the numbers of databases and of names (four bytes each), inserts, updates and deletes (eight each).
    """
    cdef int64_t count = table.counts.size // <int64_t> sizeof(TableCount)
    cdef const TableCount *counts = <const TableCount *> table.counts.data
    cdef Column database_of = Column(4 * len(databases))
    cdef Column name_of = Column(4 * len(names))
    cdef int32_t *database_numbers = <int32_t *> database_of.data
    cdef int32_t *name_numbers = <int32_t *> name_of.data
    cdef Column database = Column(4 * count)
    cdef Column name = Column(4 * count)
    cdef Column inserts = Column(8 * count)
    cdef Column updates = Column(8 * count)
    cdef Column deletes = Column(8 * count)
    cdef int64_t known = min(len(databases), len(names))
    cdef int64_t i
    for i in range(known):
        database_numbers[i] = databases[i]
        name_numbers[i] = names[i]
    for i in range(count):
        if not 0 <= counts[i].table < known:
            raise IndexError(counts[i].table)
        (<int32_t *> database.data)[i] = database_numbers[counts[i].table]
        (<int32_t *> name.data)[i] = name_numbers[counts[i].table]
        (<int64_t *> inserts.data)[i] = counts[i].inserts
        (<int64_t *> updates.data)[i] = counts[i].updates
        (<int64_t *> deletes.data)[i] = counts[i].deletes
    return database.made, name.made, inserts.made, updates.made, deletes.made


def extents(TransactionTable table not None, bytearray mask not None):
    """Starts of the first and the last marked transaction, least and greatest commit time; None without any."""
    cdef const uint8_t *marks = <const uint8_t *> PyByteArray_AS_STRING(mask)
    cdef const Transaction *record
    cdef int64_t first = -1
    cdef int64_t last = -1
    cdef int64_t least = 0
    cdef int64_t most = 0
    cdef int64_t i
    table.check(mask)
    for i in range(table.length()):
        if marks[i]:
            record = table.record(i)
            least = record.commit_timestamp if first < 0 else min(least, record.commit_timestamp)
            most = record.commit_timestamp if first < 0 else max(most, record.commit_timestamp)
            first = record.start if first < 0 else first
            last = record.start
    return None if first < 0 else (first, last, least, most)
