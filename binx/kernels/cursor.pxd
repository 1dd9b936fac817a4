# cython: language_level=3
"""Bounds-checked reading for all kernels.

A :c:type:`Cursor` is a window of bytes: ``position`` moves from 0 to ``size``.
``take`` is the only function that hands out a pointer into it, and ``peek`` the only one that looks ahead;
everything else is written in terms of these, so no kernel can read outside its window.

``origin`` is the file offset of the window's first byte, used only for
messages. All integers in a binary log are little-endian; the row images of some
types are big-endian (``take_big``).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef struct Cursor:
    const uint8_t *base
    int64_t position
    int64_t size
    int64_t origin


cdef extern from *:
    """
    #define binx_swapped(word) __builtin_bswap64(word)
    """
    uint64_t swapped "binx_swapped"(uint64_t word) noexcept nogil


cdef inline int short_read(Cursor cursor, int64_t wanted) except -1 with gil:
    """Raise what a read past the window's end deserves; holds the GIL only here.

    Takes a copy: a cursor whose address goes nowhere stays in registers.
    """
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected {wanted} more bytes, found {cursor.size - cursor.position}: a length in this event"
        " does not fit it",
        offset=cursor.origin + cursor.position,
    )


cdef inline Cursor cursor_over(const uint8_t *base, int64_t size, int64_t origin) noexcept nogil:
    cdef Cursor cursor
    cursor.base = base
    cursor.position = 0
    cursor.size = size
    cursor.origin = origin
    return cursor


cdef inline const uint8_t *take(Cursor *cursor, int64_t count) except NULL nogil:
    """The next ``count`` bytes; raises DamagedError if the window has fewer."""
    cdef const uint8_t *start
    if count < 0 or count > cursor.size - cursor.position:
        short_read(cursor[0], count)
        return NULL
    start = cursor.base + cursor.position
    cursor.position += count
    return start


cdef inline int peek(const Cursor *cursor, int64_t behind) noexcept nogil:
    """The byte that many bytes behind the next one, which is not taken; -1 if the window ends before it."""
    return cursor.base[cursor.position + behind] if behind < cursor.size - cursor.position else -1


cdef inline int64_t remaining(Cursor *cursor) noexcept nogil:
    return cursor.size - cursor.position


cdef inline Cursor ahead(const Cursor *cursor) noexcept nogil:
    """A cursor of its own over what is left: made of numbers, as a copy would wait for what was written last."""
    return cursor_over(
        cursor.base + cursor.position, cursor.size - cursor.position, cursor.origin + cursor.position
    )


cdef inline uint64_t four_little(const uint8_t *data) noexcept nogil:
    return data[0] | (<uint32_t> data[1] << 8) | (<uint32_t> data[2] << 16) | (<uint32_t> data[3] << 24)


cdef inline uint64_t little(const uint8_t *data, int width) noexcept nogil:
    """An unsigned little-endian integer of ``width`` bytes (1 to 8; of 0 it is 0) that were taken before."""
    if width == 1:
        return data[0]
    if width == 2:
        return data[0] | <uint64_t> data[1] << 8
    if width >= 4:
        # The first four and the last four: bytes that are of both come to the same place.
        return four_little(data) | four_little(data + width - 4) << (8 * (width - 4))
    if width == 3:
        return data[0] | <uint64_t> data[1] << 8 | <uint64_t> data[2] << 16
    return 0


cdef inline uint64_t big(const uint8_t *data, int width) noexcept nogil:
    """An unsigned big-endian integer of ``width`` bytes (1 to 8) that were taken before."""
    cdef uint64_t value = 0
    cdef int i
    for i in range(width):
        value = (value << 8) | data[i]
    return value


cdef inline uint64_t big_within(const Cursor *cursor, const uint8_t *data, int width) noexcept nogil:
    """`big` of bytes that were taken from this cursor: one load where its window has eight bytes from there on."""
    cdef uint64_t word
    if cursor.base + cursor.size - data >= 8:
        memcpy(&word, data, 8)
        return swapped(word) >> (64 - 8 * width)
    return big(data, width)


cdef inline int take_little(Cursor *cursor, int width, uint64_t *value) except -1 nogil:
    value[0] = little(take(cursor, width), width)
    return 0


cdef inline int take_packed(Cursor *cursor, uint64_t *value) except -1 nogil:
    """A length-encoded integer of 1, 3, 4 or 9 bytes (``net_field_length``, mysys/pack.cc).

    The leading byte 251 stands for SQL NULL in the client protocol and 255 is
    not defined; neither can be a length in a binary log.
    """
    cdef uint8_t first = take(cursor, 1)[0]
    if first < 251:
        value[0] = first
        return 0
    return take_packed_behind(cursor, first, value)


cdef inline int take_packed_behind(Cursor *cursor, uint8_t first, uint64_t *value) except -1 nogil:
    """Read the integer after a leading byte that is not itself the number."""
    if first == 252:
        return take_little(cursor, 2, value)
    if first == 253:
        return take_little(cursor, 3, value)
    if first == 254:
        return take_little(cursor, 8, value)
    cursor.position -= 1
    return bad_packed(cursor[0], first)


cdef inline int bad_packed(Cursor cursor, uint8_t first) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected a length-encoded integer, found the leading byte {first}, which none has",
        offset=cursor.origin + cursor.position,
    )
