# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scan a log file's events for transactions.

There are three levels: ``LEVEL_INDEX`` jumps from GTID event to GTID event if they hold the transaction's
length; ``LEVEL_EVENTS`` reads every header; ``LEVEL_TABLES`` also counts row images per
table.

The scan stops with a reason (``Stop``) if Python must help: a format description within the file, a
compressed payload or rows event whose content must be counted, a piece of a rows event, the end of the window or of the file.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over
from binx.kernels.hashing cimport slot_of
from binx.kernels.output cimport append, release
from binx.kernels.transactions.table cimport TableCount, Transaction, TransactionTable
from binx.kernels.walk.classify cimport (
    AT_EVENT,
    bad_checksum,
    frame_event,
    illegal,
    read_payload_fields,
    stored_checksum,
    whole_event,
)
from binx.kernels.walk.payloads cimport OpenedPayloads
from binx.kernels.walk.events cimport *
from binx.kernels.walk.jump cimport JUMP_BEYOND, JUMP_DONE, distrust, jump, terminal_bytes
from binx.kernels.walk.machine cimport *
from binx.kernels.walk.search cimport pass_over, skips
from binx.kernels.transactions.wanted cimport Span, Wanted


cdef int bad_inner(const char *found, int64_t position) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected one whole transaction in the compressed payload, found {found.decode()}",
        offset=position,
        event="TRANSACTION_PAYLOAD",
    )


