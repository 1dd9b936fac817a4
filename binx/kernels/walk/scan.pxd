# cython: language_level=3
"""The scan of a log file: its levels and the reasons why it stops.

The boundary state machine: its event classes and the current transaction.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.hashing cimport Slots
from binx.kernels.output cimport Output
from binx.kernels.rows.layouts cimport TableMaps
from binx.kernels.transactions.table cimport Transaction, TransactionTable
from binx.kernels.transactions.wanted cimport Wanted
from binx.kernels.walk.events cimport Header
from binx.kernels.walk.framing cimport OpenedPayloads


cdef enum:
    STATE_OUTSIDE = 0

cpdef enum Action:
    ACTION_KEEP = 0
    ACTION_START = 1
    ACTION_START_END = 2
    ACTION_END = 3
    ACTION_ILLEGAL = 255

cpdef enum EventClass:
    CLASS_CONTROL = 0
    CLASS_GTID = 1
    CLASS_GTID_STANDALONE = 2
    CLASS_GTID_GROUP = 3
    CLASS_BEGIN = 4
    CLASS_COMMIT = 5
    CLASS_ROLLBACK = 6
    CLASS_XA_START = 7
    CLASS_XA_PREPARE = 8
    CLASS_XA_ONE_PHASE = 9
    CLASS_XA_COMMIT = 10
    CLASS_XA_ROLLBACK = 11
    CLASS_CHANGE = 12
    CLASS_STATEMENT = 13
    CLASS_MARKER = 14
    CLASS_PREPARATION = 15
    CLASS_TABLE_MAP = 16
    CLASS_ROWS = 17
    CLASS_ROWS_END = 18
    CLASS_LOAD_BLOCK = 19
    CLASS_LOAD_END = 20
    CLASS_ANNOTATION = 21
    CLASS_PAYLOAD = 22
    CLASS_INCIDENT = 23
    CLASS_CONTEXT = 24
    CLASS_UNKNOWN = 25
    CLASSES = 26

cdef enum:
    # Instead of the end of an event that has no end of its own in the file.
    INSIDE_PAYLOAD = -1
    NO_KIND = 255


cdef class TransactionMachine:
    cdef readonly TransactionTable table
    cdef readonly TableMaps maps
    cdef readonly bint has_gtids
    cdef bint counts_rows
    # Of the texts that are searched: the bytes, and what finds them.
    cdef list texts
    cdef Output needles
    cdef bint shows_events
    cdef object reader
    # Of the events that the reader gets: the sessions of statements, and sizes by type, as bits.
    cdef Slots sessions
    cdef uint32_t sizes_shown[256]
    cdef uint8_t post_header[256]
    cdef tuple transitions
    cdef const uint8_t *actions
    cdef const uint8_t *next_states
    cdef const uint8_t *kinds
    cdef int state
    cdef Transaction current
    cdef int64_t content
    cdef int64_t ordinal
    cdef uint32_t query_thread
    # Of a rows event in pieces: the number of the last one and how many there are; 0 before the first and after the last.
    cdef uint32_t piece
    cdef uint32_t pieces
    cdef int inner_kind
    cdef uint32_t inner_timestamp
    cdef Output last_counts
    cdef Slots sources
    # Number of rows events that are not counted, by table.
    cdef dict uncounted
    # Number of rows events without a table map.
    cdef readonly int64_t unmapped
    cdef list controls
    cdef carry_counts(self, TransactionTable filled)
    cdef int step(self, Cursor *body, Header *header, int64_t position, int64_t end) except -1 nogil
    @cython.final
    cdef int check_pieces(self, Cursor *body, const Header *header, uint8_t event_class, int64_t position) except -1 nogil
    @cython.final
    cdef int start_transaction(self, const Header *header, int64_t position) except -1 nogil
    @cython.final
    cdef int take_part(self, Cursor *body, Header *header, uint8_t event_class) except -1 nogil
    @cython.final
    cdef int search_statement(self, const Cursor *body, const Header *header) except -1 nogil
    @cython.final
    cdef int show_event(self, const Cursor *body, const Header *header, int64_t position) except -1 nogil
    @cython.final
    cdef int pass_to_reader(self, const Cursor *body, int64_t position) except -1 with gil
    @cython.final
    cdef int push(self, uint8_t kind, uint32_t timestamp, int64_t end) except -1 nogil
    @cython.final
    cdef int count_rows(self, Cursor *body, Header *header) except -1 nogil
    @cython.final
    cdef int add_count(self, int32_t table, int operation, int64_t rows, int64_t size) except -1 nogil
    @cython.final
    cdef int add_seen(self, int32_t table) except -1 nogil
    cdef int note_control(self, Header *header, int64_t position) except -1 with gil


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
