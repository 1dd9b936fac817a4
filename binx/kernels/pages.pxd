# cython: language_level=3
"""Column chunks encoded page by page."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.chunks cimport Chunk
from binx.kernels.output cimport Output

cdef enum:
    # Bytes of a value of fixed width, at most.
    BOUND_ROOM = 16

cdef struct Bounds:
    # The least and the largest value of a chunk: in its own memory, or in the room here.
    const uint8_t *least
    const uint8_t *largest
    int64_t least_size
    int64_t largest_size
    uint8_t least_room[BOUND_ROOM]
    uint8_t largest_room[BOUND_ROOM]


cdef class PageEncoder(Chunk):
    cdef Output page
    cdef Output suffixes
    cdef const uint8_t *long_data
    cdef int64_t long_size
    cdef readonly int64_t page_entries
    cpdef bint dictionary_page(self) except -1
    cpdef bint data_page(self) except -1
    cdef void begin_page(self) noexcept
    cdef int64_t value_start(self, int64_t row) noexcept nogil
    cdef int64_t entry_start(self, int64_t row) noexcept nogil
    cdef bint fits(self, int64_t stop) noexcept nogil
    cdef int64_t page_stop(self) noexcept nogil
    cdef int put_levels(self, int64_t stop) except -1 nogil
    cdef int put_values(self, int64_t first, int64_t last) except -1 nogil
    cdef void take_long_string(self, int64_t first, int64_t last) noexcept nogil
    cdef int put_numbers(self, int64_t first, int64_t last, int encoding) except -1 nogil
    cdef bint is_signed(self) noexcept nogil
    cdef int extend(self, const int32_t *places, int64_t start, int64_t count) except -1 nogil
    cdef bint take_bounds(self, Bounds *bounds) noexcept nogil
