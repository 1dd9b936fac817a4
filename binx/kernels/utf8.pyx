# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Whether a column of bytes is UTF-8, value by value, found out for all of its bytes at once.

Bytes that are UTF-8 from the first to the last are so value by value if no value begins within a character.

Source: RFC 3629; Table 3-7 of the Unicode standard for what may follow a character's first byte.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.text cimport sequence_size

cdef enum:
    BLOCK = 64
    WORDS = BLOCK // 8

cdef uint64_t HIGH_BITS = 0x8080808080808080


cdef inline bint follows(uint8_t byte) noexcept nogil:
    """Whether a byte is not a character's first."""
    return byte & 0xC0 == 0x80


cdef inline bint is_ascii(const uint8_t *data) noexcept nogil:
    """Whether a block has no byte above 127."""
    cdef uint64_t words[WORDS]
    cdef uint64_t seen = 0
    cdef int i
    memcpy(words, data, BLOCK)
    for i in range(WORDS):
        seen |= words[i]
    return seen & HIGH_BITS == 0


cdef int64_t ascii_prefix(const uint8_t *data, int64_t size) noexcept nogil:
    """How many bytes from the beginning on are ASCII; up to a block fewer may be told."""
    cdef int64_t at = 0
    while at + BLOCK <= size and is_ascii(data + at):
        at += BLOCK
    return at


cdef bint is_utf8(const uint8_t *data, int64_t size) noexcept nogil:
    cdef int64_t at = 0
    cdef int64_t stop
    cdef int64_t taken
    while at < size:
        if at + BLOCK <= size and is_ascii(data + at):
            at += BLOCK
            continue
        stop = min(at + BLOCK, size)
        while at < stop:
            taken = 1 if data[at] < 0x80 else sequence_size(data + at, size - at)
            if taken == 0:
                return False
            at += taken
    return True


def are_utf8(const uint8_t[::1] bounds not None, const uint8_t[::1] data not None, int64_t rows):
    """Whether each of so many values, which ascending 32-bit offsets part, is UTF-8.

    Raises:
        ValueError: the offsets do not fit the data.
    """
    cdef int64_t ascii
    cdef int64_t row
    cdef int64_t first
    cdef int64_t last
    cdef bint fits = True
    cdef const int32_t *offsets = <const int32_t *> &bounds[0] if bounds.shape[0] else NULL
    if rows < 0 or bounds.shape[0] < (rows + 1) * <int64_t> sizeof(int32_t):
        raise ValueError("a column has fewer values than there are rows")
    first, last = offsets[0], offsets[rows]
    if first < 0 or last < first or last > data.shape[0]:
        raise ValueError("a column's offsets do not fit its bytes")
    if first == last:
        return True
    with nogil:
        ascii = first + ascii_prefix(&data[first], last - first)
        if ascii < last:
            fits = is_utf8(&data[ascii], last - ascii)
            for row in range(rows):
                # Behind the last byte there is no character that a value could begin in.
                if ascii <= offsets[row] < last and follows(data[offsets[row]]):
                    fits = False
    return fits
