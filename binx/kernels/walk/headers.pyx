# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Read event headers only: iterate over a window's events, and find headers among damaged bytes.

Among damaged bytes, the 19 bytes at each offset are tried as a header; type and size rule out most. The
*drift* of a header is its position field minus the offset of the event's end, modulo 2^32: 0 in a server's
own logs, and the same in all events that were moved together.
"""

from libc.stdint cimport int64_t, uint32_t, uint8_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.walk.classify cimport AT_EVENT, checksum_matches, classify, frame_event
from binx.kernels.walk.events cimport *
from binx.kernels.walk.machine cimport *

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
