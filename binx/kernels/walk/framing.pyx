# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Read event headers only: iterate over a window's events, and find headers among damaged bytes.

Among damaged bytes, the 19 bytes at each offset are tried as a header; type and size rule out most. The
*drift* of a header is its position field minus the offset of the event's end, modulo 2^32: 0 in a server's
own logs, and the same in all events that were moved together.

Payload events: their fields, the small ones ahead in a window, and the events that were in them.

A transaction of one row is a payload of some hundred bytes, so that what Python does for each takes longer
than zstd: small payloads are decompressed many at a time, and a walk finds their events by the payload's
offset.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cython cimport final
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from binx.kernels.cursor cimport Cursor, cursor_over
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release
from binx.kernels.walk.classify cimport (
    AT_EVENT,
    PayloadFields,
    checksum_matches,
    classify,
    frame_event,
    take_payload_fields,
    whole_event,
)
from binx.kernels.walk.events cimport *
from binx.kernels.walk.scan cimport *


cpdef enum EventChecksum:
    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

cpdef enum WindowStop:
    # As in classify.pxd.
    WINDOW_CUTS = 0
    WINDOW_AT_FORMAT = 1
    WINDOW_TRUNCATED = 2
    WINDOW_END = 3

UNREADABLE = -1


def window_events(
    const uint8_t[::1] window not None,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    bint verify,
    const uint8_t[::1] post_header_lengths not None,
):
    from binx.errors import BinxError

    cdef uint8_t post_header[256]
    cdef Header header
    cdef const uint8_t *event
    cdef int stop
    cdef list events = []
    if position < origin:
        raise ValueError("the window begins behind the position")
    if window.shape[0] == 0:
        return events, WINDOW_END
    set_post_header(post_header, &post_header_lengths[0], post_header_lengths.shape[0])
    while True:
        try:
            stop = frame_event(
                &window[0], window.shape[0], origin, position, file_size, checksum_size, -1, True, &header
            )
        except BinxError:
            if events:
                return events, WINDOW_CUTS
            raise
        if stop != AT_EVENT:
            return events, stop
        event = &window[position - origin]
        events.append((
            position, header.type, header.size, header.next_position, header.server_id, header.timestamp, header.flags,
            checksum_state(event, &header, checksum_size, verify),
            class_of(event, &header, position, checksum_size, post_header),
        ))
        position += header.size


cdef int checksum_state(const uint8_t *event, const Header *header, int checksum_size, bint verify) noexcept:
    if not checksum_size:
        return CHECKSUM_NONE
    if not verify:
        return CHECKSUM_UNVERIFIED
    return CHECKSUM_OK if checksum_matches(event, header.size) else CHECKSUM_BAD


cdef int class_of(
    const uint8_t *event, const Header *header, int64_t position, int checksum_size, const uint8_t *post_header
):
    from binx.errors import BinxError

    cdef Cursor body = body_of(event, header, header.size, checksum_size, position)
    cdef uint8_t event_class = CLASS_UNKNOWN
    cdef uint32_t thread_id = 0
    try:
        classify(&body, header, post_header, &event_class, &thread_id)
    except BinxError:
        return UNREADABLE
    return event_class


cdef enum:
    # Maximum bytes of an event that begins a transaction: a GTID event, or BEGIN with session variables.
    BEGINNING_MAXIMUM = 4096


cdef inline bint may_begin(uint8_t type) noexcept nogil:
    """Whether an event of this type may begin a transaction, distinguishable from the rest of another."""
    return begins_transaction(type) or type == QUERY_EVENT


cdef inline uint32_t drift_of(const Header *header, int64_t position) noexcept nogil:
    return header.next_position - <uint32_t> (position + header.size)


cdef inline bint is_plausible(const Header *header, int64_t position, int64_t file_size, int checksum_size) noexcept nogil:
    """Whether a header is plausible here by its type and size."""
    return known_type(header.type) and fits_file(header, position, file_size, checksum_size)


def find_header(
    const uint8_t[::1] window not None,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    uint32_t drift,
    bint moved,
):
    cdef int64_t offset
    cdef int64_t last = origin + window.shape[0] - HEADER_SIZE
    cdef const uint8_t *base
    cdef Header header
    if position < origin:
        raise ValueError("the window begins behind the position")
    if position > last:
        return -1
    with nogil:
        base = &window[0]
        offset = position
        while offset <= last:
            if known_type(base[offset - origin + 4]):
                header = header_of(base + (offset - origin))
                if is_plausible(&header, offset, file_size, checksum_size) and (
                    (header.size <= BEGINNING_MAXIMUM and may_begin(header.type))
                    if moved
                    else drift_of(&header, offset) == drift
                ):
                    break
            offset += 1
    return offset if offset <= last else -1


def follow_headers(
    const uint8_t[::1] window not None,
    int64_t origin,
    int64_t position,
    int64_t file_size,
    int checksum_size,
    uint32_t drift,
    int64_t events,
):
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
            if not is_plausible(&header, position, file_size, checksum_size) or (
                header.next_position and drift_of(&header, position) != drift
            ):
                events = -1
                break
            position += header.size
            events -= 1
    return position, events


