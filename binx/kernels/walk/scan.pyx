# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scan a log file's events for transactions.

There are three levels: ``LEVEL_INDEX`` jumps from GTID event to GTID event if they hold the transaction's
length; ``LEVEL_EVENTS`` reads every header; ``LEVEL_TABLES`` also counts row images per
table.

The scan stops with a reason (``Stop``) if Python must help: a format description within the file, a
compressed payload or rows event whose content must be counted, a piece of a rows event, the end of the window or of the file.

A state machine finds the boundaries of transactions and writes their records; its transitions are the
table in ``binx/log/boundary.py``.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libc.string cimport memset

from binx.kernels.calendar cimport SECOND
from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.hashing cimport Slots, known_slot, slot_of, slots_release
from binx.kernels.output cimport Output, append, release, reserve, with_slack
from binx.kernels.rows.counting cimport RowsEvent, count_images, open_rows
from binx.kernels.rows.layouts cimport TableMaps
from binx.kernels.transactions.table cimport *
from binx.kernels.transactions.wanted cimport Span, Wanted
from binx.kernels.walk.classify cimport (
    AT_EVENT,
    bad_checksum,
    classify,
    frame_event,
    illegal,
    read_payload_fields,
    stored_checksum,
    whole_event,
)
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport take_gtid
from binx.kernels.walk.jump cimport JUMP_BEYOND, JUMP_DONE, distrust, jump, terminal_bytes
from binx.kernels.walk.framing cimport OpenedPayloads
from binx.kernels.walk.search cimport pass_over, skips
from binx.kernels.walk.statements cimport is_rollback_to, take_query_head
from binx.kernels.walk.text_search cimport Needle, contains, is_ascii, prepare_needle, take_text


cdef enum:
    # Servers write a handful per file; a crafted file must not exhaust memory.
    CONTROLS_MAXIMUM = 4096
    # Bytes of the distinct sessions that are remembered; then all are forgotten.
    SESSIONS_MAXIMUM = 16 << 20
    # Thread ID and execution time, before what a QUERY event's parser may reject.
    QUERY_TIMES = 8
    # INTVAR, RAND and the texts of statements are rejected for their sizes only.
    SIZED_MAXIMUM = 32

cdef struct Seen:
    int64_t ordinal
    int64_t index


def unexpected_piece(
    uint32_t piece, uint32_t pieces, uint32_t found, uint32_t of_found, uint8_t event_type, int64_t position
):
    from binx.errors import DamagedError

    wanted = f"piece {piece} of {pieces}" if pieces else "piece 1"
    what = f"piece {found} of {of_found}" if event_type == MARIADB_PARTIAL_ROW_DATA_EVENT else f"event type {event_type}"
    return DamagedError(
        f"expected {wanted} of a rows event, found {what}", offset=position, event="MARIADB_PARTIAL_ROW_DATA"
    )


cdef int bad_piece(
    uint32_t piece, uint32_t pieces, uint32_t found, uint32_t of_found, uint8_t type, int64_t position
) except -1 with gil:
    raise unexpected_piece(piece, pieces, found, of_found, type, position)


