# cython: language_level=3
"""Texts about tables, asked for once for each number of a table."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from binx.kernels.output cimport Output

cdef struct TableText:
    int64_t start
    int64_t size


cdef class TableTexts:
    cdef Output data
    cdef Output known
    cdef object ask
    cdef int begin(self, object ask) except -1
    cdef int find(self, int32_t number, TableText *text) except -1 nogil
    cdef int learn(self, int32_t last) except -1 with gil
