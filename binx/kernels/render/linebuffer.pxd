# cython: language_level=3
"""Lines of text about many things alike: what all sorts of them share."""

from libc.stdint cimport int64_t

from binx.kernels.render.digits cimport Clock
from binx.kernels.output cimport Output

cdef enum:
    # A GTID, or the UUID that stands for one; names come with their own size.
    VALUE_MAXIMUM = 160

cdef struct Piece:
    int64_t start
    int64_t size


cdef class LineBuffer:
    cdef Output out
    cdef Output lead_bytes
    cdef Output leads
    cdef int64_t widest_lead
    cdef Clock clock
    cdef bint json
    cdef object zone
    cdef bytes file
    cdef const char *file_text
    cdef int64_t file_size
    cdef void take_file(self, bytes file)
    cdef void name_file(self) noexcept nogil
    cdef int64_t columns(self) noexcept nogil
    cdef void lead(self, int64_t column) noexcept nogil
    cdef int end_line(self) except -1 nogil
    cdef bytes taken(self)
    cdef void quote(self) noexcept nogil
    cdef void unknown(self) noexcept nogil
    cdef void number(self, bint known, int64_t value) noexcept nogil
    cdef void word(self, const char *text, int64_t size) noexcept nogil
    cdef int moment(self, int64_t moment) except -1 nogil
    cdef int ask_zone(self, int64_t second) except -1 with gil