cdef class TransactionMachine:
    def __init__(self, tuple transitions, bint counts_rows):
        self.transitions = transitions
        self.actions = <const uint8_t *> PyBytes_AS_STRING(transitions[0])
        self.next_states = <const uint8_t *> PyBytes_AS_STRING(transitions[1])
        self.kinds = <const uint8_t *> PyBytes_AS_STRING(transitions[2])
        self.counts_rows = counts_rows
        self.maps = TableMaps()
        self.state = STATE_OUTSIDE
        self.controls = []
        self.uncounted = {}
        self.current.start = -1
        self.new_table()

    def __dealloc__(self):
        slots_release(&self.sources)
        slots_release(&self.sessions)
        release(&self.last_counts)
        release(&self.needles)

    def new_table(self):
        cdef TransactionTable filled = self.table
        self.table = TransactionTable()
        self.table.sources = &self.sources
        self.table.tables = &self.maps.names
        self.table.owner = self
        if filled is not None:
            self.table.records.expected = with_slack(filled.records.size)
            self.table.counts.expected = with_slack(filled.counts.size)
        if self.current.start >= 0:
            self.carry_counts(filled)
        return filled

    cdef carry_counts(self, TransactionTable filled):
        """Move the counts of a transaction that is still open to the next table."""
        cdef int64_t size = self.current.counts * <int64_t> sizeof(TableCount)
        append(&self.table.counts, filled.counts.data + self.current.first_count * sizeof(TableCount), size)
        filled.counts.size -= size
        self.current.first_count = 0

    cdef int step(self, Cursor *body, Header *header, int64_t position, int64_t end) except -1 nogil:
        """Advance the state machine by one event; an illegal event raises and changes nothing."""
        cdef uint8_t event_class = CLASS_UNKNOWN
        cdef uint8_t action
        cdef int transition
        classify(body, header, self.post_header, &event_class, &self.query_thread)
        transition = self.state * CLASSES + event_class
        action = self.actions[transition]
        if action == ACTION_ILLEGAL:
            illegal(header, event_class, position, self.current.start)
        if self.pieces or header.type == MARIADB_PARTIAL_ROW_DATA_EVENT:
            self.check_pieces(body, header, event_class, position)
        if action == ACTION_START or action == ACTION_START_END:
            self.start_transaction(header, position)
        if self.shows_events:
            self.show_event(body, header, position)
        if self.current.start >= 0:
            if self.needles.size:
                self.search_statement(body, header)
            self.take_part(body, header, event_class)
        elif event_class == CLASS_CONTROL:
            self.note_control(header, position)
        self.state = self.next_states[transition]
        if action == ACTION_END or action == ACTION_START_END:
            if end == INSIDE_PAYLOAD:
                self.inner_kind = self.kinds[transition]
                self.inner_timestamp = header.timestamp
            else:
                self.push(self.kinds[transition], header.timestamp, end)
        return 0

    @cython.final
    cdef int check_pieces(self, Cursor *body, const Header *header, uint8_t event_class, int64_t position) except -1 nogil:
        """Check that the pieces of a rows event follow one another; only events about files may stand between them."""
        cdef Cursor fields = body[0]
        cdef uint32_t piece = 0
        cdef uint32_t pieces = 0
        if header.type == MARIADB_PARTIAL_ROW_DATA_EVENT:
            piece = <uint32_t> little(take(&fields, 4), 4)
            pieces = <uint32_t> little(take(&fields, 4), 4)
        elif event_class == CLASS_CONTROL:
            return 0
        if piece != self.piece + 1 or piece > pieces or (self.pieces and pieces != self.pieces):
            bad_piece(self.piece + 1, self.pieces, piece, pieces, header.type, position)
        self.piece = piece if piece < pieces else 0
        self.pieces = pieces if piece < pieces else 0
        return 0

    @cython.final
    cdef int start_transaction(self, const Header *header, int64_t position) except -1 nogil:
        memset(&self.current, 0, sizeof(Transaction))
        self.current.start = position
        self.current.text = TEXT_ABSENT if self.needles.size else TEXT_UNKNOWN
        self.current.server_id = header.server_id
        self.current.begin_timestamp = -1
        self.current.first_count = self.table.counts.size // <int64_t> sizeof(TableCount)
        self.content = 0
        self.ordinal += 1
        return 0

    @cython.final
    cdef int take_part(self, Cursor *body, Header *header, uint8_t event_class) except -1 nogil:
        """Add an event's facts to its transaction's record."""
        cdef Transaction *current = &self.current
        current.events += 1
        if event_class == CLASS_GTID or event_class == CLASS_GTID_STANDALONE or event_class == CLASS_GTID_GROUP:
            self.has_gtids = True
            take_gtid(body, header, &self.sources, &self.current)
            return 0
        if current.begin_timestamp < 0:
            current.begin_timestamp = header.timestamp
        if header.type == QUERY_EVENT and not current.flags & HAS_THREAD:
            current.thread_id = self.query_thread
            current.flags |= HAS_THREAD
        if event_class == CLASS_ROWS or event_class == CLASS_ROWS_END:
            self.content += 1
            # Those in pieces are counted when Python has joined them.
            if self.counts_rows and header.type != MARIADB_PARTIAL_ROW_DATA_EVENT:
                self.count_rows(body, header)
        elif event_class == CLASS_TABLE_MAP:
            self.content += 1
            if self.counts_rows:
                self.maps.see(body, table_id_width(self.post_header[TABLE_MAP_EVENT]), self.ordinal)
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

    def search_texts(self, list texts):
        cdef Needle needle
        cdef bytes text
        self.texts = texts
        for text in texts:
            prepare_needle(&needle, <const uint8_t *> PyBytes_AS_STRING(text), len(text))
            append(&self.needles, &needle, sizeof(Needle))

    @cython.final
    cdef int search_statement(self, const Cursor *body, const Header *header) except -1 nogil:
        """Search a statement's text.

        Only Python knows the character sets of texts that are not ASCII, and can decompress others.
        """
        cdef Cursor text = body[0]
        cdef const uint8_t *start
        cdef int64_t i
        if self.current.text == TEXT_FOUND:
            return 0
        if header.type == MARIADB_QUERY_COMPRESSED_EVENT or header.type == TRANSACTION_PAYLOAD_EVENT:
            self.current.text = TEXT_POSSIBLE
            return 0
        if not take_text(&text, header.type):
            return 0
        start = text.base + text.position
        if not is_ascii(start, remaining(&text)):
            self.current.text = TEXT_POSSIBLE
            return 0
        for i in range(self.needles.size // <int64_t> sizeof(Needle)):
            if contains(start, remaining(&text), (<const Needle *> self.needles.data) + i):
                # Besides its text, EXECUTE_LOAD_QUERY has a session, which is searched too.
                self.current.text = TEXT_POSSIBLE if header.type == EXECUTE_LOAD_QUERY_EVENT else TEXT_FOUND
                return 0
        return 0

    def show_events(self, reader):
        self.reader = reader
        self.shows_events = True

    @cython.final
    cdef int show_event(self, const Cursor *body, const Header *header, int64_t position) except -1 nogil:
        """Pass an event that the machine itself does not parse to the reader.

        Of events that differ only in what their parser does not look at, such as the text of statements, the
        reader gets the first.
        """
        cdef uint8_t type = header.type
        cdef Cursor head = body[0]
        cdef int64_t size = remaining(body)
        if (
            begins_transaction(type)
            or type == XID_EVENT
            or type == TABLE_MAP_EVENT
            or type == TRANSACTION_PAYLOAD_EVENT
            or type == MARIADB_PARTIAL_ROW_DATA_EVENT
            or rows_operation(type) >= 0
        ):
            return 0
        if type == QUERY_EVENT:
            take_query_head(&head)
            if known_slot(&self.sessions, body.base + QUERY_TIMES, head.position - QUERY_TIMES) >= 0:
                return 0
            if self.sessions.bytes.size > SESSIONS_MAXIMUM:
                slots_release(&self.sessions)
            slot_of(&self.sessions, body.base + QUERY_TIMES, head.position - QUERY_TIMES)
        elif (
            type == INTVAR_EVENT
            or type == RAND_EVENT
            or type == ROWS_QUERY_EVENT
            or type == MARIADB_ANNOTATE_ROWS_EVENT
        ):
            size = min(size, SIZED_MAXIMUM - 1)
            if self.sizes_shown[type] >> size & 1:
                return 0
            self.sizes_shown[type] |= <uint32_t> 1 << size
        self.pass_to_reader(body, position)
        return 0

    @cython.final
    cdef int pass_to_reader(self, const Cursor *body, int64_t position) except -1 with gil:
        cdef const char *event = <const char *> body.base - HEADER_SIZE
        self.reader(PyBytes_FromStringAndSize(event, HEADER_SIZE + body.size), position)
        return 0

    @cython.final
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
            current.commit_timestamp = <int64_t> timestamp * SECOND
        if current.claimed_length:
            current.flags |= BY_LENGTH if current.start + current.claimed_length == end else LENGTH_WRONG
        if self.counts_rows:
            current.flags |= HAS_COUNTS
        append(&self.table.records, current, sizeof(Transaction))
        current.start = -1
        return 0

    @cython.final
    cdef int count_rows(self, Cursor *body, Header *header) except -1 nogil:
        """Add a rows event to the counts of its transaction and table.

        If the size of a column's values is unknown, only the event's bytes are counted.
        """
        cdef RowsEvent rows
        cdef int64_t count
        cdef int32_t table
        open_rows(self.maps, body, header.type, self.post_header[header.type], self.ordinal, &rows)
        if rows.map < 0:
            self.unmapped += rows.unmapped
            return 0
        table = self.maps.layout(rows.map).table
        count = count_images(self.maps, body, &rows)
        if count < 0:
            with gil:
                self.uncounted[table] = self.uncounted.get(table, 0) + 1
            count = 0
        self.current.rows += count
        return self.add_count(table, rows.operation, count, header.size)

    @cython.final
    cdef int add_count(self, int32_t table, int operation, int64_t rows, int64_t size) except -1 nogil:
        cdef Output *counts = &self.table.counts
        cdef Seen *seen
        cdef TableCount *count
        if (<int64_t> table + 1) * <int64_t> sizeof(Seen) > self.last_counts.size:
            self.add_seen(table)
        seen = (<Seen *> self.last_counts.data) + table
        if seen.ordinal != self.ordinal:
            seen.ordinal = self.ordinal
            seen.index = self.current.counts
            self.current.counts += 1
            reserve(counts, sizeof(TableCount))
            count = <TableCount *> (counts.data + counts.size)
            memset(count, 0, sizeof(TableCount))
            count.table = table
            counts.size += sizeof(TableCount)
        count = (<TableCount *> counts.data) + self.current.first_count + seen.index
        count.bytes += size
        # Without branches, as processors cannot predict the operation.
        count.inserts += rows & -<int64_t> (operation == 0)
        count.updates += rows & -<int64_t> (operation == 1)
        count.deletes += rows & -<int64_t> (operation == 2)
        return 0

    @cython.final
    cdef int add_seen(self, int32_t table) except -1 nogil:
        """Add entries for all tables up to this number."""
        cdef Seen fresh
        memset(&fresh, 0, sizeof(Seen))
        while self.last_counts.size // <int64_t> sizeof(Seen) <= table:
            append(&self.last_counts, &fresh, sizeof(Seen))
        return 0

    cdef int note_control(self, Header *header, int64_t position) except -1 with gil:
        """Record the offsets of events about the file itself, for Python to read."""
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

    def uncounted_events(self, int32_t table) -> int:
        return self.uncounted.get(table, 0)

    @property
    def open_transaction(self):
        return self.current.start if self.current.start >= 0 else None

    @property
    def control_events(self):
        return self.controls


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
