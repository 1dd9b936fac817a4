# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The flags of many rows events, by the places where they stand."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take
from binx.kernels.events cimport HEADER_SIZE, rows_operation, set_post_header

cdef enum:
    FLAGS_SIZE = 2
    SHORT_TABLE_ID = 6


def rows_flags(
    const uint8_t[::1] window not None,
    int64_t origin,
    const int64_t[::1] positions not None,
    int64_t first,
    const uint8_t[::1] post_header not None,
    uint8_t[::1] flags not None,
):
    """Fill in the low byte of the flags of the events from ``first`` on, as far as the window shows them.

    What is no rows event has none. Returns the number of the first event that the window does not show. An event may
    be named many times, one after another.
    """
    cdef uint8_t lengths[256]
    cdef Cursor cursor
    cdef const uint8_t *header
    cdef int64_t at
    cdef int64_t count = min(positions.shape[0], flags.shape[0])
    if window.shape[0] == 0:
        return first
    set_post_header(lengths, &post_header[0], post_header.shape[0])
    with nogil:
        while 0 <= first < count:
            if first and positions[first] == positions[first - 1]:
                flags[first] = flags[first - 1]
                first += 1
                continue
            at = positions[first] - origin
            if at < 0 or at > window.shape[0]:
                break
            cursor = cursor_over(&window[0] + at, window.shape[0] - at, positions[first])
            if remaining(&cursor) < HEADER_SIZE + SHORT_TABLE_ID + FLAGS_SIZE:
                break
            header = take(&cursor, HEADER_SIZE)
            flags[first] = 0
            if rows_operation(header[4]) >= 0:
                take(&cursor, 4 if lengths[header[4]] == SHORT_TABLE_ID else 6)
                flags[first] = <uint8_t> little(take(&cursor, FLAGS_SIZE), FLAGS_SIZE)
            first += 1
    return first
