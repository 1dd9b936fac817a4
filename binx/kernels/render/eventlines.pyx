# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lines of text about events, from the records of a walk over them."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from binx.kernels.render.digits cimport *
from binx.kernels.walk.event_records cimport EventRecord, EventWalk
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.hashing cimport Numbers, number_get, number_set, numbers_release
from binx.kernels.render.linebuffer cimport VALUE_MAXIMUM, LineBuffer, Piece
from binx.kernels.output cimport Output, append, release, reserve
from binx.kernels.transactions.table cimport GTID_MARIADB, GTID_MYSQL, Transaction

cpdef enum EventColumn:
    EVENT_FILE = 0
    EVENT_POSITION = 1
    EVENT_INNER = 2
    EVENT_TYPE = 3
    EVENT_SIZE = 4
    EVENT_END = 5
    EVENT_NEXT_POSITION = 6
    EVENT_SERVER_ID = 7
    EVENT_TIMESTAMP = 8
    EVENT_FLAGS = 9
    EVENT_CHECKSUM = 10
    EVENT_TRANSACTION = 11
    EVENT_GTID = 12
    EVENT_EXPECTED = 13

cdef const char **CHECKSUM_TEXTS = [b"none", b"unverified", b"ok", b"bad"]
cdef int *CHECKSUM_SIZES = [4, 10, 2, 3]


cdef class EventLines(LineBuffer):
    """What makes lines of events.

    Args:
        columns: numbers of ``EventColumn``.
        leads: for each column the text before its value: a name in JSON, or a tab.
        json: JSON objects; else plain fields, a hyphen for what is not known.
        zone: gives for seconds since 1970 the offset in seconds and its suffix; None for UTC.
        type_of: gives for an event type's number the text that shows it.
        flags_of: gives for a header's flags the text that shows them.
    """

    cdef bytes codes
    cdef object type_of
    cdef object flags_of
    cdef Output texts
    cdef Output pieces
    cdef Numbers known

    def __cinit__(self, *_):
        memset(&self.texts, 0, sizeof(Output))
        memset(&self.pieces, 0, sizeof(Output))
        memset(&self.known, 0, sizeof(Numbers))

    def __init__(self, object columns, object leads, bint json, object zone, object type_of, object flags_of):
        super().__init__(leads, json, zone)
        self.codes = bytes(columns)
        if len(self.codes) != self.columns() or max(self.codes, default=0) > EVENT_EXPECTED:
            raise ValueError("columns and the texts before them do not fit")
        self.type_of = type_of
        self.flags_of = flags_of

    def __dealloc__(self):
        release(&self.texts)
        release(&self.pieces)
        numbers_release(&self.known)

    def begin_file(self, bytes file):
        """Go on with the events of another file, whose name the lines show so."""
        self.take_file(file)

    def render(self, EventWalk walk, int64_t most):
        """The lines of the records that a walk keeps, at most so many."""
        cdef int64_t count = min(most, walk.records.size // <int64_t> sizeof(EventRecord))
        cdef int64_t i
        cdef int64_t column
        cdef const uint8_t *codes = <const uint8_t *> PyBytes_AS_STRING(self.codes)
        cdef int64_t widest = self.widest_lead + self.file_size + VALUE_MAXIMUM
        self.out.size = 0
        with nogil:
            for i in range(count):
                for column in range(self.columns()):
                    reserve(&self.out, widest)
                    self.lead(column)
                    self.value(walk, (<EventRecord *> walk.records.data) + i, codes[column])
                self.end_line()
        return self.taken()

    cdef int value(self, EventWalk walk, const EventRecord *record, uint8_t code) except -1 nogil:
        cdef Output *out = &self.out
        cdef bint inner = record.inner >= 0
        if code == EVENT_FILE:
            self.name_file()
        elif code == EVENT_POSITION:
            put_signed(out, record.position)
            if inner and not self.json:
                put_byte(out, c"+")
                put_signed(out, record.inner)
        elif code == EVENT_INNER:
            self.number(inner, record.inner)
        elif code == EVENT_TYPE:
            self.shown(record.type, False)
        elif code == EVENT_SIZE:
            put_signed(out, record.size)
        elif code == EVENT_END:
            self.number(not inner, record.position + record.size)
        elif code == EVENT_NEXT_POSITION:
            put_unsigned(out, record.next_position)
        elif code == EVENT_SERVER_ID:
            put_unsigned(out, record.server_id)
        elif code == EVENT_TIMESTAMP:
            self.moment(<int64_t> record.timestamp * MICROSECONDS)
        elif code == EVENT_FLAGS:
            self.shown(record.flags, True)
        elif code == EVENT_CHECKSUM:
            self.word(CHECKSUM_TEXTS[record.checksum & 3], CHECKSUM_SIZES[record.checksum & 3])
        elif code == EVENT_TRANSACTION:
            self.number(record.transaction >= 0, record.transaction)
        elif code == EVENT_GTID:
            self.gtid(walk, record)
        elif self.json:
            put(out, b"true" if record.expected else b"false", 4 if record.expected else 5)
        else:
            put(out, b"yes" if record.expected else b"no", 3 if record.expected else 2)
        return 0

    cdef int gtid(self, EventWalk walk, const EventRecord *record) except -1 nogil:
        cdef Transaction named
        if record.gtid_kind != GTID_MYSQL and record.gtid_kind != GTID_MARIADB:
            self.unknown()
            return 0
        named.gtid_kind = record.gtid_kind
        named.source = record.source
        named.number = record.number
        self.quote()
        render_gtid(&named, &walk.sources, &self.out)
        reserve(&self.out, VALUE_MAXIMUM)
        self.quote()
        return 0

    cdef int shown(self, int number, bint flags) except -1 nogil:
        """Add the text of a type or of flags, of which there are few."""
        cdef uint64_t key = <uint64_t> flags << 32 | <uint64_t> number
        cdef int32_t place = number_get(&self.known, key)
        cdef Piece piece
        if place < 0:
            place = self.learn(number, flags, key)
        piece = (<Piece *> self.pieces.data)[place]
        reserve(&self.out, piece.size + VALUE_MAXIMUM)
        put(&self.out, self.texts.data + piece.start, piece.size)
        return 0

    cdef int learn(self, int number, bint flags, uint64_t key) except -1 with gil:
        cdef bytes text = self.flags_of(number) if flags else self.type_of(number)
        cdef int32_t place = <int32_t> (self.pieces.size // <int64_t> sizeof(Piece))
        cdef Piece piece
        piece.start = self.texts.size
        piece.size = len(text)
        append(&self.texts, PyBytes_AS_STRING(text), len(text))
        append(&self.pieces, &piece, sizeof(Piece))
        number_set(&self.known, key, place)
        return place
