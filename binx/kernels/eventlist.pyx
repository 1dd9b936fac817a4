# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Every event of a file: its header, whether its checksum is right, and the transaction that it is part of.

The walk goes on where a scan has to give up: a wrong checksum, a body that cannot be read and an event where
none of its sort can stand are noted, as this is for looking at what is wrong with a file. Only a size that no
event can have ends it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from cpython.bytes cimport PyBytes_AS_STRING

from binx.kernels.classes cimport *
from binx.kernels.classify cimport bad_header, classify
from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little
from binx.kernels.digits cimport *
from binx.kernels.events cimport *
from binx.kernels.gtids cimport read_gtid, read_mariadb_gtid, read_tagged_gtid
from binx.kernels.hashing cimport Numbers, Slots, number_get, number_set, numbers_release, slots_release
from binx.kernels.lines cimport VALUE_MAXIMUM, LineBuffer, Piece
from binx.kernels.output cimport Output, append, release, reserve
from binx.kernels.transactions cimport *

cdef enum:
    # As in the boundary state machine's table.
    STATE_OUTSIDE = 0
    ACTION_START = 1
    ACTION_START_END = 2
    ACTION_END = 3
    ACTION_ILLEGAL = 255
    NOT_INNER = -1

cpdef enum EventStop:
    EVENTS_LIMIT = 0
    EVENTS_FORMAT = 1
    EVENTS_PAYLOAD = 2
    EVENTS_TRUNCATED = 3
    EVENTS_END = 4

cpdef enum EventChecksum:
    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

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

cdef struct EventRecord:
    int64_t position
    # Of an event within a payload: its offset there, after decompression.
    int64_t inner
    int64_t size
    # Where its transaction begins, -1 between transactions.
    int64_t transaction
    uint64_t number
    int32_t source
    uint32_t next_position
    uint32_t server_id
    uint32_t timestamp
    uint16_t flags
    uint8_t type
    uint8_t gtid_kind
    uint8_t checksum
    uint8_t expected


cdef int encrypted_rest(int64_t position) except -1 with gil:
    from binx.errors import UnsupportedError

    raise UnsupportedError(
        "the rest of the file is encrypted by MariaDB, headers too; let the server decrypt it"
        " (mariadb-binlog --read-from-remote-server)",
        offset=position,
        event="START_ENCRYPTION",
    )