cdef int64_t whole_size(const uint8_t *events, int64_t size) noexcept nogil:
    """Return the bytes of the whole events with which the bytes begin."""
    cdef int64_t at = 0
    cdef int64_t event = 1
    while event > 0:
        event = whole_event(events, size, at)
        at += event if event > 0 else 0
    return at


def whole_events(const uint8_t[::1] window not None):
    cdef int64_t at
    cdef int64_t claimed = 0
    if window.shape[0] == 0:
        return 0, 0
    with nogil:
        at = whole_size(&window[0], window.shape[0])
        if window.shape[0] - at >= HEADER_SIZE:
            claimed = header_of(&window[at]).size
    return at, claimed


def payload_fields(const uint8_t[::1] body not None, int64_t origin):
    cdef Cursor cursor = cursor_over(&body[0] if body.shape[0] else NULL, body.shape[0], origin)
    cdef PayloadFields fields
    with nogil:
        take_payload_fields(&cursor, &fields)
    return (
        cursor.position,
        fields.values[1] if fields.known[1] else None,
        fields.values[2] if fields.known[2] else None,
        fields.values[3] if fields.known[3] else None,
    )


def small_payloads(
    const uint8_t[::1] window not None, int64_t origin, int64_t position, int checksum_size, int64_t limit
):
    from binx.errors import BinxError

    cdef Header header
    cdef Cursor body
    cdef PayloadFields fields
    cdef int64_t left = limit
    cdef int64_t at = position - origin
    cdef int64_t[2] segment
    cdef int64_t start
    cdef Output positions = empty_output()
    cdef Output segments = empty_output()
    cdef Output sizes = empty_output()
    if at < 0:
        raise ValueError("the window begins after the position")
    try:
        while window.shape[0] - at >= HEADER_SIZE:
            header = header_of(&window[at])
            if header.size < HEADER_SIZE + checksum_size or header.size > window.shape[0] - at:
                break
            if header.type == TRANSACTION_PAYLOAD_EVENT:
                body = body_of(&window[at], &header, header.size, checksum_size, origin + at)
                take_payload_fields(&body, &fields)
                # Only zstd; the size as it will be has to be known, and zstd does not make anything of nothing.
                if (
                    not fields.known[2]
                    or fields.values[2] != 0
                    or not fields.known[1]
                    or fields.values[1] != <uint64_t> (body.size - body.position)
                    or not 0 < fields.values[3] <= <uint64_t> left
                ):
                    break
                left -= <int64_t> fields.values[3]
                start = origin + at
                segment[0] = at + HEADER_SIZE + body.position
                segment[1] = <int64_t> fields.values[1]
                append(&positions, &start, sizeof(int64_t))
                append(&segments, segment, sizeof(segment))
                append(&sizes, &fields.values[3], sizeof(int64_t))
            at += header.size
    except BinxError:
        # Damage ends what can be read at once; who comes to it reports it.
        pass
    try:
        return bytes_in(&positions), bytes_in(&segments), bytes_in(&sizes)
    finally:
        release(&positions)
        release(&segments)
        release(&sizes)


@final
cdef class OpenedPayloads:
    def __init__(self, bytes positions, list payloads):
        cdef Output ends = empty_output()
        cdef int64_t end = 0
        if len(positions) != len(payloads) * <int64_t> sizeof(int64_t):
            raise ValueError("as many positions as payloads are needed")
        self.events = b"".join(payloads)
        self.positions = positions
        self.count = len(payloads)
        try:
            for payload in payloads:
                end += len(payload)
                append(&ends, &end, sizeof(int64_t))
            self.ends = bytes_in(&ends)
        finally:
            release(&ends)
        self.position_of = <const int64_t *> PyBytes_AS_STRING(self.positions)
        self.end_of = <const int64_t *> PyBytes_AS_STRING(self.ends)
        self.base = <const uint8_t *> PyBytes_AS_STRING(self.events)

    def __len__(self):
        return len(self.events)

    @property
    def last(self):
        return self.position_of[self.count - 1] if self.count else -1

    def at(self, int64_t position):
        cdef int64_t size = 0
        cdef const uint8_t *events = self.find(position, &size)
        if events == NULL:
            return None
        return memoryview(self.events)[events - self.base : events - self.base + size]

    cdef const uint8_t *find(self, int64_t position, int64_t *size) noexcept nogil:
        """Return the events of the payload event at that offset, all of them whole; NULL if they are not here."""
        cdef int64_t low = 0
        cdef int64_t high = self.count
        cdef int64_t middle
        cdef int64_t start
        while low < high:
            middle = (low + high) // 2
            if self.position_of[middle] < position:
                low = middle + 1
            else:
                high = middle
        if low == self.count or self.position_of[low] != position:
            return NULL
        start = self.end_of[low - 1] if low else 0
        size[0] = self.end_of[low] - start
        if whole_size(self.base + start, size[0]) != size[0]:
            return NULL
        return self.base + start
