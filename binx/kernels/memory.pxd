# cython: language_level=3
"""Kernel memory handed over to Python and Arrow without a copy."""

from libc.stdint cimport int64_t

from binx.kernels.output cimport Output

cdef class Memory:
    cdef Output output


cdef Memory hand_over(Output *output, int64_t size)
