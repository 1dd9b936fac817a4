# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Events looked at one by one, for what is wrong with a file: a record of each, and headers among damaged bytes.

The walk goes on where a scan has to give up: a wrong checksum, a body that cannot be read and an event where
none of its sort can stand are noted. Only a size that no event can have ends it.

Among damaged bytes 19 at each offset are taken for a header; most are ruled out by the type and the size. The
*drift* of a header is what its position says more than the offset of the event's end, modulo 2^32: 0 in a server's
own logs, and the same in all events that were moved together.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.string cimport memset

from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little
from binx.kernels.hashing cimport Slots, slots_release
from binx.kernels.output cimport Output, append, release
from binx.kernels.transactions.gtid_text cimport render_gtid
from binx.kernels.transactions.table cimport GTID_NONE, Transaction
from binx.kernels.walk.classify cimport bad_header, classify
from binx.kernels.walk.events cimport *
from binx.kernels.walk.framing cimport AT_EVENT, frame_event
from binx.kernels.walk.gtids cimport take_gtid
from binx.kernels.walk.machine cimport *

cdef enum:
    NOT_INNER = -1


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

    @property
    def is_inside(self):
        return self.state != STATE_OUTSIDE

    @property
    def open_transaction(self):
        return self.current.start

    def taken(self, int64_t most):
        """At most so many of the records kept so far, all of which are forgotten; see the stub."""
        cdef const EventRecord *record = <const EventRecord *> self.records.data
        cdef Transaction named
        cdef Output text
        cdef list taken = []
        memset(&text, 0, sizeof(Output))
        try:
            for _ in range(min(most, len(self))):
                named.gtid_kind, named.source, named.number = record.gtid_kind, record.source, record.number
                text.size = 0
                render_gtid(&named, &self.sources, &text)
                taken.append((
                    record.position, record.inner if record.inner >= 0 else None, record.type, record.size,
                    record.next_position, record.server_id, record.timestamp, record.flags, record.checksum,
                    record.transaction if record.transaction >= 0 else None,
                    text.data[: text.size].decode() if text.size else None, record.expected != 0,
                ))
                record += 1
        finally:
            release(&text)
        self.records.size = 0
        return taken

    def set_format(self, int checksum_size, const uint8_t[::1] post_header):
        """Take over what a format description says: the checksum's bytes, the post-header length of each type."""
        set_post_header(self.post_header, &post_header[0], post_header.shape[0])
        self.checksum_size = checksum_size

    def go_on(self, int64_t file_size, int64_t position, int64_t start):
        """Walk the next file, which may begin inside the transaction in which this one ends; see the stub."""
        self.file_size = file_size
        self.position = position
        self.start = start
        self.current.start = -1
        self.bad_checksums = self.unexpected = 0
        self.vouched = self.first_bad = self.first_unexpected = -1

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
        cdef int framed
        while self.position < limit:
            self.last.position = -1
            framed = frame_event(
                base, size, origin, self.position, self.file_size, self.checksum_size, self.vouched, True, &header
            )
            if framed != AT_EVENT:
                return framed
            event = base + (self.position - origin)
            available = window_end - self.position
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
            take_gtid(body, header, &self.sources, &self.current)
        self.name_transaction(&self.current)
        if header.type == TRANSACTION_PAYLOAD_EVENT:
            self.payload = self.current
            self.payload_position = self.position
            self.payload_offset = 0
        self.state = self.next_states[at]
        if action == ACTION_END or action == ACTION_START_END:
            self.current.start = -1
            self.current.gtid_kind = GTID_NONE
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


cdef enum:
    # No event that begins a transaction is larger: GTID events, and BEGIN with a session's settings.
    BEGINNING_MAXIMUM = 4096


cdef inline bint can_begin(uint8_t type) noexcept nogil:
    """Whether an event of that type may begin a transaction that can be told from the rest of another."""
    return begins_transaction(type) or type == QUERY_EVENT


cdef inline uint32_t drift_of(const Header *header, int64_t position) noexcept nogil:
    return header.next_position - <uint32_t> (position + header.size)


cdef inline bint stands(const Header *header, int64_t position, int64_t file_size, int checksum_size) noexcept nogil:
    """Whether a header can stand here by its type and its size."""
    return (
        known_type(header.type)
        and header.size >= HEADER_SIZE + checksum_size
        and header.size <= file_size - position
    )


def find_header(
    const uint8_t[::1] window not None,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    uint32_t drift,
    bint moved,
):
    """The first offset in a window, from a position on, at which a header of that drift stands, or -1.

    ``moved`` asks for headers of any drift whose events are small and may begin a transaction.
    """
    cdef int64_t at
    cdef int64_t last = origin + window.shape[0] - HEADER_SIZE
    cdef const uint8_t *base
    cdef Header header
    if position < origin:
        raise ValueError("the window begins behind the position")
    if position > last:
        return -1
    with nogil:
        base = &window[0]
        at = position
        while at <= last:
            if known_type(base[at - origin + 4]):
                header = header_of(base + (at - origin))
                if stands(&header, at, file_size, checksum_size) and (
                    (header.size <= BEGINNING_MAXIMUM and can_begin(header.type))
                    if moved
                    else drift_of(&header, at) == drift
                ):
                    break
            at += 1
    return at if at <= last else -1


def follow_headers(
    const uint8_t[::1] window not None,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    uint32_t drift,
    int64_t events,
):
    """Walk from event to event by their headers: (where the walk stands, how many events are left to walk).

    It ends where so many were walked, the window or the file is over; at an event that cannot stand there, or
    has another drift, it ends with -1 events left.
    """
    cdef const uint8_t *base
    cdef Header header
    if position < origin:
        raise ValueError("the window begins behind the position")
    if window.shape[0] < HEADER_SIZE:
        return position, -1 if position < file_size else events
    with nogil:
        base = &window[0]
        while events > 0 and origin + window.shape[0] - position >= HEADER_SIZE:
            header = header_of(base + (position - origin))
            if not stands(&header, position, file_size, checksum_size) or (
                header.next_position and drift_of(&header, position) != drift
            ):
                events = -1
                break
            position += header.size
            events -= 1
    return position, events
