# cython: language_level=3
"""What events say, as lines for people."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.events cimport Header
from binx.kernels.hashing cimport Slots
from binx.kernels.linebuffer cimport LineBuffer, Piece
from binx.kernels.output cimport Output

cdef enum:
    # All numbers and words of an event, or of what stands before a transaction's, but for names.
    TEXT_MAXIMUM = 1024

cpdef enum:
    # Characters of an event's place, at least.
    PLACE_WIDTH = 12

cdef struct Learnt:
    # Where the text of an event stands, and how many of its bytes come before the number of a group commit.
    Piece text
    int64_t before


cdef class EventTexts(LineBuffer):
    cdef Slots keys
    cdef Output known
    cdef Output texts
    cdef Output key
    cdef Output ends
    cdef Output events
    cdef object say
    cdef uint8_t post_header[256]
    cdef int checksum_size
    cdef int set_format(self, int checksum_size, const uint8_t[::1] post_header, object say) except -1
    cdef int end_text(self, int64_t event) except -1 nogil
    cdef bint event(self, Cursor *cursor) except -1 nogil
    cdef int place(self, int64_t position) except -1 nogil
    cdef bint gtid(self, Cursor *body, uint8_t type) except -1 nogil
    cdef bint gtid_times(self, Cursor *body) except -1 nogil
    cdef void field(self, const char *name, int64_t size, uint64_t value) noexcept nogil
    cdef void version(self, const char *name, int64_t size, uint64_t value) noexcept nogil
    cdef void utc_time(self, const char *name, int64_t size, uint64_t moment) noexcept nogil
    cdef bint mariadb_gtid(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil
    cdef bint query(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil
    cdef bint xid(self, Cursor *body) except -1 nogil
    cdef bint rows(self, Cursor *body, const Header *header, const uint8_t *data, int64_t position) except -1 nogil
    cdef bint kept(
        self, const uint8_t *key, int64_t size, const uint8_t *data, const Header *header, int64_t position
    ) except -1 nogil
    cdef int find(self, const uint8_t *data, const Header *header, int64_t position, Learnt *learnt) except -1 nogil
    cdef void forget(self) noexcept nogil
    cdef int learn(self, const uint8_t *data, const Header *header, int64_t position) except -1 with gil
    cdef bint asked(self, const uint8_t *data, const Header *header, int64_t position) except -1 with gil
