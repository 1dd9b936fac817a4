# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Payload events: their fields, the small ones ahead in a window, and the events that were in them.

A transaction of one row is a payload of some hundred bytes, so that what Python does for each takes longer
than zstd: small payloads are decompressed many at a time, and a walk finds their events by the payload's
offset.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint64_t

from binx.kernels.cursor cimport Cursor, cursor_over
from binx.kernels.output cimport Output, append, bytes_in, empty_output, release
from binx.kernels.walk.classify cimport PayloadFields, take_payload_fields, whole_event
from binx.kernels.walk.events cimport *


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
        cdef const uint8_t[::1] view
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
