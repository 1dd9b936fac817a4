# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of text about many things alike: what all sorts of them share.

Whoever adds a value has made room for it, of ``VALUE_MAXIMUM`` bytes or of what it is known to take.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from cpython.bytes cimport PyBytes_AS_STRING

from binx.kernels.render.digits cimport *
from binx.kernels.output cimport Output, append, bytes_in, release, reserve


cdef class LineBuffer:
    """Lines that are being written: their bytes, and values that all sorts of lines have.

    Args:
        leads: for each column the text before its value: a name in JSON, or a tab.
        json: JSON objects; else plain fields, a hyphen for what is not known.
        zone: gives for seconds since 1970 the offset in seconds and its suffix; None for UTC.
    """

    def __cinit__(self, *_):
        memset(&self.out, 0, sizeof(Output))
        memset(&self.lead_bytes, 0, sizeof(Output))
        memset(&self.leads, 0, sizeof(Output))
        memset(&self.clock, 0, sizeof(Clock))

    def __init__(self, object leads, bint json, object zone):
        cdef bytes text
        cdef Piece piece
        for text in leads:
            piece.start = self.lead_bytes.size
            piece.size = len(text)
            self.widest_lead = max(self.widest_lead, piece.size)
            append(&self.lead_bytes, PyBytes_AS_STRING(text), len(text))
            append(&self.leads, &piece, sizeof(Piece))
        self.json = json
        self.zone = zone
        self.clock.second = -1
        self.clock.slot = -1
        self.clock.suffix[0] = c"Z"
        self.clock.suffix_size = 1
        self.take_file(b"")

    def __dealloc__(self):
        release(&self.out)
        release(&self.lead_bytes)
        release(&self.leads)

    cdef void take_file(self, bytes file):
        """Have lines name a file so from now on."""
        self.file = file
        self.file_text = PyBytes_AS_STRING(file)
        self.file_size = len(file)

    cdef void name_file(self) noexcept nogil:
        put(&self.out, self.file_text, self.file_size)

    cdef int64_t columns(self) noexcept nogil:
        return self.leads.size // <int64_t> sizeof(Piece)

    cdef void lead(self, int64_t column) noexcept nogil:
        """Add the text before a column's value."""
        cdef Piece piece = (<Piece *> self.leads.data)[column]
        if piece.size:
            # Where no column has such a text there are no bytes to point at.
            put(&self.out, self.lead_bytes.data + piece.start, piece.size)

    cdef int end_line(self) except -1 nogil:
        reserve(&self.out, 2)
        if self.json:
            put_byte(&self.out, c"}")
        put_byte(&self.out, c"\n")
        return 0

    cdef bytes taken(self):
        """The lines written so far."""
        return bytes_in(&self.out)

    cdef void quote(self) noexcept nogil:
        if self.json:
            put_byte(&self.out, c'"')

    cdef void unknown(self) noexcept nogil:
        if self.json:
            put(&self.out, b"null", 4)
        else:
            put_byte(&self.out, c"-")

    cdef void number(self, bint known, int64_t value) noexcept nogil:
        if known:
            put_signed(&self.out, value)
        else:
            self.unknown()

    cdef void word(self, const char *text, int64_t size) noexcept nogil:
        self.quote()
        put(&self.out, text, size)
        self.quote()

    cdef int moment(self, int64_t moment) except -1 nogil:
        """A moment in RFC 3339; one that no calendar has stays a number, in µs since 1970."""
        cdef int64_t second
        cdef int microsecond
        cdef Clock *clock = &self.clock
        if moment < 0 or moment > MOMENT_LAST:
            put_signed(&self.out, moment)
            return 0
        second = moment // MICROSECONDS
        microsecond = <int> (moment - second * MICROSECONDS)
        if second != clock.second:
            if self.zone is not None and second // ZONE_SECONDS != clock.slot:
                self.ask_zone(second)
            lay_out_second(second + clock.offset, clock.text)
            clock.second = second
        self.quote()
        put(&self.out, clock.text, SECONDS_SIZE)
        if microsecond:
            put_fraction(&self.out, microsecond)
        put(&self.out, clock.suffix, clock.suffix_size)
        self.quote()
        return 0

    cdef int ask_zone(self, int64_t second) except -1 with gil:
        cdef bytes suffix
        offset, suffix = self.zone(second)
        if len(suffix) > SUFFIX_MAXIMUM:
            raise ValueError("the suffix of a time zone is too long")
        self.clock.slot = second // ZONE_SECONDS
        self.clock.offset = offset
        self.clock.suffix_size = <int> len(suffix)
        memcpy(self.clock.suffix, PyBytes_AS_STRING(suffix), len(suffix))
        return 0
