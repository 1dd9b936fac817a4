# cython: language_level=3
"""What is known of the leaves of a file while its row groups are written."""

from libc.stdint cimport int32_t, int64_t

cdef struct Leaf:
    # How a leaf's values are in memory and in the file; path: the place of its Thrift in `Leaves.paths`.
    int form
    int width
    int physical
    bint is_optional
    bint has_dictionary
    bint has_statistics
    bint is_text
    int64_t path
    int64_t path_size


cdef class Leaves:
    cdef Leaf *leaf
    cdef readonly int count
    cdef bytes paths


cdef class Worth:
    cdef int32_t *chunks_left
    cdef bint begin(self, int leaf) noexcept nogil
    cdef bint saw(self, int leaf, int encoding, int64_t size, int64_t compressed) noexcept nogil
