# cython: language_level=3
"""The walk over transactions that turns rows events into column buffers."""

from cython cimport final
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from binx.kernels.rows.builder cimport RowBuilder
from binx.kernels.rows.counting cimport RowsEvent
from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.events cimport Header
from binx.kernels.rows.layouts cimport TableMaps
from binx.kernels.output cimport Output
from binx.kernels.transactions.table cimport TransactionTable

cpdef enum Need:
    """Why the walk came back to Python."""

    NEED_NOTHING = 0
    NEED_BUILDER = 1
    NEED_FLUSH = 2
    NEED_MEMORY = 3
    NEED_STATEMENT = 4
    NEED_PAYLOAD = 5
    NEED_PLAIN_ROWS = 6
    NEED_WINDOW = 7

cdef enum:
    TAKE = 1
    STATEMENTS_ONLY = 2

cdef struct Target:
    void *builder
    bint known
    int64_t filtered
    int64_t undone[3]
    int64_t recounted_events
    int64_t recounted[3]

cdef struct Undone:
    int64_t index
    int64_t first
    int64_t stop


cdef enum:
    # STMT_END_F: the last rows event of a statement.
    STATEMENT_END = 1


@final
cdef class RowDecoder:
    cdef readonly TableMaps maps
    cdef readonly int64_t position
    cdef readonly int64_t index
    cdef readonly int64_t event_size
    cdef readonly int32_t pending_map
    cdef readonly object full
    cdef readonly int rows_flags
    cdef public bint with_markers
    cdef public bint resolves_only
    cdef public bint with_texts
    cdef public int64_t table_limit
    # Number of the statement that the next event is of, within its transaction.
    cdef public int32_t next_statement
    cdef int32_t statement
    cdef int64_t tables_held
    cdef int64_t end
    cdef int64_t ordinal
    cdef int64_t row_number
    cdef int64_t rows_event
    cdef bytes undone_held
    cdef const Undone *undone
    cdef const Undone *undone_end
    cdef int64_t version
    cdef int64_t committed
    cdef const uint8_t *identifier
    cdef int64_t identifier_size
    cdef int64_t held
    cdef int64_t row_limit
    cdef int64_t byte_limit
    cdef int64_t memory_limit
    cdef int checksum_size
    cdef uint8_t post_header[256]
    cdef TransactionTable table
    cdef const uint8_t[::1] mask
    cdef bytes id_offsets
    cdef bytes id_text
    cdef const int32_t *offsets
    cdef const uint8_t *texts
    cdef int64_t file_number
    cdef uint8_t mark
    cdef Output targets
    cdef dict builders
    cdef void *filled
    cdef bint decoding
    cdef int64_t rows_before
    cdef int64_t bytes_before
    # Where in its body the rows event at hand goes on, when the rows before that were handed over; else 0.
    cdef int64_t resumed_at
    cdef int drop_event(self) except -1
    cdef bint next_transaction(self) noexcept nogil
    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin) except -1 nogil
    cdef int take_event(self, Header *header, Cursor *body, int64_t position) except -1 nogil
    cdef int take_rows(self, Header *header, Cursor *body, int64_t position) except -1 nogil
    cdef int check_widths(self, Cursor *body, RowsEvent *rows, Target *target) except -1 nogil
    cdef bint is_undone(self) noexcept nogil
    cdef int decode_rows(
        self, Header *header, Cursor *body, RowsEvent *rows, RowBuilder builder, int64_t position
    ) except -1 nogil
    cdef Target *target(self, int32_t map) except NULL nogil
    cdef int add_targets(self, int32_t map) except -1 nogil
