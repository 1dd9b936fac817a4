# cython: language_level=3
"""The scan of a log file: its levels and the reasons why it stops."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.events cimport Header
from binx.kernels.walk.machine cimport TransactionMachine
from binx.kernels.walk.payloads cimport OpenedPayloads
from binx.kernels.transactions.wanted cimport Wanted

cpdef enum Level:
    LEVEL_INDEX = 0
    LEVEL_EVENTS = 1
    LEVEL_TABLES = 2

cpdef enum Stop:
    # The first four as in classify.pxd.
    STOP_LIMIT = 0
    STOP_FORMAT = 1
    STOP_TRUNCATED = 2
    STOP_END = 3
    STOP_PAYLOAD = 4
    STOP_COMPRESSED_ROWS = 5
    STOP_BEYOND = 6
    STOP_PARTIAL_ROWS = 7


cdef class Scanner(TransactionMachine):
    cdef readonly int64_t position
    cdef int64_t file_size
    cdef int checksum_size
    # Start of a transaction whose length is not trusted, and end of one that extends beyond a window.
    cdef int64_t distrusted
    cdef int64_t beyond_end
    # GTIDs to search for; `seeking`: whether the start of a transaction is searched for.
    cdef Wanted wanted
    cdef bint searching
    cdef bint seeking
    cdef bint named
    cdef readonly int64_t resumed
    cdef readonly int64_t ends_passed
    cdef int level
    cdef bint verify
    cdef int64_t payload_size
    cdef int64_t vouched
    cdef uint32_t vouched_stored
    cdef uint32_t vouched_found
    cdef uint8_t pending_type
    # Small payloads that are decompressed already; whether the walk was in a payload when it raised an error.
    cdef OpenedPayloads opened
    cdef readonly bint in_payload
    cdef uint64_t type_counts[256]
    cdef uint64_t type_bytes[256]
    cdef uint64_t inner_type_counts[256]
    cdef readonly uint32_t drift
    cdef readonly int64_t misplaced
    cdef readonly int64_t first_misplaced
    cdef readonly int64_t unplaced
    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin, int64_t limit) except -1 nogil
    @cython.final
    cdef void pass_event(self, int64_t size, uint8_t event_type) noexcept nogil
    @cython.final
    cdef int walk_inner(self, const uint8_t *events, int64_t length) except -1 nogil
    @cython.final
    cdef int close_payload(self) except -1 nogil
    @cython.final
    cdef void compare_position(self, const Header *header) noexcept nogil
    cdef int begin_payload(self, Cursor *body, Header *header) except -1 nogil