cdef class EventWalk:
    """A walk over a file's events that keeps a record of each.

    Args:
        file_size: bytes of the file.
        position: where the format description begins.
        transitions: actions, next states and kinds of the boundary state machine.
        wanted: 256 bytes, 1 for the event types whose records are kept.
        verify: whether checksums are compared.
        inner: whether to stop behind payloads.
        start: keep no record of an event that ends at or before this offset.
    """

    cdef readonly int64_t position
    cdef readonly int64_t bad_checksums
    cdef readonly int64_t first_bad
    cdef readonly int64_t unexpected
    cdef readonly int64_t first_unexpected
    cdef Output records
    cdef Slots sources
    cdef int64_t file_size
    cdef tuple transitions
    cdef const uint8_t *actions
    cdef const uint8_t *next_states
    cdef bytes wanted
    cdef uint8_t keeps[256]
    cdef uint8_t post_header[256]
    cdef int checksum_size
    cdef bint verify
    cdef bint inner
    cdef int64_t start
    cdef int state
    cdef Transaction current
    cdef Transaction payload
    cdef readonly int64_t payload_position
    cdef int64_t payload_offset
    cdef int64_t vouched
    cdef uint32_t vouched_stored
    cdef uint32_t vouched_found
    cdef EventRecord last

    def __cinit__(self):
        memset(&self.records, 0, sizeof(Output))
        memset(&self.sources, 0, sizeof(Slots))
        memset(&self.current, 0, sizeof(Transaction))
        memset(&self.last, 0, sizeof(EventRecord))

    def __init__(
        self,
        int64_t file_size,
        int64_t position,
        tuple transitions,
        bytes wanted,
        bint verify,
        bint inner,
        int64_t start,
    ):
        cdef int i
        if len(wanted) != 256:
            raise ValueError("expected a mark for each of 256 event types")
        self.file_size = file_size
        self.position = position
        self.transitions = transitions
        self.actions = <const uint8_t *> PyBytes_AS_STRING(transitions[0])
        self.next_states = <const uint8_t *> PyBytes_AS_STRING(transitions[1])
        for i in range(256):
            self.keeps[i] = wanted[i]
        self.verify = verify
        self.inner = inner
        self.start = start
        self.state = STATE_OUTSIDE
        self.current.start = -1
        self.vouched = -1
        self.first_bad = -1
        self.first_unexpected = -1

    def __dealloc__(self):
        release(&self.records)
        slots_release(&self.sources)

    def __len__(self):
        return self.records.size // <int64_t> sizeof(EventRecord)

    def clear(self):
        """Forget the records kept so far."""
        self.records.size = 0

    def set_format(self, int checksum_size, const uint8_t[::1] post_header):
        """Take over what a format description says: the checksum's bytes, the post-header length of each type."""
        set_post_header(self.post_header, post_header)
        self.checksum_size = checksum_size

    def take_format(self, const uint8_t[::1] event, int checksum):
        """Pass over the format description at ``position``, whose checksum Python has looked at."""
        cdef Header header
        if event.shape[0] < HEADER_SIZE:
            raise ValueError("expected a whole event")
        header = header_of(&event[0])
        self.begin_record(&header, self.position, NOT_INNER)
        self.last.checksum = <uint8_t> checksum
        self.last.transaction = -1
        self.keep()
        self.position += header.size

    def feed(self, const uint8_t[::1] window, int64_t origin, int64_t limit):
        """Walk events until one begins at or behind ``limit``; returns an ``EventStop``.

        The window holds the file's bytes from ``origin`` on; where its last event is cut and the file goes on,
        the walk stops before that event with ``EVENTS_LIMIT``.

        Raises:
            DamagedError: a size that no event has; the records of the events before stay.
        """
        from binx.errors import BinxError

        cdef int stop
        if window.shape[0] == 0:
            return EVENTS_END if self.position >= self.file_size else EVENTS_LIMIT
        while True:
            try:
                with nogil:
                    stop = self.walk(&window[0], window.shape[0], origin, limit)
                return stop
            except BinxError:
                if self.last.position != self.position:
                    raise
                # The event's own bytes cannot be read; its header could, and leads on.
                self.note_unexpected()
                if self.state == STATE_OUTSIDE:
                    self.current.start = -1
                self.name_transaction(&self.current)
                self.keep()
                self.position += self.last.size

    def vouch(self, uint32_t stored, uint32_t found):
        """Have the payload event at ``position`` taken by its beginning; see ``Scanner.vouch``."""
        self.vouched = self.position
        self.vouched_stored = stored
        self.vouched_found = found

    def feed_inner(self, const uint8_t[::1] events):
        """Keep records of whole events of the payload that the walk has passed last."""
        cdef int64_t at = 0
        cdef Header header
        with nogil:
            while events.shape[0] - at >= HEADER_SIZE:
                header = header_of(&events[at])
                if header.size < HEADER_SIZE or header.size > events.shape[0] - at:
                    bad_header(&header, self.payload_position)
                self.begin_record(&header, self.payload_position, self.payload_offset)
                self.last.checksum = CHECKSUM_NONE
                self.name_transaction(&self.payload)
                self.keep()
                at += header.size
                self.payload_offset += header.size

    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin, int64_t limit) except -1 nogil:
        cdef int64_t window_end = origin + size
        cdef int64_t available
        cdef Header header
        cdef Cursor body
        cdef const uint8_t *event
        self.last.position = -1
        while self.position < limit:
            available = window_end - self.position
            if available < HEADER_SIZE:
                if window_end < self.file_size:
                    return EVENTS_LIMIT
                return EVENTS_END if available <= 0 else EVENTS_TRUNCATED
            event = base + (self.position - origin)
            header = header_of(event)
            if header.size < HEADER_SIZE + self.checksum_size:
                self.last.position = -1
                bad_header(&header, self.position)
            if header.size > self.file_size - self.position:
                return EVENTS_TRUNCATED
            if header.size > available and (
                header.type != TRANSACTION_PAYLOAD_EVENT or self.position != self.vouched
            ):
                return EVENTS_LIMIT
            if header.type == FORMAT_DESCRIPTION_EVENT:
                return EVENTS_FORMAT
            self.begin_record(&header, self.position, NOT_INNER)
            self.check(event, &header, available)
            body = cursor_over(
                event + HEADER_SIZE,
                min(<int64_t> header.size - self.checksum_size, available) - HEADER_SIZE,
                self.position + HEADER_SIZE,
            )
            self.step(&body, &header)
            self.keep()
            self.position += header.size
            if header.type == MARIADB_START_ENCRYPTION_EVENT:
                encrypted_rest(self.position - header.size)
            if self.inner and header.type == TRANSACTION_PAYLOAD_EVENT:
                return EVENTS_PAYLOAD
        return EVENTS_END if self.position >= self.file_size else EVENTS_LIMIT

    cdef void begin_record(self, const Header *header, int64_t position, int64_t inner) noexcept nogil:
        memset(&self.last, 0, sizeof(EventRecord))
        self.last.position = position
        self.last.inner = inner
        self.last.size = header.size
        self.last.transaction = self.current.start
        self.last.next_position = header.next_position
        self.last.server_id = header.server_id
        self.last.timestamp = header.timestamp
        self.last.flags = header.flags
        self.last.type = header.type
        self.last.expected = True

    cdef void check(self, const uint8_t *event, const Header *header, int64_t available) noexcept nogil:
        cdef int64_t size = <int64_t> header.size - CHECKSUM_SIZE
        cdef bint right
        if not self.checksum_size:
            self.last.checksum = CHECKSUM_NONE
        elif not self.verify:
            self.last.checksum = CHECKSUM_UNVERIFIED
        else:
            if header.size > available:
                right = self.vouched_stored == self.vouched_found
            else:
                right = <uint32_t> little(event + size, CHECKSUM_SIZE) == crc32(0, event, size)
            self.last.checksum = CHECKSUM_OK if right else CHECKSUM_BAD
            if not right:
                self.bad_checksums += 1
                if self.first_bad < 0:
                    self.first_bad = self.position

    cdef int step(self, Cursor *body, Header *header) except -1 nogil:
        """Take one event through the state machine; where it cannot stand, the transaction is taken to be over."""
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint32_t thread_id = 0
        cdef uint8_t action
        cdef int at
        classify(body, header, self.post_header, &event_class, &thread_id)
        at = self.state * CLASSES + event_class
        action = self.actions[at]
        if action == ACTION_ILLEGAL:
            self.misplace()
            at = STATE_OUTSIDE * CLASSES + event_class
            action = self.actions[at]
            if action == ACTION_ILLEGAL:
                return 0
        if action == ACTION_START or action == ACTION_START_END:
            memset(&self.current, 0, sizeof(Transaction))
            self.current.start = self.position
            self.current.server_id = header.server_id
            self.read_gtid_event(body, header)
        self.name_transaction(&self.current)
        if header.type == TRANSACTION_PAYLOAD_EVENT:
            self.payload = self.current
            self.payload_position = self.position
            self.payload_offset = 0
        self.state = self.next_states[at]
        if action == ACTION_END or action == ACTION_START_END:
            self.current.start = -1
        return 0

    cdef int read_gtid_event(self, Cursor *body, Header *header) except -1 nogil:
        cdef uint8_t flags = 0
        if header.type == GTID_TAGGED_EVENT:
            read_tagged_gtid(body, &self.sources, &self.current)
        elif header.type == GTID_EVENT or header.type == ANONYMOUS_GTID_EVENT:
            read_gtid(body, header.type, &self.sources, &self.current)
        elif header.type == MARIADB_GTID_EVENT:
            read_mariadb_gtid(body, header.server_id, &self.sources, &self.current, &flags)
        return 0

    cdef void name_transaction(self, const Transaction *transaction) noexcept nogil:
        self.last.transaction = transaction.start
        self.last.gtid_kind = transaction.gtid_kind
        self.last.source = transaction.source
        self.last.number = transaction.number

    cdef void misplace(self) noexcept nogil:
        """Take the transaction to be over, as the event of the last record cannot be in it."""
        self.note_unexpected()
        self.last.transaction = -1
        self.last.gtid_kind = GTID_NONE
        self.state = STATE_OUTSIDE
        self.current.start = -1

    cdef void note_unexpected(self) noexcept nogil:
        """Note that the event of the last record cannot stand where it does, or cannot be read."""
        self.last.expected = False
        self.unexpected += 1
        if self.first_unexpected < 0:
            self.first_unexpected = self.last.position

    cdef int keep(self) except -1 nogil:
        # The walk stands behind the payload of an inner event, and still before any other.
        cdef int64_t end = self.position if self.last.inner >= 0 else self.position + self.last.size
        if self.keeps[self.last.type] and end > self.start:
            append(&self.records, &self.last, sizeof(EventRecord))
        return 0


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
    cdef bytes file
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
        self.file = b""
        self.type_of = type_of
        self.flags_of = flags_of

    def __dealloc__(self):
        release(&self.texts)
        release(&self.pieces)
        numbers_release(&self.known)

    def begin_file(self, bytes file):
        """Go on with the events of another file, whose name the lines show so."""
        self.file = file

    def render(self, EventWalk walk, int64_t most):
        """The lines of the records that a walk keeps, at most so many."""
        cdef int64_t count = min(most, walk.records.size // <int64_t> sizeof(EventRecord))
        cdef int64_t i
        cdef int64_t column
        cdef const uint8_t *codes = <const uint8_t *> PyBytes_AS_STRING(self.codes)
        cdef int64_t widest = self.widest_lead + len(self.file) + VALUE_MAXIMUM
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

    cdef int name_file(self) except -1 with gil:
        put(&self.out, PyBytes_AS_STRING(self.file), len(self.file))
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
