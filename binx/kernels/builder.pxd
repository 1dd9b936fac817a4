# cython: language_level=3
"""Column buffers of one table: what row images are decoded into."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.json_diff cimport Patch
from binx.kernels.values cimport Column
from binx.kernels.output cimport Output

cdef struct Misfit:
    int64_t row
    int32_t column
    int32_t size
    int64_t start


cdef class RowBuilder:
    cdef readonly int64_t rows
    cdef readonly int32_t columns
    cdef int64_t capacity
    cdef int64_t first_capacity
    cdef int64_t row_bytes
    cdef int64_t variable_bytes
    cdef Column *column
    cdef Output change_types
    cdef Output commit_versions
    cdef Output commit_timestamps
    cdef Output row_numbers
    cdef Output transactions
    cdef Output event_timestamps
    cdef Output positions
    cdef Output present_offsets
    cdef Output present_bits
    cdef Output present_validity
    cdef Output bits
    cdef bint absent
    cdef int64_t partial_rows
    cdef Output differences
    cdef Output difference_text
    cdef Patch patch
    cdef Output id_offsets
    cdef Output id_text
    cdef int32_t ids
    cdef int64_t last_ordinal
    cdef Output misfits
    cdef Output misfit_text
    cdef readonly object key
    cdef int grow(self) except -1 nogil
    cdef int begin_row(self, int64_t ordinal, const uint8_t *identifier, int64_t identifier_size) except -1 nogil
    cdef int end_row(
        self, uint8_t change, int64_t version, int64_t committed, int64_t number, int64_t logged, int64_t position
    ) except -1 nogil
    cdef int end_present_bits(self) except -1 nogil
    cdef int append_image(
        self, Cursor *image, const uint8_t *present, int32_t present_count, const uint8_t *partial
    ) except -1 nogil
    cdef int append_difference(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int keep_difference(self, Cursor *changes, int32_t index, Column *column) except -1 nogil
    cdef int append_null(self, Column *column) except -1 nogil
    cdef int append_value(self, Cursor *image, int32_t index, Column *column) except -1 nogil
    cdef int misfit(self, int32_t column, const char *text, int64_t size) except -1 nogil
    cdef int rewind(self, int64_t rows, int64_t variable_bytes) except -1 nogil
    cdef int64_t bytes_held(self) noexcept nogil
