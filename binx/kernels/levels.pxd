# cython: language_level=3
"""Where the values of a nested column stand, and its definition and repetition levels."""

from libc.stdint cimport int32_t, int64_t

from binx.kernels.blocks cimport BlockFunctions
from binx.kernels.output cimport Output


cdef class Levels:
    # definitions, repetitions: a byte an entry; places: of each entry in the leaf's array, -1 where it has none;
    # values: the places that there are; starts: of each row's entries and values.
    cdef Output definitions
    cdef Output repetitions
    cdef Output places
    cdef Output values
    cdef Output entry_starts
    cdef Output value_starts
    cdef Output wide
    cdef Output encoded
    cdef int64_t encoded_first
    cdef int64_t encoded_last
    cdef const BlockFunctions *blocks
    cdef Py_buffer view
    cdef readonly int64_t rows
    cdef readonly int64_t entries
    cdef readonly int64_t value_count
    cdef readonly int depth
    cdef readonly bint repeats
    cdef bint is_complete
    cdef bint has_nothing
    cdef int complete(self) except -1
    cdef int append_to(self, Output *page, int64_t first_row, int64_t last_row) except -1 nogil
    cdef int put_zeros(self, Output *page, int64_t count, int width) except -1 nogil
    cdef int put(self, Output *page, Output *levels, int64_t first, int64_t last, int width) except -1 nogil


cdef inline int64_t row_start(const Output *starts, int64_t row) noexcept nogil:
    return (<const int32_t *> starts.data)[row]


cdef inline int64_t entries_before(Levels levels, int64_t row) noexcept nogil:
    return row_start(&levels.entry_starts, row) if levels.repeats and not levels.has_nothing else row


cdef inline int64_t values_before(Levels levels, int64_t row) noexcept nogil:
    return 0 if levels.has_nothing else row_start(&levels.value_starts, row)
