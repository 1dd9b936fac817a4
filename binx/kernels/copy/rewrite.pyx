# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Copy runs of events into a new binary log with new positions and checksums.

An event is copied in pieces: its header is rewritten, its body streams from the source's window into a
buffer that the caller empties, and its checksum ends it. Memory stays at the buffer's size even for large
events and transactions, and the source's checksum and the new one are computed during the copy.
For a verbatim copy, events are only checked here, and the caller writes the window's own bytes.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.crc32 cimport crc32
from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.walk.events cimport *
from binx.kernels.walk.gtids cimport CLOCK_OFFSET, CLOCK_SIZE, LOGICAL_CLOCK

cpdef enum Pause:
    PAUSE_DONE = 0
    PAUSE_WINDOW = 1
    PAUSE_FULL = 2
    PAUSE_GTID = 3
    PAUSE_CONTROL = 4

cdef enum:
    SIZE_OFFSET = 9
    NEXT_POSITION_OFFSET = 13
    GTID_HEAD_SIZE = HEADER_SIZE + CLOCK_OFFSET + CLOCK_SIZE
    BETWEEN_EVENTS = -1
    NO_PAUSE = 5
    SMALLEST_BUFFER = 4096

cdef inline void store(uint8_t *data, uint64_t value, int width) noexcept nogil:
    """An unsigned little-endian integer into ``width`` bytes."""
    cdef int i
    for i in range(width):
        data[i] = <uint8_t> (value >> (8 * i))


cdef int misfit(int64_t size, int checksum_size, int64_t position, int64_t stop) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected an event of {HEADER_SIZE + checksum_size} to {stop - position} bytes, found one of {size}: the"
        " transaction's events do not fit between its ends",
        offset=position,
    )


