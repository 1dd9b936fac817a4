# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns of text made UTF-8: what is no UTF-8 is escaped, and character sets of one byte are decoded."""

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t
from libc.string cimport memcpy

from binx.kernels.json.text cimport sequence_size
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport Output, release, reserve

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


cdef enum:
    BYTES = 256
    # Of each byte: its UTF-8, padded, and the size of that, by which it is told whether it is no character.
    ENTRY = 5
    SIZE_AT = 4
    BAD = 128
    SIZE = 127
    MOST = 4
    WORD = 8

cdef int64_t MOST_TEXT = 0x7FFFFFFF


cdef inline bint is_ascii_word(const uint8_t *data) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, data, WORD)
    return word & HIGH_BITS == 0


cdef class Column:
    """Offsets that were checked against their data."""

    cdef const int32_t *offsets
    cdef const uint8_t *data
    cdef int64_t rows
    cdef object kept

    def __cinit__(self, const uint8_t[::1] bounds not None, const uint8_t[::1] data not None, int64_t rows):
        cdef int64_t row
        self.kept = (bounds, data)
        if rows < 0 or bounds.shape[0] < (rows + 1) * <int64_t> sizeof(int32_t):
            raise ValueError("a column has fewer values than there are rows")
        self.offsets = <const int32_t *> &bounds[0]
        self.data = &data[0] if data.shape[0] else NULL
        self.rows = rows
        if self.offsets[0] < 0 or self.offsets[rows] > data.shape[0]:
            raise ValueError("a column's offsets do not fit its bytes")
        for row in range(rows):
            if self.offsets[row + 1] < self.offsets[row]:
                raise ValueError("a column's offsets do not fit its bytes")


def are_ascii(bounds, data, int64_t rows):
    """Whether all values are ASCII; see the stub."""
    cdef Column column = Column(bounds, data, rows)
    cdef int64_t at = column.offsets[0]
    cdef int64_t stop = column.offsets[rows]
    cdef bint are = True
    with nogil:
        while are and at + WORD <= stop:
            are = is_ascii_word(column.data + at)
            at += WORD
        while are and at < stop:
            are = column.data[at] < 128
            at += 1
    return are


def as_utf8(bounds, data, int64_t rows, bytes table not None):
    """The values as UTF-8; see the stub."""
    cdef Column column = Column(bounds, data, rows)
    cdef const uint8_t *entries = table
    cdef Output offsets
    cdef Output text
    cdef int64_t bad = 0
    cdef int64_t size = 0
    cdef int64_t at
    cdef int64_t row
    if len(table) != BYTES * ENTRY:
        raise ValueError("a table has an entry for each byte")
    offsets.data = text.data = NULL
    offsets.size = offsets.capacity = text.size = text.capacity = 0
    with nogil:
        for at in range(column.offsets[0], column.offsets[rows]):
            size += entries[column.data[at] * ENTRY + SIZE_AT] & SIZE
    if size > MOST_TEXT:
        return None
    try:
        # Each character is copied with its padding.
        reserve(&text, size + WORD + MOST)
        reserve(&offsets, (rows + 1) * sizeof(int32_t))
        with nogil:
            (<int32_t *> offsets.data)[0] = 0
            for row in range(rows):
                bad += put_value(&text, column.data, column.offsets[row], column.offsets[row + 1], entries)
                (<int32_t *> offsets.data)[row + 1] = <int32_t> text.size
        return (
            hand_over(&offsets, (rows + 1) * sizeof(int32_t)),
            hand_over(&text, text.size),
            bad,
        )
    finally:
        release(&offsets)
        release(&text)


cdef inline bint put_value(
    Output *out, const uint8_t *data, int64_t at, int64_t stop, const uint8_t *entries
) noexcept nogil:
    """Write a value, for which there is room; gives whether some byte of it is no character."""
    cdef const uint8_t *entry
    cdef uint8_t seen = 0
    while at < stop:
        entry = entries + data[at] * ENTRY
        memcpy(out.data + out.size, entry, MOST)
        out.size += entry[SIZE_AT] & SIZE
        seen |= entry[SIZE_AT]
        at += 1
    return seen & BAD != 0
