# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Headers of events among bytes that are damaged: what looks like one, and whether others follow it.

At each offset 19 bytes are taken for a header; most offsets are ruled out by the type and the size at once.
The *drift* of a header is what its position says more than the offset of the event's end, modulo 2^32: 0 in a
server's own logs, and the same in all events that were moved together.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.walk.events cimport *

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