@cython.final
cdef class Rewriter:
    cdef readonly int64_t position
    cdef readonly int64_t written
    cdef readonly int64_t events
    cdef readonly int64_t renumbered
    cdef object memory
    cdef uint8_t[::1] buffer
    cdef int64_t filled
    cdef int checksum_size
    cdef bint verbatim
    cdef bint serial
    cdef bint verify
    cdef int source_checksum_size
    cdef bint zero_positions_stay
    cdef int64_t event_start
    cdef int64_t left
    cdef uint32_t source_sum
    cdef uint32_t sum

    def __init__(self, int64_t capacity, int checksum_size, bint verbatim, bint serial, bint verify):
        self.memory = bytearray(max(capacity, SMALLEST_BUFFER))
        self.buffer = self.memory
        self.checksum_size = checksum_size
        self.verbatim = verbatim
        self.serial = serial
        self.verify = verify
        self.left = BETWEEN_EVENTS

    def begin_source(self, int checksum_size, bint zero_positions_stay):
        self.source_checksum_size = checksum_size
        self.zero_positions_stay = zero_positions_stay

    def seek(self, int64_t position):
        if self.left != BETWEEN_EVENTS:
            raise ValueError("an event is being copied")
        self.position = position

    def pending(self):
        return memoryview(self.memory)[: self.filled]

    def clear(self):
        self.filled = 0

    def next_sequence_number(self):
        self.renumbered += 1
        return self.renumbered

    def put_bytes(self, const uint8_t[::1] data not None):
        if data.shape[0] > self.room():
            raise ValueError("the buffer has no room; empty it first")
        if data.shape[0]:
            self.put(&data[0], data.shape[0])

    def put_event(self, const uint8_t[::1] event not None, int checksum_size):
        cdef int64_t size = event.shape[0] + checksum_size
        cdef int64_t at = self.filled
        if event.shape[0] < HEADER_SIZE or size > self.room():
            raise ValueError("no event, or the buffer has no room for it; empty it first")
        self.put(&event[0], event.shape[0])
        store(&self.buffer[at + SIZE_OFFSET], <uint64_t> size, 4)
        store(&self.buffer[at + NEXT_POSITION_OFFSET], <uint64_t> (self.written + checksum_size), 4)
        if checksum_size:
            self.put_sum(crc32(0, &self.buffer[at], event.shape[0]))
        self.events += 1

    def feed(self, const uint8_t[::1] window not None, int64_t origin, int64_t stop, bint hold_gtids):
        cdef int64_t skipped = self.position - origin
        cdef Cursor source
        cdef int pause
        if skipped < 0 or skipped > window.shape[0]:
            raise ValueError("the window does not hold the position")
        if window.shape[0] == 0:
            return PAUSE_DONE if self.position == stop else PAUSE_WINDOW
        source = cursor_over(&window[0], window.shape[0], origin)
        with nogil:
            take(&source, skipped)
            pause = self.copy(&source, stop, hold_gtids)
        return pause

    cdef int64_t room(self) noexcept nogil:
        """Bytes that the buffer has left."""
        return self.buffer.shape[0] - self.filled

    cdef int put(self, const uint8_t *data, int64_t size) except -1 nogil:
        """Append bytes to the buffer: the only place that writes to it."""
        if size > self.room():
            self.overflow()
        memcpy(&self.buffer[0] + self.filled, data, size)
        self.filled += size
        self.written += size
        return 0

    cdef int put_sum(self, uint32_t sum) except -1 nogil:
        """Append a checksum."""
        cdef uint8_t trailer[CHECKSUM_SIZE]
        store(trailer, sum, CHECKSUM_SIZE)
        return self.put(trailer, CHECKSUM_SIZE)

    cdef int copy(self, Cursor *source, int64_t stop, bint hold_gtids) except -1 nogil:
        """Copy until something else has to be done; ``position`` keeps up with the cursor."""
        cdef int pause
        cdef int64_t count
        cdef const uint8_t *data
        while True:
            if self.left == BETWEEN_EVENTS:
                pause = self.begin(source, stop, hold_gtids)
                if pause != NO_PAUSE:
                    return pause
            count = min(self.left, remaining(source))
            if not self.verbatim:
                count = min(count, self.room())
            data = take(source, count)
            if not self.verbatim:
                self.put(data, count)
            if self.verify and self.source_checksum_size:
                self.source_sum = crc32(self.source_sum, data, count)
            if self.checksum_size and not self.verbatim:
                self.sum = crc32(self.sum, data, count)
            self.left -= count
            self.position += count
            if self.left:
                return PAUSE_WINDOW if remaining(source) == 0 else PAUSE_FULL
            pause = self.finish(source)
            if pause != NO_PAUSE:
                return pause

    cdef int begin(self, Cursor *source, int64_t stop, bint hold_gtids) except -1 nogil:
        """Copy an event's head: the header, and a GTID event's clock."""
        cdef Cursor ahead = source[0]
        cdef Header header
        cdef int64_t head_size = HEADER_SIZE
        cdef int64_t content
        cdef uint8_t head[GTID_HEAD_SIZE]
        if self.position >= stop:
            return PAUSE_DONE
        if stop - self.position < HEADER_SIZE:
            misfit(HEADER_SIZE, self.source_checksum_size, self.position, stop)
        if remaining(source) < HEADER_SIZE:
            return PAUSE_WINDOW
        header = header_of(take(&ahead, HEADER_SIZE))
        if not fits_file(&header, self.position, stop, self.source_checksum_size):
            misfit(header.size, self.source_checksum_size, self.position, stop)
        if not self.verbatim:
            if is_about_files(header.type):
                return PAUSE_CONTROL
            if is_mysql_gtid(header.type) and (hold_gtids or (self.serial and header.type == GTID_TAGGED_EVENT)):
                return PAUSE_GTID
        content = header.size - self.source_checksum_size
        if self.serial and is_mysql_gtid(header.type):
            head_size = min(<int64_t> GTID_HEAD_SIZE, content)
        if remaining(source) < head_size:
            return PAUSE_WINDOW
        if not self.verbatim and self.room() < head_size:
            return PAUSE_FULL
        memcpy(head, take(source, head_size), head_size)
        self.source_sum = crc32(0, head, head_size) if self.verify and self.source_checksum_size else 0
        if not self.verbatim:
            self.rewrite_head(head, head_size, content + self.checksum_size)
            self.sum = crc32(0, head, head_size) if self.checksum_size else 0
            self.put(head, head_size)
        self.event_start = self.position
        self.position += head_size
        self.left = content - head_size
        return NO_PAUSE

    cdef int rewrite_head(self, uint8_t *head, int64_t head_size, int64_t size) except -1 nogil:
        """Give an event its new size, position and clock."""
        if size >> 32:
            misfit(size, self.source_checksum_size, self.position, self.position + <int64_t> 0xFFFFFFFF)
        store(head + SIZE_OFFSET, <uint64_t> size, 4)
        if not self.zero_positions_stay or little(head + NEXT_POSITION_OFFSET, 4):
            store(head + NEXT_POSITION_OFFSET, <uint64_t> (self.written + size), 4)
        if head_size == GTID_HEAD_SIZE and head[HEADER_SIZE + CLOCK_OFFSET] == LOGICAL_CLOCK:
            store(head + HEADER_SIZE + CLOCK_OFFSET + 1, <uint64_t> self.renumbered, 8)
            self.renumbered += 1
            store(head + HEADER_SIZE + CLOCK_OFFSET + 9, <uint64_t> self.renumbered, 8)
        return 0

    cdef int finish(self, Cursor *source) except -1 nogil:
        """Compare the source's checksum and write the new one."""
        cdef const uint8_t *stored
        if not self.verbatim and self.room() < CHECKSUM_SIZE:
            return PAUSE_FULL
        if self.source_checksum_size:
            if remaining(source) < CHECKSUM_SIZE:
                return PAUSE_WINDOW
            stored = take(source, CHECKSUM_SIZE)
            self.position += CHECKSUM_SIZE
            if self.verify and <uint32_t> little(stored, CHECKSUM_SIZE) != self.source_sum:
                self.bad_checksum(<uint32_t> little(stored, CHECKSUM_SIZE))
        if self.checksum_size and not self.verbatim:
            self.put_sum(self.sum)
        self.left = BETWEEN_EVENTS
        self.events += 1
        return NO_PAUSE

    cdef int overflow(self) except -1 with gil:
        raise BufferError("more bytes than the buffer has room for")

    cdef int bad_checksum(self, uint32_t expected) except -1 with gil:
        from binx.errors import ChecksumError

        raise ChecksumError(
            f"expected the stored checksum {expected:#010x}, found {self.source_sum:#010x}: the bytes were changed or"
            " overwritten",
            offset=self.event_start,
        )


def measure(
    const uint8_t[::1] window not None, int64_t origin, int64_t position, int64_t stop, int checksum_size
) -> tuple[int, int, int]:
    cdef Cursor source
    cdef Header header
    cdef int64_t events = 0
    cdef int64_t size = 0
    if window.shape[0] == 0:
        return position, 0, 0
    source = cursor_over(&window[0], window.shape[0], origin)
    with nogil:
        take(&source, position - origin)
        while position < stop and remaining(&source) >= HEADER_SIZE:
            header = header_of(take(&source, HEADER_SIZE))
            if not fits_file(&header, position, stop, checksum_size):
                misfit(header.size, checksum_size, position, stop)
            if not is_about_files(header.type):
                events += 1
                size += header.size - checksum_size
            position += header.size
            take(&source, min(<int64_t> header.size - HEADER_SIZE, remaining(&source)))
    return position, events, size
