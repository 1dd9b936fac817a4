# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One compiled walk over a file's events that finds its transactions.

Three levels of the same walk: ``LEVEL_INDEX`` jumps from GTID event to GTID event where the transaction's
length is written there; ``LEVEL_EVENTS`` reads every header; ``LEVEL_TABLES`` also counts row images per
table. What an event does to the transaction around it comes from the table of ``binx/log/boundary.py``.

The walk stops and says why (``Stop``) where Python must help: a format description in the file's middle, a
compressed payload or rows event whose inside has to be counted, the end of the window or of the file.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from binx.kernels.classes cimport *
from binx.kernels.classify cimport *
from binx.kernels.counting cimport RowsEvent, count_images, open_rows
from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take, take_packed
from binx.kernels.events cimport *
from binx.kernels.gtids cimport (
    MARIADB_STANDALONE,
    glance_at_gtid,
    read_gtid,
    read_mariadb_gtid,
    read_tagged_gtid,
)
from binx.kernels.hashing cimport slot_of, slots_release
from binx.kernels.output cimport append, release
from binx.kernels.statements cimport *
from binx.kernels.transactions cimport *
from binx.kernels.wanted cimport Span, Wanted, is_wanted

cdef enum:
    STATE_OUTSIDE = 0
    MICROSECONDS = 1000000
    # A server writes a handful in a file; a file made of nothing else must not fill the memory.
    CONTROLS_MAXIMUM = 4096
    # In place of an event's end where it has none of its own in the file.
    INSIDE_PAYLOAD = -1
    NO_KIND = 255
    # What came of a transaction's length.
    JUMP_NOT = 0
    JUMP_DONE = 1
    JUMP_BEYOND = 2
    # In place of a transaction's length.
    UNKNOWN_LENGTH = -1
    LENGTH_BEYOND = -2

cdef struct Seen:
    int64_t ordinal
    int64_t index



cdef int bad_inner(const char *found, int64_t position) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected one whole transaction in the compressed payload, found {found.decode()}",
        offset=position,
        event="TRANSACTION_PAYLOAD",
    )


cdef inline int64_t whole_event(const uint8_t *base, int64_t size, int64_t at) noexcept nogil:
    """The size of the event at a place if all of it is there; 0 where it is cut, -1 where no event is that small."""
    cdef int64_t claimed
    if size - at < HEADER_SIZE:
        return 0
    claimed = header_of(base + at).size
    if claimed < HEADER_SIZE:
        return -1
    return claimed if claimed <= size - at else 0


def whole_events(const uint8_t[::1] window not None):
    """How many bytes of a window whole events take, and how many the event behind them says that it has.

    The second is 0 where its header is cut, and less than a header where no event can be that small.
    """
    cdef int64_t at = 0
    cdef int64_t size = 1
    cdef int64_t claimed = 0
    if window.shape[0] == 0:
        return 0, 0
    with nogil:
        while size > 0:
            size = whole_event(&window[0], window.shape[0], at)
            at += size if size > 0 else 0
        if window.shape[0] - at >= HEADER_SIZE:
            claimed = header_of(&window[at]).size
    return at, claimed


