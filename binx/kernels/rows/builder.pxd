# cython: language_level=3
"""Rows events decoded into the column buffers of one table."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.rows.buffers cimport RowBuffers
from binx.kernels.rows.counting cimport RowsEvent
from binx.kernels.cursor cimport Cursor
from binx.kernels.rows.layouts cimport TableLayout
from binx.kernels.rows.values cimport Column

cdef enum:
    CHANGE_INSERT = 0
    CHANGE_UPDATE_PREIMAGE = 1
    CHANGE_UPDATE_POSTIMAGE = 2
    CHANGE_DELETE = 3

cdef struct Origin:
    # What all rows of an event have in common; ordinal: the number of their transaction.
    int64_t ordinal
    const uint8_t *identifier
    int64_t identifier_size
    int64_t version
    int64_t committed
    int64_t logged
    int64_t position
    int32_t statement


cdef class RowBuilder(RowBuffers):
    cdef int64_t append_event(
        self,
        Cursor *body,
        RowsEvent *rows,
        const TableLayout *layout,
        const Origin *origin,
        int64_t number,
        int64_t byte_limit,
    ) except -1 nogil
    cdef int begin_transaction(self, const Origin *origin) except -1 nogil
    cdef void fill_system_columns(
        self, int64_t first, int operation, const Origin *origin, int64_t number
    ) noexcept nogil
    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil
    cdef int append_whole(self, Cursor *image) except -1 nogil
    cdef int append_parts(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil
    cdef int end_present_bits(self) except -1 nogil
    cdef int append_difference(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int keep_difference(self, Cursor *changes, int32_t index, Column *column) except -1 nogil
    cdef int append_null(self, Column *column) except -1 nogil
    cdef int append_value(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int misfit(self, int32_t column, const char *text, int64_t size) except -1 nogil
