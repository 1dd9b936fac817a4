# cython: language_level=3
"""The copying of events into a new binary log."""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from binx.kernels.cursor cimport Cursor

cpdef enum Pause:
    PAUSE_DONE = 0
    PAUSE_WINDOW = 1
    PAUSE_FULL = 2
    PAUSE_GTID = 3
    PAUSE_CONTROL = 4


@cython.final
cdef class Rewriter:
    cdef readonly int64_t position
    cdef readonly int64_t written
    cdef readonly int64_t events
    cdef readonly int64_t renumbered
    cdef object memory
    cdef uint8_t[::1] buffer
    cdef int64_t filled
    cdef int checksum_size
    cdef bint verbatim
    cdef bint serial
    cdef bint verify
    cdef int source_checksum_size
    cdef bint zero_positions_stay
    cdef int64_t event_start
    cdef int64_t left
    cdef uint32_t source_sum
    cdef uint32_t sum
    cdef int64_t room(self) noexcept nogil
    cdef int put(self, const uint8_t *data, int64_t size) except -1 nogil
    cdef int put_sum(self, uint32_t sum) except -1 nogil
    cdef int copy(self, Cursor *source, int64_t stop, bint hold_gtids) except -1 nogil
    cdef int copy_whole(self, Cursor *source, int64_t stop, bint hold_gtids) except -1 nogil
    cdef int begin(self, Cursor *source, int64_t stop, bint hold_gtids) except -1 nogil
    cdef int rewrite_head(self, uint8_t *head, int64_t head_size, int64_t size) except -1 nogil
    cdef int finish(self, Cursor *source) except -1 nogil
    cdef int overflow(self) except -1 with gil
    cdef int misfit(self, int64_t size, int64_t stop) except -1 with gil
    cdef int bad_checksum(self, uint32_t expected) except -1 with gil
