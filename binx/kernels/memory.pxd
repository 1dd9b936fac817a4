# cython: language_level=3
"""Kernel memory that Python, and through it Arrow, takes over without a copy, and that comes back for the next batch."""

from libc.stdint cimport int64_t

from binx.kernels.output cimport Output

cdef enum:
    # Pieces that are kept at most; smaller ones than this are not worth it.
    SPARE_PIECES = 256
    SPARE_LEAST = 32768


cdef class Spare:
    cdef Output pieces[SPARE_PIECES]
    cdef int count
    cdef int64_t held
    cdef int64_t limit
    # By what is held in pieces of such memory: the sizes that it came to last, see `RowBuffers`.
    cdef dict sizes
    cdef int take(self, Output *output, int64_t size) except -1
    cdef int widen(self, Output *output, int64_t wanted) except -1 with gil
    cdef void give(self, Output *output) noexcept
    cdef void drop(self, int piece) noexcept


cdef class Memory:
    cdef Output output
    cdef Spare spare


cdef inline int reserve_of(Spare spare, Output *output, int64_t more) except -1 nogil:
    """Make room for ``more`` bytes behind ``size``, as ``reserve`` does, in memory that is at hand."""
    if output.size + more > output.capacity:
        spare.widen(output, output.size + more)
    return 0


cdef Memory hand_over(Output *output, int64_t size, Spare spare=*)
