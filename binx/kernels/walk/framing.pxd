# cython: language_level=3
"""The events of small compressed transactions, decompressed many at a time."""

from cython cimport final
from libc.stdint cimport int64_t, uint8_t


@final
cdef class OpenedPayloads:
    cdef int64_t count
    # Offsets of the payload events in the log, ascending, and the end of each one's events in the bytes.
    cdef bytes positions
    cdef bytes ends
    cdef bytes events
    cdef const int64_t *position_of
    cdef const int64_t *end_of
    cdef const uint8_t *base
    cdef const uint8_t *find(self, int64_t position, int64_t *size) noexcept nogil
