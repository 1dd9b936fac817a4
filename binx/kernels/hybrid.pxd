# cython: language_level=3
"""Small numbers as runs: Parquet's hybrid of run lengths and bit-packing, which levels and dictionaries use.

A run of one value is its length, shifted left by one, and the value in whole bytes; groups of eight different ones
are their number, shifted left by one, plus 1, and the values bit-packed.

Source: the Apache Parquet format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid (RLE = 3)".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from binx.kernels.blocks cimport BlockFunctions
from binx.kernels.delta cimport put_varint
from binx.kernels.output cimport Output, append, append_byte, reserve

cdef enum:
    GROUP = 8
    PACKED_AT_ONCE = 32


cdef inline int put_run(Output *out, uint64_t value, int64_t count, int width) except -1 nogil:
    """One value, so many times."""
    put_varint(out, <uint64_t> count << 1)
    # Processors are little-endian wherever binx runs: Arrow's buffers are taken as they are.
    append(out, &value, (width + 7) // 8)
    return 0


cdef inline int put_groups(
    Output *out, const BlockFunctions *blocks, const uint32_t *values, int64_t count, int width
) except -1 nogil:
    """Values bit-packed; zeros fill up the last group."""
    cdef uint32_t last[PACKED_AT_ONCE]
    cdef int64_t groups = (count + GROUP - 1) // GROUP
    cdef int64_t at = 0
    if count == 0:
        return 0
    put_varint(out, <uint64_t> groups << 1 | 1)
    # The last store writes up to 32 values' room.
    reserve(out, groups * width + PACKED_AT_ONCE * 4 + 8)
    while at + PACKED_AT_ONCE <= count:
        blocks.pack(values + at, out.data + out.size, width)
        out.size += width * (PACKED_AT_ONCE // GROUP)
        at += PACKED_AT_ONCE
    if at < count:
        memset(last, 0, sizeof(last))
        memcpy(last, values + at, (count - at) * 4)
        blocks.pack(last, out.data + out.size, width)
        out.size += width * ((count - at + GROUP - 1) // GROUP)
    return 0


cdef inline bint are_alike(const uint32_t *values) noexcept nogil:
    """Whether a group is one value throughout."""
    cdef uint32_t differences = 0
    cdef int i
    for i in range(1, GROUP):
        differences |= values[i] ^ values[0]
    return differences == 0


cdef inline int put_hybrid(
    Output *out, const BlockFunctions *blocks, const uint32_t *values, int64_t count, int width
) except -1 nogil:
    """Append numbers that fit so many bits; what is one value for a whole group, at least, is a run."""
    cdef int64_t begun = 0
    cdef int64_t at = 0
    cdef int64_t stop
    while at + GROUP <= count:
        if not are_alike(values + at):
            at += GROUP
            continue
        stop = at + GROUP
        while stop < count and values[stop] == values[at]:
            stop += 1
        put_groups(out, blocks, values + begun, at - begun, width)
        put_run(out, values[at], stop - at, width)
        begun = at = stop
    put_groups(out, blocks, values + begun, count - begun, width)
    return 0


cdef inline int put_bit_levels(Output *out, const uint8_t *bits, int64_t count) except -1 nogil:
    """Append numbers of one bit, which a bitmap from its first bit on holds; runs of whole bytes only."""
    cdef int64_t whole = count // GROUP
    cdef int64_t size = (count + GROUP - 1) // GROUP
    cdef int64_t begun = 0
    cdef int64_t at = 0
    cdef int64_t stop
    while at < whole:
        stop = at + 1
        if bits[at] == 0 or bits[at] == 0xFF:
            while stop < whole and bits[stop] == bits[at]:
                stop += 1
            if stop - at >= 3:
                put_bytes(out, bits + begun, at - begun)
                put_run(out, bits[at] & 1, (stop - at) * GROUP, 1)
                begun = stop
        at = stop
    put_bytes(out, bits + begun, size - begun)
    return 0


cdef inline int put_bytes(Output *out, const uint8_t *bits, int64_t groups) except -1 nogil:
    """Groups of one bit a value."""
    if groups:
        put_varint(out, <uint64_t> groups << 1 | 1)
        append(out, bits, groups)
    return 0