cdef class Scanner:
    """A walk over one file, resumable at every event.

    Args:
        level: how much is read, one of ``Level``.
        file_size: bytes of the file; no event may reach beyond.
        position: where the first event behind the format description begins.
        transitions: actions, next states and kinds of the boundary state machine.
        verify: whether the checksum of every event that is read is compared.
    """

    def __cinit__(self):
        memset(&self.sources, 0, sizeof(Slots))
        memset(&self.last_counts, 0, sizeof(Output))
        memset(&self.wanted, 0, sizeof(Wanted))

    def __init__(self, int level, int64_t file_size, int64_t position, tuple transitions, bint verify):
        self.level = level
        self.file_size = file_size
        self.position = position
        self.transitions = transitions
        self.actions = <const uint8_t *> PyBytes_AS_STRING(transitions[0])
        self.next_states = <const uint8_t *> PyBytes_AS_STRING(transitions[1])
        self.kinds = <const uint8_t *> PyBytes_AS_STRING(transitions[2])
        self.verify = verify
        self.maps = TableMaps()
        self.state = STATE_OUTSIDE
        self.distrusted = -1
        self.vouched = -1
        self.controls = []
        self.resumed = -1
        self.first_misplaced = -1
        self.current.start = -1
        self.new_table()

    def __dealloc__(self):
        slots_release(&self.sources)
        release(&self.last_counts)
        release(&self.wanted.bounds)
        release(&self.wanted.spans)

    def new_table(self):
        """Begin a new table for the transactions to come, and return the one that was filled."""
        filled = self.table
        self.table = TransactionTable()
        self.table.sources = &self.sources
        self.table.tables = &self.maps.names
        self.table.owner = self
        if self.current.start >= 0:
            self.carry_counts(filled)
        return filled

    cdef carry_counts(self, TransactionTable filled):
        """Take along the counts of a transaction that is still open when its table is handed over."""
        cdef int64_t size = self.current.counts * <int64_t> sizeof(TableCount)
        append(&self.table.counts, filled.counts.data + self.current.first_count * sizeof(TableCount), size)
        filled.counts.size -= size
        self.current.first_count = 0

    def search(self, dict intervals):
        """Look for GTIDs alone: at ``LEVEL_INDEX`` transactions that have none of them may be left out of the tables.

        They are passed over by their length, or header by header, where the next transaction's GTID event follows
        in its place; whatever is less sure than that is walked.

        ``intervals`` maps a source's key to its intervals: bytes of pairs of unsigned 64-bit integers, first and
        last, ascending. To be called before the walk begins.
        """
        cdef bytes key
        cdef bytes packed
        cdef Span span
        cdef const uint64_t *bounds
        cdef int64_t i
        for key, packed in intervals.items():
            span.first = self.wanted.bounds.size // 16
            span.count = len(packed) // 16
            if slot_of(&self.sources, <const uint8_t *> PyBytes_AS_STRING(key), len(key)) != self.wanted.spans.size // <int64_t> sizeof(Span):
                raise ValueError("the walk has begun")
            append(&self.wanted.bounds, PyBytes_AS_STRING(packed), span.count * 16)
            append(&self.wanted.spans, &span, sizeof(Span))
        bounds = <const uint64_t *> self.wanted.bounds.data
        self.wanted.least = <uint64_t> -1
        for i in range(self.wanted.bounds.size // 16):
            self.wanted.least = min(self.wanted.least, bounds[2 * i])
            self.wanted.greatest = max(self.wanted.greatest, bounds[2 * i + 1])
        self.searching = True

    def set_format(self, int checksum_size, const uint8_t[::1] post_header):
        """Take over what a format description says: the checksum's bytes, the post-header length of each type."""
        set_post_header(self.post_header, post_header)
        self.maps.set_format(post_header)
        self.checksum_size = checksum_size

    def skip(self, int64_t size, uint8_t event_type):
        """Pass over an event that Python has read."""
        self.position += size
        self.type_counts[event_type] += 1
        self.type_bytes[event_type] += size
        if self.current.start >= 0:
            self.current.events += 1

    def feed(self, const uint8_t[::1] window, int64_t origin, int64_t limit):
        """Walk events until one begins at or behind ``limit``; returns a ``Stop``.

        The window holds the file's bytes from ``origin`` on; where its last event is cut and the file goes on,
        the walk stops before that event with ``STOP_LIMIT`` and wants a window that begins at ``position``.

        Raises:
            DamagedError: an event is not what the format allows there; what was found before stays in ``table``.
        """
        cdef int stop
        if window.shape[0] == 0:
            return STOP_END if self.position >= self.file_size else STOP_LIMIT
        with nogil:
            stop = self.walk(&window[0], window.shape[0], origin, limit)
        return stop

    def vouch(self, uint32_t stored, uint32_t found):
        """Have the payload event at ``position`` taken by its beginning, as all of it was read piece by piece.

        Args:
            stored: the checksum behind it.
            found: that of its bytes.
        """
        self.vouched = self.position
        self.vouched_stored = stored
        self.vouched_found = found

    @property
    def beyond(self):
        """After ``STOP_BEYOND``: the span of the file that :meth:`feed_beyond` wants to see."""
        return self.beyond_end - self.terminal_size(), min(self.beyond_end + HEADER_SIZE, self.file_size)

    def feed_beyond(self, const uint8_t[::1] window not None, const uint8_t[::1] tail not None):
        """Take a transaction by its length that reaches beyond a window; what lies between need not be read.

        Args:
            window: the file's bytes from ``position`` on.
            tail: the bytes of the span that ``beyond`` tells.

        A transaction whose length is not to be trusted is left where it is: the next :meth:`feed` walks it.

        Raises:
            DamagedError: an event is not what the format allows.
        """
        cdef Header header
        cdef Cursor body
        cdef tuple span = self.beyond
        if window.shape[0] < HEADER_SIZE or tail.shape[0] != span[1] - span[0]:
            raise ValueError("the windows do not show the transaction's ends")
        with nogil:
            header = header_of(&window[0])
            if header.size < HEADER_SIZE + self.checksum_size or header.size > window.shape[0]:
                self.distrust()
            else:
                body = cursor_over(
                    &window[0] + HEADER_SIZE,
                    header.size - HEADER_SIZE - self.checksum_size,
                    self.position + HEADER_SIZE,
                )
                self.jump(&body, &header, &window[0], window.shape[0], &tail[0], tail.shape[0])

    def seek(self, int64_t position, bint named):
        """Give up the transaction at hand, and go on at an event from which transactions are looked for again.

        What stands before the next event that begins a transaction for certain is passed over: see ``skips``.
        """
        if self.current.start >= 0:
            self.table.counts.size = self.current.first_count * sizeof(TableCount)
            self.current.start = -1
        self.state = STATE_OUTSIDE
        self.distrusted = -1
        self.position = position
        self.seeking = True
        self.named = named
        self.resumed = -1

    def feed_inner(self, const uint8_t[::1] events):
        """Walk events of a decompressed payload, which must be whole (see ``whole_events``)."""
        cdef int64_t at = 0
        cdef int64_t size
        cdef Header header
        cdef Cursor body
        with nogil:
            while at < events.shape[0]:
                size = whole_event(&events[0], events.shape[0], at)
                if size <= 0:
                    bad_inner(b"an event that is cut", self.position)
                header = header_of(&events[at])
                if self.inner_kind != NO_KIND:
                    bad_inner(b"events behind the end of the transaction", self.position)
                if (
                    header.type == TRANSACTION_PAYLOAD_EVENT
                    or MARIADB_QUERY_COMPRESSED_EVENT <= header.type <= MARIADB_DELETE_ROWS_COMPRESSED_EVENT
                ):
                    bad_inner(b"a compressed event within it", self.position)
                body = cursor_over(&events[at] + HEADER_SIZE, size - HEADER_SIZE, self.position)
                self.step(&body, &header, self.position, INSIDE_PAYLOAD)
                self.inner_type_counts[header.type] += 1
                at += size

    def end_payload(self):
        """Close the transaction whose payload was fed, and pass over the payload event."""
        cdef int64_t size = self.payload_size
        if self.inner_kind == NO_KIND:
            bad_inner(b"one without its end", self.position)
        self.push(self.inner_kind, self.inner_timestamp, self.position + size)
        self.skip(size, TRANSACTION_PAYLOAD_EVENT)

    def feed_replacement(self, const uint8_t[::1] event, int64_t size):
        """Take a decompressed rows event in place of the one of ``size`` bytes at ``position``."""
        cdef Header header = header_of(&event[0])
        cdef uint8_t logged_type
        cdef Cursor body = cursor_over(&event[0] + HEADER_SIZE, event.shape[0] - HEADER_SIZE, self.position)
        logged_type = self.pending_type
        with nogil:
            self.step(&body, &header, self.position, self.position + size)
        self.type_counts[logged_type] += 1
        self.type_bytes[logged_type] += size
        self.position += size

    cdef int walk(self, const uint8_t *base, int64_t size, int64_t origin, int64_t limit) except -1 nogil:
        cdef int64_t window_end = origin + size
        cdef int64_t available
        cdef Header header
        cdef Cursor body
        cdef const uint8_t *event
        cdef uint32_t expected
        cdef uint32_t found
        cdef int jumped
        while self.position < limit:
            available = window_end - self.position
            if available < HEADER_SIZE:
                if window_end < self.file_size:
                    return STOP_LIMIT
                return STOP_END if available <= 0 else STOP_TRUNCATED
            event = base + (self.position - origin)
            header = header_of(event)
            if header.size < HEADER_SIZE + self.checksum_size or (
                not known_type(header.type)
                and not header.flags & IGNORABLE_FLAG
                and not self.is_proven(event, &header, available)
            ):
                bad_header(&header, self.position)
            if header.size > self.file_size - self.position:
                return STOP_TRUNCATED
            if header.size > available and (
                header.type != TRANSACTION_PAYLOAD_EVENT or self.position != self.vouched
            ):
                return STOP_LIMIT
            if header.type == FORMAT_DESCRIPTION_EVENT:
                return STOP_FORMAT
            if self.verify and self.checksum_size:
                if header.size > available:
                    expected = self.vouched_stored
                    found = self.vouched_found
                else:
                    expected = <uint32_t> little(event + header.size - CHECKSUM_SIZE, CHECKSUM_SIZE)
                    found = crc32(0, event, header.size - CHECKSUM_SIZE)
                if expected != found:
                    bad_checksum(&header, expected, found, self.position)
            self.compare_position(&header)
            body = cursor_over(
                event + HEADER_SIZE,
                min(<int64_t> header.size - self.checksum_size, available) - HEADER_SIZE,
                self.position + HEADER_SIZE,
            )
            if self.seeking and self.skips(&body, &header):
                self.position += header.size
                continue
            if (
                self.searching
                and self.level == LEVEL_INDEX
                and self.state == STATE_OUTSIDE
                and self.position != self.distrusted
                and begins_transaction(header.type)
            ):
                jumped = self.pass_over(&body, &header, event, available)
                if jumped == JUMP_DONE:
                    continue
                if jumped == JUMP_BEYOND and self.position != origin:
                    return STOP_LIMIT
            if (
                self.level == LEVEL_INDEX
                and self.state == STATE_OUTSIDE
                and self.position != self.distrusted
                and (header.type == GTID_EVENT or header.type == ANONYMOUS_GTID_EVENT or header.type == GTID_TAGGED_EVENT)
            ):
                jumped = self.jump(&body, &header, event, available, NULL, 0)
                if jumped == JUMP_DONE:
                    continue
                if jumped == JUMP_BEYOND:
                    return STOP_BEYOND
            if self.level == LEVEL_TABLES:
                if header.type == TRANSACTION_PAYLOAD_EVENT:
                    self.begin_payload(&body, &header)
                    return STOP_PAYLOAD
                if (
                    MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1 <= header.type
                    and header.type <= MARIADB_DELETE_ROWS_COMPRESSED_EVENT
                ):
                    self.pending_type = header.type
                    return STOP_COMPRESSED_ROWS
            self.step(&body, &header, self.position, self.position + header.size)
            self.type_counts[header.type] += 1
            self.type_bytes[header.type] += header.size
            self.position += header.size
        return STOP_END if self.position >= self.file_size else STOP_LIMIT

    cdef bint is_proven(self, const uint8_t *event, const Header *header, int64_t available) noexcept nogil:
        """Whether the bytes are an event beyond doubt, whatever its type: its checksum is right."""
        cdef int64_t size = header.size - CHECKSUM_SIZE
        return (
            self.checksum_size != 0
            and header.size <= available
            and crc32(0, event, size) == <uint32_t> little(event + size, CHECKSUM_SIZE)
        )

    cdef void compare_position(self, const Header *header) noexcept nogil:
        """Note how far the position in a header is from the event's end."""
        cdef uint32_t end = <uint32_t> (self.position + header.size)
        if header.next_position == 0:
            self.unplaced += 1
            return
        self.drift = header.next_position - end
        if self.drift:
            if self.misplaced == 0:
                self.first_misplaced = self.position
            self.misplaced += 1

    cdef bint skips(self, Cursor *body, Header *header) except -1 nogil:
        """Whether an event is passed over while the beginning of a transaction is looked for.

        Where every transaction is ``named`` (has a GTID event, if an anonymous one), only such an event begins
        one. Where not, BEGIN and XA START do, and whatever follows the end of another. ROTATE and STOP as the
        file's last event stand between transactions.
        """
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint32_t thread = 0
        cdef bint begins
        classify(body, header, self.post_header, &event_class, &thread)
        begins = (
            event_class == CLASS_GTID
            or event_class == CLASS_GTID_STANDALONE
            or event_class == CLASS_GTID_GROUP
            or (not self.named and (event_class == CLASS_BEGIN or event_class == CLASS_XA_START))
            or (
                (header.type == ROTATE_EVENT or header.type == STOP_EVENT)
                and self.position + header.size == self.file_size
            )
        )
        if begins:
            self.seeking = False
            self.resumed = self.position
            return False
        if (
            event_class == CLASS_COMMIT
            or event_class == CLASS_ROLLBACK
            or event_class == CLASS_PAYLOAD
            or CLASS_XA_PREPARE <= event_class <= CLASS_XA_ROLLBACK
        ):
            self.ends_passed += 1
            if not self.named:
                self.seeking = False
                self.resumed = self.position + header.size
        return True

    cdef int pass_over(
        self, Cursor *body, const Header *header, const uint8_t *event, int64_t available
    ) except -1 nogil:
        """Pass over the transaction at ``position``, whose GTID event this is, where it is not looked for.

        ``JUMP_NOT``: it is, or where it ends is not certain. ``JUMP_BEYOND``: the window does not show its end.
        """
        cdef int64_t length = 0
        cdef uint64_t number = 0
        cdef Header landing
        cdef bint apart = False
        # What is far from all that is wanted is told by its number, whatever its source.
        if header.type == GTID_EVENT:
            apart = glance_at_gtid(body, &number, &length)
            apart = apart and (number < self.wanted.least or number > self.wanted.greatest)
            body.position = 0
        if not apart:
            self.start_transaction(header, self.position)
            self.current.start = -1
            self.read_gtid_event(body, header)
            body.position = 0
            if is_wanted(&self.wanted, &self.current):
                return JUMP_NOT
            length = self.current.claimed_length
        if not self.is_placed(header, self.position, False):
            return JUMP_NOT
        if length == 0:
            length = self.length_by_events(header, event, available)
        if length == LENGTH_BEYOND or length > available - HEADER_SIZE:
            return JUMP_BEYOND if self.position + available < self.file_size else JUMP_NOT
        if length < header.size + HEADER_SIZE + self.checksum_size:
            return JUMP_NOT
        landing = header_of(event + length)
        if not begins_transaction(landing.type) or not self.is_placed(&landing, self.position + length, False):
            return JUMP_NOT
        self.position += length
        return JUMP_DONE

    cdef int64_t length_by_events(self, const Header *first, const uint8_t *event, int64_t available) noexcept nogil:
        """The bytes up to the next event that begins a transaction, by the sizes of the events between."""
        cdef int64_t length = first.size
        cdef Header header
        while length <= available - HEADER_SIZE:
            header = header_of(event + length)
            if begins_transaction(header.type):
                return length
            if is_about_files(header.type) or not self.is_placed(&header, self.position + length, True):
                return UNKNOWN_LENGTH
            length += header.size
        return LENGTH_BEYOND

    cdef bint is_placed(self, const Header *header, int64_t position, bint inside) noexcept nogil:
        """Whether a header tells that its event stands where it does, and fits there.

        MariaDB 11.4 and later write no position ``inside`` a transaction.
        """
        return (
            known_type(header.type)
            and header.size >= HEADER_SIZE + self.checksum_size
            and header.size <= self.file_size - position
            and (
                header.next_position == <uint32_t> (position + header.size)
                or (inside and header.next_position == 0)
            )
        )

    cdef int jump(
        self, Cursor *body, Header *header, const uint8_t *event, int64_t available, const uint8_t *tail, int64_t seen
    ) except -1 nogil:
        """Record the transaction at ``position`` by the length that its GTID event claims.

        Taken are only transactions whose kind two events tell: a single event behind the GTID event, or BEGIN
        as the second and XID as the last. ``tail`` begins where that XID event would and reaches to the header
        behind the transaction; NULL where the window is to show it. ``JUMP_NOT``: it has to be walked.
        """
        cdef Cursor gtid = body[0]
        cdef Transaction *current = &self.current
        cdef Header second
        cdef Cursor second_body
        cdef Header terminal
        cdef int64_t terminal_size = self.terminal_size()
        cdef int64_t landing
        cdef uint8_t event_class
        cdef uint8_t kind = KIND_DML
        self.start_transaction(header, self.position)
        current.start = -1
        self.read_gtid_event(&gtid, header)
        if (
            current.claimed_length < header.size + HEADER_SIZE + self.checksum_size
            or current.claimed_length < terminal_size
            or current.claimed_length > self.file_size - self.position
        ):
            return self.distrust()
        landing = self.position + current.claimed_length
        if tail == NULL:
            if current.claimed_length > available - HEADER_SIZE and self.position + available < self.file_size:
                self.beyond_end = landing
                return JUMP_BEYOND
            tail = event + current.claimed_length - terminal_size
            seen = available - current.claimed_length + terminal_size
        if header.size + HEADER_SIZE > available or not self.lands(tail + terminal_size, landing, seen - terminal_size):
            return self.distrust()
        second = header_of(event + header.size)
        if second.size < HEADER_SIZE + self.checksum_size or header.size + <int64_t> second.size > current.claimed_length:
            return self.distrust()
        second_body = cursor_over(
            event + header.size + HEADER_SIZE,
            min(<int64_t> second.size - self.checksum_size, available - header.size) - HEADER_SIZE,
            self.position + header.size + HEADER_SIZE,
        )
        classify(&second_body, &second, self.post_header, &event_class, &self.query_thread)
        current.begin_timestamp = second.timestamp
        if header.size + <int64_t> second.size == current.claimed_length:
            kind = self.lone_kind(event_class)
            if kind == NO_KIND:
                return self.distrust()
            if event_class == CLASS_PAYLOAD:
                read_payload_fields(&second_body, &self.current)
            terminal = second
        else:
            if event_class != CLASS_BEGIN or header.size + second.size + terminal_size > current.claimed_length:
                return self.distrust()
            terminal = header_of(tail)
            if (
                terminal.type != XID_EVENT
                or terminal.size != terminal_size
                or terminal.next_position != <uint32_t> landing
                or (
                    self.checksum_size
                    and crc32(0, tail, terminal_size - CHECKSUM_SIZE)
                    != <uint32_t> little(tail + terminal_size - CHECKSUM_SIZE, CHECKSUM_SIZE)
                )
            ):
                return self.distrust()
            current.xid = little(tail + HEADER_SIZE, 8)
            current.flags |= HAS_XID
        if second.type == QUERY_EVENT:
            current.thread_id = self.query_thread
            current.flags |= HAS_THREAD
        current.start = self.position
        self.push(kind, terminal.timestamp, landing)
        self.position = landing
        return JUMP_DONE

    cdef int64_t terminal_size(self) noexcept nogil:
        """Bytes of an XID event."""
        return HEADER_SIZE + 8 + self.checksum_size

    cdef bint lands(self, const uint8_t *landing, int64_t position, int64_t available) noexcept nogil:
        """Whether a plausible event, or the file's end, stands where a claimed length leads."""
        cdef Header header
        if position == self.file_size:
            return True
        if available < HEADER_SIZE:
            return False
        header = header_of(landing)
        return (
            (known_type(header.type) or header.flags & IGNORABLE_FLAG)
            and header.size >= HEADER_SIZE + self.checksum_size
            and header.size <= self.file_size - position
        )

    cdef int distrust(self) noexcept nogil:
        """Have the transaction at ``position`` walked event by event."""
        self.distrusted = self.position
        return JUMP_NOT

    cdef int lone_kind(self, uint8_t event_class) noexcept nogil:
        """The kind of a transaction whose only event behind the GTID event is of this class."""
        cdef int at = self.next_states[STATE_OUTSIDE * CLASSES + CLASS_GTID] * CLASSES + event_class
        return self.kinds[at] if self.actions[at] == ACTION_END else NO_KIND

    cdef int step(self, Cursor *body, Header *header, int64_t position, int64_t end) except -1 nogil:
        """Take one event through the state machine; an illegal one raises and changes nothing."""
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint8_t action
        cdef int at
        classify(body, header, self.post_header, &event_class, &self.query_thread)
        at = self.state * CLASSES + event_class
        action = self.actions[at]
        if action == ACTION_ILLEGAL:
            illegal(header, event_class, position, self.current.start)
        if action == ACTION_START or action == ACTION_START_END:
            self.start_transaction(header, position)
        if self.current.start >= 0:
            self.take_part(body, header, event_class)
        elif event_class == CLASS_CONTROL:
            self.note_control(header, position)
        self.state = self.next_states[at]
        if action == ACTION_END or action == ACTION_START_END:
            if end == INSIDE_PAYLOAD:
                self.inner_kind = self.kinds[at]
                self.inner_timestamp = header.timestamp
            else:
                self.push(self.kinds[at], header.timestamp, end)
        return 0

    cdef int start_transaction(self, const Header *header, int64_t position) except -1 nogil:
        memset(&self.current, 0, sizeof(Transaction))
        self.current.start = position
        self.current.server_id = header.server_id
        self.current.begin_timestamp = -1
        self.current.first_count = self.table.counts.size // <int64_t> sizeof(TableCount)
        self.content = 0
        self.ordinal += 1
        return 0

    cdef int take_part(self, Cursor *body, Header *header, uint8_t event_class) except -1 nogil:
        """What the events of a transaction add to its record."""
        cdef Transaction *current = &self.current
        current.events += 1
        if event_class == CLASS_GTID or event_class == CLASS_GTID_STANDALONE or event_class == CLASS_GTID_GROUP:
            self.read_gtid_event(body, header)
            return 0
        if current.begin_timestamp < 0:
            current.begin_timestamp = header.timestamp
        if header.type == QUERY_EVENT and not current.flags & HAS_THREAD:
            current.thread_id = self.query_thread
            current.flags |= HAS_THREAD
        if event_class == CLASS_ROWS or event_class == CLASS_ROWS_END:
            self.content += 1
            if self.level == LEVEL_TABLES:
                self.count_rows(body, header)
        elif event_class == CLASS_TABLE_MAP:
            self.content += 1
            if self.level == LEVEL_TABLES:
                self.maps.see(body, 4 if self.post_header[TABLE_MAP_EVENT] == 6 else 6, self.ordinal)
        elif event_class == CLASS_CHANGE or event_class == CLASS_STATEMENT or event_class == CLASS_LOAD_END:
            self.content += 1
            current.statements += 1
        elif header.type == XID_EVENT:
            current.xid = little(take(body, 8), 8)
            current.flags |= HAS_XID
        elif event_class == CLASS_PAYLOAD:
            self.content += 1
            read_payload_fields(body, &self.current)
        elif event_class == CLASS_INCIDENT or event_class == CLASS_CONTEXT:
            self.content += 1
        elif event_class == CLASS_MARKER:
            self.content += 1
            current.undoes_part |= is_rollback_to(body[0])
        return 0

    cdef int read_gtid_event(self, Cursor *body, const Header *header) except -1 nogil:
        cdef uint8_t flags = 0
        self.has_gtids = True
        if header.type == GTID_TAGGED_EVENT:
            read_tagged_gtid(body, &self.sources, &self.current)
        elif header.type == MARIADB_GTID_EVENT:
            read_mariadb_gtid(body, header.server_id, &self.sources, &self.current, &flags)
        else:
            read_gtid(body, header.type, &self.sources, &self.current)
        return 0

    cdef int begin_payload(self, Cursor *body, Header *header) except -1 nogil:
        """Take a payload event in whose inner events are still to be fed."""
        cdef int at = self.state * CLASSES + CLASS_PAYLOAD
        if self.actions[at] != ACTION_END:
            illegal(header, CLASS_PAYLOAD, self.position, self.current.start)
        read_payload_fields(body, &self.current)
        self.payload_size = header.size
        self.inner_kind = NO_KIND
        return 0

    cdef int push(self, uint8_t kind, uint32_t timestamp, int64_t end) except -1 nogil:
        """Add the current transaction to the table."""
        cdef Transaction *current = &self.current
        current.end = end
        current.kind = kind
        if kind == KIND_DML and self.content == 0 and current.events > 0:
            current.kind = KIND_EMPTY
        if current.begin_timestamp < 0:
            current.begin_timestamp = timestamp
        if not current.flags & COMMIT_TIME_FROM_GTID:
            current.commit_timestamp = <int64_t> timestamp * MICROSECONDS
        if current.claimed_length:
            current.flags |= BY_LENGTH if current.start + current.claimed_length == end else LENGTH_WRONG
        if self.level == LEVEL_TABLES:
            current.flags |= HAS_COUNTS
        append(&self.table.records, current, sizeof(Transaction))
        current.start = -1
        return 0

    cdef int count_rows(self, Cursor *body, Header *header) except -1 nogil:
        """Add a rows event to the counts of its transaction and table."""
        cdef RowsEvent rows
        cdef int64_t count
        open_rows(self.maps, body, header.type, self.post_header[header.type], self.ordinal, &rows)
        if rows.map < 0:
            return 0
        count = count_images(self.maps, body, &rows)
        self.current.rows += count
        return self.add_count(self.maps.layout(rows.map).table, rows.operation, count, header.size)

    cdef int add_count(self, int32_t table, int operation, int64_t rows, int64_t size) except -1 nogil:
        cdef Seen *seen
        cdef Seen fresh
        cdef TableCount blank
        cdef TableCount *count
        memset(&fresh, 0, sizeof(Seen))
        while self.last_counts.size // <int64_t> sizeof(Seen) <= table:
            append(&self.last_counts, &fresh, sizeof(Seen))
        seen = (<Seen *> self.last_counts.data) + table
        if seen.ordinal != self.ordinal:
            memset(&blank, 0, sizeof(TableCount))
            blank.table = table
            seen.ordinal = self.ordinal
            seen.index = self.current.counts
            self.current.counts += 1
            append(&self.table.counts, &blank, sizeof(TableCount))
        count = (<TableCount *> self.table.counts.data) + self.current.first_count + seen.index
        count.bytes += size
        if operation == 0:
            count.inserts += rows
        elif operation == 1:
            count.updates += rows
        else:
            count.deletes += rows
        return 0

    cdef int note_control(self, Header *header, int64_t position) except -1 with gil:
        """Remember where events about the file itself stand, for Python to read."""
        from binx.errors import UnsupportedError

        if header.type == MARIADB_START_ENCRYPTION_EVENT or header.type == PERCONA_START_ENCRYPTION_EVENT:
            server, program = (
                ("MariaDB", "mariadb-binlog")
                if header.type == MARIADB_START_ENCRYPTION_EVENT
                else ("Percona Server", "mysqlbinlog")
            )
            raise UnsupportedError(
                f"the rest of the file is encrypted by {server}; binx has no key for it: let the server decrypt it"
                f" ({program} --read-from-remote-server)",
                offset=position,
                event="START_ENCRYPTION",
            )
        if len(self.controls) == CONTROLS_MAXIMUM:
            self.controls.pop()
        self.controls.append((header.type, position, header.size))
        return 0

    @property
    def open_transaction(self):
        """Where the transaction begins that has no end yet, or None."""
        return self.current.start if self.current.start >= 0 else None

    @property
    def is_seeking(self):
        """Whether the beginning of a transaction is still looked for."""
        return self.seeking

    def open_gtid(self):
        """The GTID of the transaction that has no end yet, or None."""
        cdef TransactionTable alone
        if self.current.start < 0 or self.position <= self.current.start:
            return None
        alone = TransactionTable()
        alone.sources = &self.sources
        alone.owner = self
        append(&alone.records, &self.current, sizeof(Transaction))
        return alone.gtid(0)

    @property
    def control_events(self):
        """Type, position and size of the events about the file itself that stood between transactions.

        The last one is always among them; of more than 4,096, those before it are left out.
        """
        return self.controls

    def type_totals(self):
        """Events and bytes by event type, as far as the walk has seen them: {type: (events, bytes)}."""
        return {i: (self.type_counts[i], self.type_bytes[i]) for i in range(256) if self.type_counts[i]}

    def inner_type_totals(self):
        """Events within compressed payloads, by event type."""
        return {i: self.inner_type_counts[i] for i in range(256) if self.inner_type_counts[i]}
