# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What stands before the row changes of usual transactions in a script of SQL, many transactions at a time.

A usual transaction is one of row changes alone that was committed, all of whose changes are at hand.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memset

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from binx.kernels.render.digits cimport (
    MICROSECONDS,
    MOMENT_LAST,
    SECONDS_SIZE,
    lay_out_second,
    put,
    put_byte,
    put_fraction,
    put_signed,
    put_unsigned,
)
from binx.kernels.transactions.gtid_text cimport has_gtid
from binx.kernels.output cimport Output, bytes_in, release, reserve
from binx.kernels.transactions.table cimport *

cdef enum:
    # All of a head but for the names in it.
    HEAD_MAXIMUM = 512


cdef inline bint is_usual(const Transaction *record) noexcept nogil:
    """Whether the transaction is one that a script runs between BEGIN and COMMIT, and nothing more.

    Changes of several rows without an engine's transaction (MyISAM) are not: the script keeps these out of the log.
    """
    return (
        record.kind == KIND_DML
        and (record.flags & HAS_XID or record.rows == 1 or not has_gtid(record))
        and 0 <= record.commit_timestamp <= <int64_t> MOMENT_LAST
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
    """How many of the transactions that come next are whole in the runs that come next; see the stub."""
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


cdef class SqlHeads:
    """Writes the heads of transactions in a script.

    Args:
        mariadb: for a server of MariaDB.
    """

    cdef Output out
    cdef bint mariadb

    def __cinit__(self, *_):
        memset(&self.out, 0, sizeof(Output))

    def __init__(self, bint mariadb):
        self.mariadb = mariadb

    def __dealloc__(self):
        release(&self.out)

    def render(
        self,
        TransactionTable table,
        const int64_t[::1] taken not None,
        int64_t first,
        int64_t count,
        bytes file,
        bytes id_offsets,
        bytes id_text,
        int64_t moment,
    ):
        """The heads of some transactions; see the stub."""
        cdef const int32_t *offsets = <const int32_t *> PyBytes_AS_STRING(id_offsets)
        cdef const uint8_t *ids = <const uint8_t *> PyBytes_AS_STRING(id_text)
        cdef const uint8_t *name = <const uint8_t *> PyBytes_AS_STRING(file)
        cdef int64_t name_size = len(file)
        cdef bytes ends
        cdef int64_t *end
        cdef int64_t i
        cdef int64_t index
        if first < 0 or count < 0 or first + count > taken.shape[0] or len(id_offsets) != 4 * (table.length() + 1):
            raise ValueError("the transactions or their identifiers are not of this table")
        ends = PyBytes_FromStringAndSize(NULL, count * 8)
        end = <int64_t *> PyBytes_AS_STRING(ends)
        self.out.size = 0
        with nogil:
            for i in range(count):
                index = taken[first + i]
                if index < 0 or index >= table.length():
                    outside()
                self.head(
                    table.record(index), name, name_size, ids + offsets[index], offsets[index + 1] - offsets[index], moment
                )
                moment = table.record(index).begin_timestamp
                end[i] = self.out.size
        return ends, bytes_in(&self.out), moment

    cdef int head(
        self,
        const Transaction *record,
        const uint8_t *name,
        int64_t name_size,
        const uint8_t *identifier,
        int64_t size,
        int64_t moment,
    ) except -1 nogil:
        cdef Output *out = &self.out
        cdef int64_t second = record.commit_timestamp // MICROSECONDS
        cdef int fraction = <int> (record.commit_timestamp - second * MICROSECONDS)
        reserve(out, HEAD_MAXIMUM + name_size + 2 * size)
        put(out, b"\n-- ", 4)
        put(out, name, name_size)
        put_byte(out, c" ")
        put_signed(out, record.start)
        put_byte(out, c"-")
        put_signed(out, record.end)
        put(out, b", ", 2)
        put(out, identifier, size)
        put(out, b", committed ", 12)
        lay_out_second(second, out.data + out.size)
        out.size += SECONDS_SIZE
        if fraction:
            put_fraction(out, fraction)
        put_byte(out, c"Z")
        if record.flags & HAS_XID:
            put(out, b", xid ", 6)
            put_unsigned(out, record.xid)
        put_byte(out, c"\n")
        if record.begin_timestamp != moment:
            put(out, b"SET TIMESTAMP=", 14)
            put_signed(out, record.begin_timestamp)
            put(out, b";\n", 2)
        if record.gtid_kind == GTID_MARIADB:
            self.put_domain(identifier, size)
        elif record.gtid_kind == GTID_MYSQL and not self.mariadb:
            put(out, b"SET @@session.gtid_next='", 25)
            put(out, identifier, size)
            put(out, b"';\n", 3)
        put(out, b"BEGIN;\n", 7)
        return 0

    cdef void put_domain(self, const uint8_t *identifier, int64_t size) noexcept nogil:
        """The three numbers of a GTID of MariaDB, each in its variable."""
        cdef Output *out = &self.out
        cdef const uint8_t *end = identifier + size
        cdef const uint8_t *server = <const uint8_t *> memchr(identifier, c"-", size)
        cdef const uint8_t *sequence = NULL
        if server != NULL:
            sequence = <const uint8_t *> memchr(server + 1, c"-", end - server - 1)
        if sequence == NULL:
            return
        put(out, b"SET @@session.gtid_domain_id=", 29)
        put(out, identifier, server - identifier)
        put(out, b", @@session.server_id=", 22)
        put(out, server + 1, sequence - server - 1)
        put(out, b", @@session.gtid_seq_no=", 24)
        put(out, sequence + 1, end - sequence - 1)
        put(out, b";\n", 2)


cdef int outside() except -1 with gil:
    raise ValueError("a transaction is not in the table")