cdef class Scanner(TransactionMachine):
    def __cinit__(self, *_):
        self.resumed = -1

    def __dealloc__(self):
        release(&self.wanted.bounds)
        release(&self.wanted.spans)

    def __init__(self, int level, int64_t file_size, int64_t position, tuple transitions, bint verify):
        super().__init__(transitions, level == LEVEL_TABLES)
        self.file_size = file_size
        self.position = position
        self.distrusted = -1
        self.level = level
        self.verify = verify
        self.vouched = -1
        self.first_misplaced = -1
        self.opened = OpenedPayloads(b"", [])

    def set_format(self, int checksum_size, const uint8_t[::1] post_header):
        set_post_header(self.post_header, &post_header[0], post_header.shape[0])
        self.maps.set_format(post_header.shape[0])
        self.checksum_size = checksum_size

    def skip(self, int64_t size, uint8_t event_type):
        self.pass_event(size, event_type)

    @cython.final
    cdef void pass_event(self, int64_t size, uint8_t event_type) noexcept nogil:
        """Count an event of the current transaction, and go on after it."""
        self.position += size
        self.type_counts[event_type] += 1
        self.type_bytes[event_type] += size
        if self.current.start >= 0:
            self.current.events += 1

    def search(self, dict intervals):
        cdef bytes key
        cdef bytes packed
        cdef Span span
        for key, packed in intervals.items():
            span.first = self.wanted.bounds.size // 16
            span.count = len(packed) // 16
            if slot_of(&self.sources, <const uint8_t *> PyBytes_AS_STRING(key), len(key)) != self.wanted.spans.size // <int64_t> sizeof(Span):
                raise ValueError("the walk has begun")
            append(&self.wanted.bounds, PyBytes_AS_STRING(packed), span.count * 16)
            append(&self.wanted.spans, &span, sizeof(Span))
        self.searching = True

    def seek(self, int64_t position, bint named):
        if self.current.start >= 0:
            self.table.counts.size = self.current.first_count * sizeof(TableCount)
            self.current.start = -1
        self.state = STATE_OUTSIDE
        self.distrusted = -1
        self.position = position
        self.seeking = True
        self.named = named
        self.resumed = -1
        self.piece = self.pieces = 0

    @property
    def is_seeking(self):
        return self.seeking

    def feed(self, const uint8_t[::1] window, int64_t origin, int64_t limit):
        cdef int stop
        if window.shape[0] == 0:
            return STOP_END if self.position >= self.file_size else STOP_LIMIT
        with nogil:
            stop = self.walk(&window[0], window.shape[0], origin, limit)
        return stop

    def vouch(self, uint32_t stored, uint32_t found):
        self.vouched = self.position
        self.vouched_stored = stored
        self.vouched_found = found

    @property
    def beyond(self):
        return self.beyond_end - terminal_bytes(self), min(self.beyond_end + HEADER_SIZE, self.file_size)

    def feed_beyond(self, const uint8_t[::1] window not None, const uint8_t[::1] tail not None):
        cdef Header header
        cdef Cursor body
        cdef tuple span = self.beyond
        if window.shape[0] < HEADER_SIZE or tail.shape[0] != span[1] - span[0]:
            raise ValueError("the windows do not show the transaction's ends")
        with nogil:
            header = header_of(&window[0])
            if header.size < HEADER_SIZE + self.checksum_size or header.size > window.shape[0]:
                distrust(self)
            else:
                body = body_of(&window[0], &header, header.size, self.checksum_size, self.position)
                jump(self, &body, &header, &window[0], window.shape[0], &tail[0], tail.shape[0])

    def open_payloads(self, OpenedPayloads opened not None):
        self.opened = opened

    def feed_inner(self, const uint8_t[::1] events not None):
        if events.shape[0]:
            with nogil:
                self.walk_inner(&events[0], events.shape[0])

    @cython.final
    cdef int walk_inner(self, const uint8_t *events, int64_t length) except -1 nogil:
        """Walk the events in a payload, or some of them."""
        cdef int64_t at = 0
        cdef int64_t size
        cdef Header header
        cdef Cursor body
        while at < length:
            size = whole_event(events, length, at)
            if size <= 0:
                bad_inner(b"an event that is cut", self.position)
            header = header_of(events + at)
            if self.inner_kind != NO_KIND:
                bad_inner(b"events behind the end of the transaction", self.position)
            if (
                header.type == TRANSACTION_PAYLOAD_EVENT
                or MARIADB_QUERY_COMPRESSED_EVENT <= header.type <= MARIADB_PARTIAL_ROW_DATA_EVENT
            ):
                bad_inner(b"a compressed event within it", self.position)
            body = cursor_over(events + at + HEADER_SIZE, size - HEADER_SIZE, self.position)
            self.step(&body, &header, self.position, INSIDE_PAYLOAD)
            self.inner_type_counts[header.type] += 1
            at += size
        return 0

    def end_payload(self):
        with nogil:
            self.close_payload()

    @cython.final
    cdef int close_payload(self) except -1 nogil:
        """End the transaction whose events were in a payload."""
        if self.inner_kind == NO_KIND:
            bad_inner(b"one without its end", self.position)
        self.push(self.inner_kind, self.inner_timestamp, self.position + self.payload_size)
        self.pass_event(self.payload_size, TRANSACTION_PAYLOAD_EVENT)
        return 0

    def feed_replacement(self, const uint8_t[::1] event, int64_t size):
        cdef Cursor body
        cdef Header header
        if event.shape[0] < HEADER_SIZE:
            raise ValueError("no event")
        body = cursor_over(&event[0] + HEADER_SIZE, event.shape[0] - HEADER_SIZE, self.position)
        with nogil:
            header = header_of(&event[0])
            self.step(&body, &header, self.position, self.position + size)
        self.type_counts[self.pending_type] += 1
        self.type_bytes[self.pending_type] += size
        self.position += size

    def pass_piece(self, int64_t size, const uint8_t[::1] joined):
        cdef Cursor body
        cdef Header header
        if joined is not None:
            if joined.shape[0] < HEADER_SIZE:
                raise ValueError("no event")
            body = cursor_over(&joined[0] + HEADER_SIZE, joined.shape[0] - HEADER_SIZE, self.position)
            with nogil:
                header = header_of(&joined[0])
                self.count_rows(&body, &header)
        self.type_counts[MARIADB_PARTIAL_ROW_DATA_EVENT] += 1
        self.type_bytes[MARIADB_PARTIAL_ROW_DATA_EVENT] += size
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
        cdef int framed
        cdef const uint8_t *events
        cdef int64_t length = 0
        self.in_payload = False
        while self.position < limit:
            framed = frame_event(
                base, size, origin, self.position, self.file_size, self.checksum_size, self.vouched, False, &header
            )
            if framed != AT_EVENT:
                return framed
            event = base + (self.position - origin)
            available = window_end - self.position
            if self.verify and self.checksum_size:
                if header.size > available:
                    expected = self.vouched_stored
                    found = self.vouched_found
                else:
                    expected = stored_checksum(event, header.size)
                    found = crc32(0, event, header.size - CHECKSUM_SIZE)
                if expected != found:
                    bad_checksum(&header, expected, found, self.position)
            self.compare_position(&header)
            body = body_of(event, &header, available, self.checksum_size, self.position)
            if self.seeking and skips(self, &body, &header):
                self.position += header.size
                continue
            if (
                self.searching
                and self.level == LEVEL_INDEX
                and self.state == STATE_OUTSIDE
                and self.position != self.distrusted
                and begins_transaction(header.type)
            ):
                jumped = pass_over(self, &body, &header, event, available)
                if jumped == JUMP_DONE:
                    continue
                if jumped == JUMP_BEYOND and self.position != origin:
                    return STOP_LIMIT
            if (
                self.level == LEVEL_INDEX
                and self.state == STATE_OUTSIDE
                and self.position != self.distrusted
                and is_mysql_gtid(header.type)
            ):
                jumped = jump(self, &body, &header, event, available, NULL, 0)
                if jumped == JUMP_DONE:
                    continue
                if jumped == JUMP_BEYOND:
                    return STOP_BEYOND
            if self.level == LEVEL_TABLES:
                if header.type == TRANSACTION_PAYLOAD_EVENT:
                    self.in_payload = True
                    self.begin_payload(&body, &header)
                    events = self.opened.find(self.position, &length)
                    if events == NULL:
                        self.in_payload = False
                        return STOP_PAYLOAD
                    self.walk_inner(events, length)
                    self.close_payload()
                    self.in_payload = False
                    continue
                if is_compressed_rows(header.type):
                    self.pending_type = header.type
                    return STOP_COMPRESSED_ROWS
            self.step(&body, &header, self.position, self.position + header.size)
            if header.type == MARIADB_PARTIAL_ROW_DATA_EVENT and self.level == LEVEL_TABLES:
                return STOP_PARTIAL_ROWS
            self.type_counts[header.type] += 1
            self.type_bytes[header.type] += header.size
            self.position += header.size
        return STOP_END if self.position >= self.file_size else STOP_LIMIT

    @cython.final
    cdef void compare_position(self, const Header *header) noexcept nogil:
        """Compare the position in a header with the event's end."""
        cdef uint32_t end = <uint32_t> (self.position + header.size)
        if header.next_position == 0:
            self.unplaced += 1
            return
        self.drift = header.next_position - end
        if self.drift:
            if self.misplaced == 0:
                self.first_misplaced = self.position
            self.misplaced += 1

    cdef int begin_payload(self, Cursor *body, Header *header) except -1 nogil:
        """Begin a payload event, whose inner events follow separately."""
        cdef int transition = self.state * CLASSES + CLASS_PAYLOAD
        if self.actions[transition] != ACTION_END:
            illegal(header, CLASS_PAYLOAD, self.position, self.current.start)
        read_payload_fields(body, &self.current)
        self.payload_size = header.size
        self.inner_kind = NO_KIND
        return 0

    def open_gtid(self):
        cdef TransactionTable alone
        if self.current.start < 0 or self.position <= self.current.start:
            return None
        alone = TransactionTable()
        alone.sources = &self.sources
        alone.owner = self
        append(&alone.records, &self.current, sizeof(Transaction))
        return alone.gtid(0)

    def type_totals(self):
        return {i: (self.type_counts[i], self.type_bytes[i]) for i in range(256) if self.type_counts[i]}

    def inner_type_totals(self):
        return {i: self.inner_type_counts[i] for i in range(256) if self.inner_type_counts[i]}
