# cython: language_level=3
"""Jumps over transactions by the length in their GTID events."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.events cimport Header
from binx.kernels.walk.machine cimport TransactionMachine

cdef enum:
    # What came of a transaction's length.
    JUMP_NOT = 0
    JUMP_DONE = 1
    JUMP_BEYOND = 2


cdef class JumpingWalk(TransactionMachine):
    cdef readonly int64_t position
    cdef int64_t file_size
    cdef int checksum_size
    cdef int64_t distrusted
    cdef int64_t beyond_end
    cdef int jump(
        self, Cursor *body, Header *header, const uint8_t *event, int64_t available, const uint8_t *tail, int64_t seen
    ) except -1 nogil
    cdef int64_t terminal_size(self) noexcept nogil
    cdef bint lands(self, const uint8_t *landing, int64_t position, int64_t available) noexcept nogil
    cdef int distrust(self) noexcept nogil
    cdef int lone_kind(self, uint8_t event_class) noexcept nogil
