# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Jumps from GTID event to GTID event, where the transaction's length is written there and can be trusted."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.walk.machine cimport *
from binx.kernels.walk.classify cimport classify, read_payload_fields
from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport take_gtid
from binx.kernels.walk.machine cimport NO_KIND, TransactionMachine
from binx.kernels.transactions.table cimport *


cdef class JumpingWalk(TransactionMachine):
    """A place in a file, and the transactions behind it that can be taken by their length.

    Args:
        file_size: bytes of the file.
        position: where the first event stands.
        transitions, counts_rows: see :class:`TransactionMachine`.
    """

    def __init__(self, int64_t file_size, int64_t position, tuple transitions, bint counts_rows):
        super().__init__(transitions, counts_rows)
        self.file_size = file_size
        self.position = position
        self.distrusted = -1

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
        self.has_gtids = True
        take_gtid(&gtid, header, &self.sources, current)
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
