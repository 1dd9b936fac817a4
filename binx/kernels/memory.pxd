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
    cdef int take(self, Output *output, int64_t size) except -1
    cdef void give(self, Output *output) noexcept
    cdef void drop(self, int piece) noexcept


cdef class Memory:
    cdef Output output
    cdef Spare spare


cdef Memory hand_over(Output *output, int64_t size, Spare spare=*)
