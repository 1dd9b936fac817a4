# cython: language_level=3
"""Byte strings out of Arrow's offsets and data, and Parquet's encodings of them.

``DELTA_LENGTH_BYTE_ARRAY`` has all lengths, then all bytes, as Arrow does; ``DELTA_BYTE_ARRAY`` has of each string
only what differs from the one before.

Source: the Apache Parquet format, Encodings.md.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from binx.kernels.bitmaps cimport lowest_bit
from binx.kernels.blocks cimport BlockFunctions
from binx.kernels.delta cimport put_deltas
from binx.kernels.output cimport Output, append, reserve

cdef struct Strings:
    # Of a column, or of the dictionary whose words ``words`` numbers; places are those of the values that there are,
    # NULL where they follow each other from ``first`` on.
    const int32_t *offsets
    const uint8_t *data
    const int32_t *places
    const uint32_t *words
    int64_t first


cdef inline int64_t string_at(const Strings *strings, int64_t value) noexcept nogil:
    """The place of a value's bytes in the offsets."""
    if strings.words != NULL:
        return strings.words[value]
    if strings.places != NULL:
        return strings.places[value]
    return strings.first + value


cdef inline int64_t shared_prefix(const uint8_t *one, const uint8_t *other, int64_t size) noexcept nogil:
    """How many of so many bytes are alike from the beginning on."""
    cdef int64_t at = 0
    cdef uint64_t left
    cdef uint64_t right
    while at + 8 <= size:
        memcpy(&left, one + at, 8)
        memcpy(&right, other + at, 8)
        if left != right:
            return at + (lowest_bit(left ^ right) >> 3)
        at += 8
    while at < size and one[at] == other[at]:
        at += 1
    return at


cdef inline int put_lengths_and_bytes(
    Output *page,
    Output *lengths,
    const BlockFunctions *blocks,
    const Strings *strings,
    int64_t first,
    int64_t last,
    bint has_bytes = True,
) except -1 nogil:
    """Append values as DELTA_LENGTH_BYTE_ARRAY; without their bytes, where these are taken from where they are."""
    cdef int32_t *sizes
    cdef int64_t i
    cdef int64_t place
    cdef int64_t total = 0
    cdef int64_t begin
    lengths.size = 0
    reserve(lengths, (last - first) * 4 + 4)
    sizes = <int32_t *> lengths.data
    for i in range(first, last):
        place = string_at(strings, i)
        sizes[i - first] = strings.offsets[place + 1] - strings.offsets[place]
        total += sizes[i - first]
    put_deltas(page, blocks, sizes, last - first)
    if first == last or not has_bytes:
        return 0
    begin = strings.offsets[string_at(strings, first)]
    place = string_at(strings, last - 1)
    if strings.words == NULL and strings.offsets[place + 1] - begin == total:
        # What lies between has no bytes: all of it follows each other.
        append(page, strings.data + begin, total)
        return 0
    reserve(page, total)
    for i in range(first, last):
        memcpy(page.data + page.size, strings.data + strings.offsets[string_at(strings, i)], sizes[i - first])
        page.size += sizes[i - first]
    return 0


cdef inline int put_differences(
    Output *page,
    Output *lengths,
    Output *suffixes,
    const BlockFunctions *blocks,
    const Strings *strings,
    int64_t first,
    int64_t last,
) except -1 nogil:
    """Append values as DELTA_BYTE_ARRAY."""
    cdef int64_t count = last - first
    cdef int32_t *prefixes
    cdef int32_t *sizes
    cdef const uint8_t *before = NULL
    cdef const uint8_t *data
    cdef int64_t held = 0
    cdef int64_t size
    cdef int64_t shared
    cdef int64_t place
    cdef int64_t place_before = -1
    cdef int64_t i
    lengths.size = suffixes.size = 0
    reserve(lengths, count * 8 + 8)
    prefixes = <int32_t *> lengths.data
    sizes = prefixes + count
    for i in range(count):
        place = string_at(strings, first + i)
        if place == place_before:
            prefixes[i] = <int32_t> held
            sizes[i] = 0
            continue
        data = strings.data + strings.offsets[place]
        size = strings.offsets[place + 1] - strings.offsets[place]
        shared = shared_prefix(before, data, min(size, held)) if held else 0
        prefixes[i] = <int32_t> shared
        sizes[i] = <int32_t> (size - shared)
        append(suffixes, data + shared, size - shared)
        before, held, place_before = data, size, place
    put_deltas(page, blocks, prefixes, count)
    put_deltas(page, blocks, sizes, count)
    append(page, suffixes.data, suffixes.size)
    return 0


cdef inline int put_plain(Output *page, const Strings *strings, int64_t first, int64_t last) except -1 nogil:
    """Append values as PLAIN, each behind its length."""
    cdef int64_t i
    cdef int64_t place
    cdef uint32_t size
    for i in range(first, last):
        place = string_at(strings, i)
        size = <uint32_t> (strings.offsets[place + 1] - strings.offsets[place])
        append(page, &size, 4)
        append(page, strings.data + strings.offsets[place], size)
    return 0


cdef inline bint shares_prefixes(const Strings *strings, int64_t first, int64_t last) noexcept nogil:
    """Whether a quarter of the bytes of some values, at least, is as in the value before."""
    cdef int64_t total = 0
    cdef int64_t shared = 0
    cdef int64_t i
    cdef int64_t place
    cdef int64_t before
    cdef int64_t size
    for i in range(first + 1, last):
        place, before = string_at(strings, i), string_at(strings, i - 1)
        size = strings.offsets[place + 1] - strings.offsets[place]
        total += size
        shared += shared_prefix(
            strings.data + strings.offsets[before],
            strings.data + strings.offsets[place],
            min(size, <int64_t> (strings.offsets[before + 1] - strings.offsets[before])),
        )
    return shared * 4 > total


cdef inline int compare(const uint8_t *one, int64_t size, const uint8_t *other, int64_t other_size) noexcept nogil:
    """The order of two strings by their unsigned bytes."""
    cdef int order = memcmp(one, other, min(size, other_size))
    if order:
        return order
    return -1 if size < other_size else size > other_size
