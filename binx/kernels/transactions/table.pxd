# cython: language_level=3
"""The transaction record, and the table of records that a scan fills."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from binx.kernels.hashing cimport Slots
from binx.kernels.output cimport Output


cpdef enum Kind:
    KIND_OTHER = 0
    KIND_DML = 1
    KIND_DDL = 2
    KIND_XA_PREPARE = 3
    KIND_XA_COMMIT = 4
    KIND_XA_ROLLBACK = 5
    KIND_ROLLBACK = 6
    KIND_EMPTY = 7
    KIND_INCIDENT = 8

cpdef enum GtidKind:
    GTID_NONE = 0
    GTID_MYSQL = 1
    GTID_MARIADB = 2
    GTID_ANONYMOUS = 3

cdef enum:
    KINDS = KIND_INCIDENT + 1
    GTID_KINDS = GTID_ANONYMOUS + 1
    # Bytes of a GTID's source: MySQL's UUID and tag, MariaDB's domain and server ID.
    UUID_SIZE = 16
    TAG_MAXIMUM = 32
    MARIADB_SOURCE_SIZE = 8

    HAS_XID = 1
    HAS_THREAD = 2
    HAS_CLOCK = 4
    HAS_COUNTS = 8
    BY_LENGTH = 16
    COMMIT_TIME_FROM_GTID = 32
    COMPRESSED = 64
    LENGTH_WRONG = 128

cpdef enum TextMatch:
    # Whether a statement's text has what a walk searches: not searched, no, perhaps, yes.
    TEXT_UNKNOWN = 0
    TEXT_ABSENT = 1
    TEXT_POSSIBLE = 2
    TEXT_FOUND = 3

cdef struct Transaction:
    int64_t start
    int64_t end
    int64_t claimed_length
    int64_t uncompressed_bytes
    int64_t commit_timestamp
    int64_t original_commit_timestamp
    int64_t begin_timestamp
    int64_t last_committed
    int64_t sequence_number
    uint64_t number
    uint64_t xid
    int64_t rows
    int64_t events
    int64_t statements
    int64_t first_count
    int32_t counts
    int32_t source
    uint32_t server_id
    uint32_t thread_id
    uint8_t kind
    uint8_t gtid_kind
    uint8_t flags
    uint8_t undoes_part
    uint8_t text

cdef inline bint has_gtid(const Transaction *record) noexcept nogil:
    return record.gtid_kind == GTID_MYSQL or record.gtid_kind == GTID_MARIADB


cdef struct TableCount:
    int32_t table
    int64_t inserts
    int64_t updates
    int64_t deletes
    int64_t bytes


cdef class TransactionTable:
    cdef Output records
    cdef Output counts
    cdef Slots *sources
    cdef Slots *tables
    cdef object owner
    cdef public object format

    @cython.final
    cdef inline Transaction *record(self, int64_t index) noexcept nogil:
        return (<Transaction *> self.records.data) + index

    @cython.final
    cdef inline int64_t length(self) noexcept nogil:
        return self.records.size // <int64_t> sizeof(Transaction)

    cdef bytes key_of(self, int32_t source)
    cdef int check(self, mask) except -1
    cdef object indexes(self, const uint8_t[::1] mask, bint undoing)
