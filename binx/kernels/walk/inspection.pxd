# cython: language_level=3
"""Events looked at one by one, for what is wrong with a file: a record of each, and headers among damaged bytes."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.hashing cimport Slots
from binx.kernels.output cimport Output
from binx.kernels.transactions.table cimport Transaction
from binx.kernels.walk.events cimport Header

cpdef enum EventStop:
    # The first four as in framing.pxd.
    EVENTS_LIMIT = 0
    EVENTS_FORMAT = 1
    EVENTS_TRUNCATED = 2
    EVENTS_END = 3
    EVENTS_PAYLOAD = 4

cpdef enum EventChecksum:
    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

cdef struct EventRecord:
    int64_t position
    # Of an event within a payload: its offset there, after decompression.
    int64_t inner
    int64_t size
    # Where its transaction begins, -1 between transactions.
    int64_t transaction
    uint64_t number
    int32_t source
    uint32_t next_position
    uint32_t server_id
    uint32_t timestamp
    uint16_t flags
    uint8_t type
    uint8_t gtid_kind
    uint8_t checksum
    uint8_t expected


cdef class EventWalk:
    cdef readonly int64_t position
    cdef readonly int64_t bad_checksums
    cdef readonly int64_t first_bad
    cdef readonly int64_t unexpected
    cdef readonly int64_t first_unexpected
    cdef Output records
    cdef Slots sources
    cdef int64_t file_size
    cdef tuple transitions
    cdef const uint8_t *actions
    cdef const uint8_t *next_states
    cdef bytes wanted
    cdef uint8_t keeps[256]
    cdef uint8_t post_header[256]
    cdef int checksum_size
    cdef bint verify
    cdef bint inner
    cdef int64_t start
    cdef int state
    cdef Transaction current
    cdef Transaction payload
    cdef readonly int64_t payload_position
    cdef int64_t payload_offset
    cdef int64_t vouched
    cdef uint32_t vouched_stored
    cdef uint32_t vouched_found
    cdef EventRecord last
    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin, int64_t limit) except -1 nogil
    cdef void begin_record(self, const Header *header, int64_t position, int64_t inner) noexcept nogil
    cdef void check(self, const uint8_t *event, const Header *header, int64_t available) noexcept nogil
    cdef int step(self, Cursor *body, Header *header) except -1 nogil
    cdef void name_transaction(self, const Transaction *transaction) noexcept nogil
    cdef void misplace(self) noexcept nogil
    cdef void note_unexpected(self) noexcept nogil
    cdef int keep(self) except -1 nogil
