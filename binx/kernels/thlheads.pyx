# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What stands before the row changes of usual transactions in Tungsten's listing, many transactions at a time."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memset

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from binx.kernels.digits cimport (
    MICROSECONDS,
    SECONDS_SIZE,
    lay_out_second,
    lay_padded,
    put,
    put_byte,
    put_signed,
    put_unsigned,
)
from binx.kernels.gtidtexts cimport has_gtid, render_gtid
from binx.kernels.output cimport Output, append, bytes_in, release, reserve
from binx.kernels.tablenames cimport TableText, TableTexts
from binx.kernels.transactions cimport *

cdef enum:
    # All of a head but for the names in it.
    HEAD_MAXIMUM = 640
    POSITION_DIGITS = 16
    FRACTION_DIGITS = 6


cdef int outside() except -1 with gil:
    raise ValueError("a transaction is not in the table")


cdef class ThlHeads:
    """Writes the heads of transactions; see the stub."""

    cdef Output out
    cdef TableTexts schemas
    cdef bytes file
    cdef const char *file_text
    cdef int64_t file_size
    cdef bytes ending
    cdef const char *ending_text
    cdef int64_t ending_size
    cdef int64_t epoch

    def __cinit__(self, *_):
        memset(&self.out, 0, sizeof(Output))

    def __init__(self, bytes ending):
        self.schemas = TableTexts()
        self.ending = ending
        self.ending_text, self.ending_size = PyBytes_AS_STRING(ending), len(ending)
        self.take_file(b"")

    def __dealloc__(self):
        release(&self.out)

    def begin_file(self, bytes file, int64_t epoch, object schema_of):
        """Go on with the transactions of another scan; see the stub."""
        self.take_file(file)
        self.epoch = epoch
        self.schemas.begin(schema_of)

    cdef void take_file(self, bytes file):
        self.file = file
        self.file_text, self.file_size = PyBytes_AS_STRING(file), len(file)

    def render(
        self,
        TransactionTable table,
        const int64_t[::1] taken not None,
        int64_t first,
        int64_t count,
        int64_t first_seqno,
        int64_t limit,
    ):
        """The heads of some transactions; see the stub."""
        cdef bytes ends
        cdef int64_t *end
        cdef int64_t written = 0
        cdef int64_t index
        cdef const Transaction *record
        if first < 0 or count < 0 or first + count > taken.shape[0]:
            raise ValueError("fewer transactions are taken")
        ends = PyBytes_FromStringAndSize(NULL, count * 8)
        end = <int64_t *> PyBytes_AS_STRING(ends)
        self.out.size = 0
        with nogil:
            while written < count:
                index = taken[first + written]
                if index < 0 or index >= table.length():
                    outside()
                record = table.record(index)
                if record.flags & COMPRESSED or record.end - record.start >= limit:
                    break
                self.head(table, record, first_seqno + index)
                end[written] = self.out.size
                written += 1
        return written, ends[: 8 * written], bytes_in(&self.out)

    cdef int head(self, TransactionTable table, const Transaction *record, int64_t seqno) except -1 nogil:
        cdef Output *out = &self.out
        reserve(out, HEAD_MAXIMUM + self.file_size)
        put(out, b"SEQ# = ", 7)
        put_signed(out, seqno)
        put(out, b" / FRAG# = 0 (last frag)\n- TIME = ", 34)
        self.time(record.commit_timestamp)
        put(out, b"\n- EPOCH# = ", 12)
        put_signed(out, self.epoch)
        put(out, b"\n- EVENTID = ", 13)
        put(out, self.file_text, self.file_size)
        put_byte(out, c":")
        out.size = lay_padded(out.data + out.size, record.end, POSITION_DIGITS) - out.data
        if record.flags & HAS_THREAD:
            put_byte(out, c";")
            put_unsigned(out, record.thread_id)
        put(out, b"\n- SOURCEID = ", 14)
        put_unsigned(out, record.server_id)
        put(out, b"\n- METADATA = [mysql_server_id=", 31)
        put_unsigned(out, record.server_id)
        put(out, b";dbms_type=mysql;tz_aware=true", 30)
        if has_gtid(record):
            put(out, b";gtid=", 6)
            render_gtid(record, table.sources, out)
            reserve(out, HEAD_MAXIMUM)
        if record.flags & HAS_XID:
            put(out, b";xid=", 5)
            put_unsigned(out, record.xid)
        put(out, b";shard=", 7)
        self.shard(table, record)
        return append(out, self.ending_text, self.ending_size)

    cdef void time(self, int64_t moment) noexcept nogil:
        """A moment in UTC as Java's Timestamp prints it: at least one digit of the fraction."""
        cdef Output *out = &self.out
        cdef int64_t second = moment // MICROSECONDS
        cdef uint8_t *text = out.data + out.size
        lay_out_second(second, text)
        text[10] = c" "
        out.size += SECONDS_SIZE
        put_byte(out, c".")
        out.size = lay_padded(out.data + out.size, moment - second * MICROSECONDS, FRACTION_DIGITS) - out.data
        while out.data[out.size - 1] == c"0" and out.data[out.size - 2] != c".":
            out.size -= 1

    cdef int shard(self, TransactionTable table, const Transaction *record) except -1 nogil:
        """The schema of the transaction's tables, where it is one."""
        cdef Output *out = &self.out
        cdef const TableCount *count = (<const TableCount *> table.counts.data) + record.first_count
        cdef TableText one
        cdef TableText other
        cdef int32_t i
        if not record.counts:
            return append(out, b"#UNKNOWN", 8)
        self.schemas.find(count[0].table, &one)
        for i in range(1, record.counts):
            self.schemas.find(count[i].table, &other)
            if not self.alike(one, other):
                return append(out, b"#UNKNOWN", 8)
        return append(out, self.schemas.data.data + one.start, one.size)

    cdef bint alike(self, TableText one, TableText other) noexcept nogil:
        cdef const uint8_t *data = self.schemas.data.data
        return one.size == other.size and (one.size == 0 or memcmp(data + one.start, data + other.start, one.size) == 0)
