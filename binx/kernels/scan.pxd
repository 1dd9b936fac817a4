# cython: language_level=3
"""The scan over a file: how much it reads, and why it stops."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.events cimport Header
from binx.kernels.hashing cimport Slots
from binx.kernels.layouts cimport TableMaps
from binx.kernels.output cimport Output
from binx.kernels.transactions cimport Transaction, TransactionTable
from binx.kernels.wanted cimport Wanted

cpdef enum Action:
    ACTION_KEEP = 0
    ACTION_START = 1
    ACTION_START_END = 2
    ACTION_END = 3
    ACTION_ILLEGAL = 255

cpdef enum Level:
    LEVEL_INDEX = 0
    LEVEL_EVENTS = 1
    LEVEL_TABLES = 2

cpdef enum Stop:
    STOP_LIMIT = 0
    STOP_FORMAT = 1
    STOP_PAYLOAD = 2
    STOP_COMPRESSED_ROWS = 3
    STOP_TRUNCATED = 4
    STOP_END = 5
    STOP_BEYOND = 6


cdef class Scanner:
    cdef readonly TransactionTable table
    cdef readonly int64_t position
    cdef readonly TableMaps maps
    cdef int level
    cdef bint verify
    cdef int checksum_size
    cdef int64_t file_size
    cdef uint8_t post_header[256]
    cdef tuple transitions
    cdef const uint8_t *actions
    cdef const uint8_t *next_states
    cdef const uint8_t *kinds
    cdef int state
    cdef Transaction current
    cdef int64_t content
    cdef int64_t ordinal
    cdef int64_t distrusted
    cdef int64_t beyond_end
    cdef uint32_t query_thread
    cdef int64_t payload_size
    cdef int64_t vouched
    cdef uint32_t vouched_stored
    cdef uint32_t vouched_found
    cdef int inner_kind
    cdef uint32_t inner_timestamp
    cdef uint8_t pending_type
    cdef Output last_counts
    cdef Slots sources
    cdef uint64_t type_counts[256]
    cdef uint64_t type_bytes[256]
    cdef uint64_t inner_type_counts[256]
    cdef Wanted wanted
    cdef bint searching
    cdef list controls
    cdef bint seeking
    cdef bint named
    cdef readonly bint has_gtids
    cdef readonly int64_t resumed
    cdef readonly int64_t ends_passed
    cdef readonly uint32_t drift
    cdef readonly int64_t misplaced
    cdef readonly int64_t first_misplaced
    cdef readonly int64_t unplaced
    cdef bint is_proven(self, const uint8_t *event, const Header *header, int64_t available) noexcept nogil
    cdef void compare_position(self, const Header *header) noexcept nogil
    cdef bint skips(self, Cursor *body, Header *header) except -1 nogil
    cdef carry_counts(self, TransactionTable filled)
    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin, int64_t limit) except -1 nogil
    cdef int jump(
        self, Cursor *body, Header *header, const uint8_t *event, int64_t available, const uint8_t *tail, int64_t seen
    ) except -1 nogil
    cdef int pass_over(
        self, Cursor *body, const Header *header, const uint8_t *event, int64_t available
    ) except -1 nogil
    cdef int64_t length_by_events(self, const Header *first, const uint8_t *event, int64_t available) noexcept nogil
    cdef bint is_placed(self, const Header *header, int64_t position, bint inside) noexcept nogil
    cdef int64_t terminal_size(self) noexcept nogil
    cdef bint lands(self, const uint8_t *landing, int64_t position, int64_t available) noexcept nogil
    cdef int distrust(self) noexcept nogil
    cdef int lone_kind(self, uint8_t event_class) noexcept nogil
    cdef int step(self, Cursor *body, Header *header, int64_t position, int64_t end) except -1 nogil
    cdef int start_transaction(self, const Header *header, int64_t position) except -1 nogil
    cdef int take_part(self, Cursor *body, Header *header, uint8_t event_class) except -1 nogil
    cdef int read_gtid_event(self, Cursor *body, const Header *header) except -1 nogil
    cdef int begin_payload(self, Cursor *body, Header *header) except -1 nogil
    cdef int push(self, uint8_t kind, uint32_t timestamp, int64_t end) except -1 nogil
    cdef int count_rows(self, Cursor *body, Header *header) except -1 nogil
    cdef int add_count(self, int32_t table, int operation, int64_t rows, int64_t size) except -1 nogil
    cdef int note_control(self, Header *header, int64_t position) except -1 with gil
