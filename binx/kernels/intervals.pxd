# cython: language_level=3
"""Ascending intervals of numbers, as pairs of first and last."""

from libc.stdint cimport int64_t, uint64_t


cdef inline bint in_intervals(const uint64_t *bounds, int64_t count, uint64_t number) noexcept nogil:
    """Binary search for the last interval that begins at or before the number."""
    cdef int64_t low = 0
    cdef int64_t high = count
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if bounds[2 * middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low > 0 and number <= bounds[2 * low - 1]
