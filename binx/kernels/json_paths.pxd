# cython: language_level=3
"""Paths into JSON documents, step by step, as servers write them."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.output cimport Output

cdef struct Leg:
    # A step of a path: a member's name, or the index of an array's cell, which may count back from the last.
    const uint8_t *name
    int64_t size
    int64_t index
    bint is_cell
    bint is_from_last


cdef int bad_path(Cursor *path) except -1 nogil
cdef int take_leg(Cursor *path, Output *keys, Leg *leg) except -1 nogil
