# cython: language_level=3
"""What is looked for in a file: GTIDs, or behind damage the next transaction."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.events cimport Header
from binx.kernels.walk.jump cimport JumpingWalk
from binx.kernels.walk.wanted cimport Wanted


cdef class SearchingWalk(JumpingWalk):
    cdef Wanted wanted
    cdef bint searching
    cdef bint passes_rows
    cdef bint seeking
    cdef bint named
    cdef readonly int64_t resumed
    cdef readonly int64_t ends_passed
    cdef readonly int64_t passed
    cdef bint skips(self, Cursor *body, Header *header) except -1 nogil
    cdef int pass_over(
        self, Cursor *body, const Header *header, const uint8_t *event, int64_t available
    ) except -1 nogil
    cdef bint pass_over_rows(self, const Header *first, const uint8_t *event, int64_t available) except -1 nogil
    cdef bint is_begin(self, const Header *header, const uint8_t *event) except -1 nogil
    cdef int64_t length_by_events(self, const Header *first, const uint8_t *event, int64_t available) noexcept nogil
