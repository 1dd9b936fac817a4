# cython: language_level=3
"""Integers as Parquet's DELTA_BINARY_PACKED has them: small where they are regular.

Integers in blocks of 128, of four miniblocks each; the differences of neighbours less the block's
smallest one, in as many bits as the miniblock's largest needs. All sums wrap around, so that every sequence of
bit patterns comes back as it was.

Source: the Apache Parquet format, Encodings.md, "Delta Encoding (DELTA_BINARY_PACKED = 5)".
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.blocks cimport BLOCK_BYTES, BlockFunctions
from binx.kernels.cursor cimport Cursor, take
from binx.kernels.output cimport Output, append_byte, reserve

cdef enum:
    DELTA_BLOCK = 128
    DELTA_MINIBLOCKS = 4
    DELTA_MINIBLOCK = 32
    VARINT_BYTES = 10
    WORD_BITS = 64


ctypedef fused Whole:
    int32_t
    int64_t


cdef inline int bad_delta(Cursor *cursor) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        "expected delta-packed integers, found another layout", offset=cursor.origin + cursor.position
    )


cdef inline int put_varint(Output *out, uint64_t value) except -1 nogil:
    reserve(out, VARINT_BYTES)
    while value >= 128:
        append_byte(out, <uint8_t> (value & 127) | 128)
        value >>= 7
    append_byte(out, <uint8_t> value)
    return 0


cdef inline int put_zigzag(Output *out, int64_t value) except -1 nogil:
    return put_varint(out, (<uint64_t> value << 1) ^ <uint64_t> (value >> 63))


cdef inline int take_varint(Cursor *cursor, uint64_t *value) except -1 nogil:
    cdef int shift = 0
    cdef uint8_t byte
    value[0] = 0
    while True:
        byte = take(cursor, 1)[0]
        if shift > 63 or (shift == 63 and byte > 1):
            bad_delta(cursor)
        value[0] |= <uint64_t> (byte & 127) << shift
        if byte < 128:
            return 0
        shift += 7


cdef inline int take_zigzag(Cursor *cursor, int64_t *value) except -1 nogil:
    cdef uint64_t folded
    take_varint(cursor, &folded)
    value[0] = <int64_t> ((folded >> 1) ^ (0 - (folded & 1)))
    return 0


cdef inline int put_head(Output *out, int64_t count, int64_t first) except -1 nogil:
    put_varint(out, DELTA_BLOCK)
    put_varint(out, DELTA_MINIBLOCKS)
    put_varint(out, <uint64_t> count)
    put_zigzag(out, first)
    return 0


cdef inline uint8_t *put_block(const BlockFunctions *blocks, const Whole *values, uint8_t *out) noexcept nogil:
    """Write a block of differences behind the value before it; returns where it ends."""
    if Whole is int32_t:
        return blocks.block32(values, out)
    else:
        return blocks.block64(values, out)


cdef inline int put_deltas(Output *out, const BlockFunctions *blocks, const Whole *values, int64_t count) except -1 nogil:
    """Append integers; differences wrap around in their own width, and take as many bits at most."""
    cdef Whole last[DELTA_BLOCK + 1]
    cdef int64_t at = 1
    cdef int64_t held
    cdef int64_t i
    cdef Whole least
    put_head(out, count, values[0] if count else 0)
    while at + DELTA_BLOCK <= count:
        reserve(out, BLOCK_BYTES)
        out.size = put_block(blocks, values + at, out.data + out.size) - out.data
        at += DELTA_BLOCK
    if at < count:
        # The least difference fills the block up: packed, it is 0 and takes no bit more.
        held = count - at
        memcpy(last, values + at - 1, (held + 1) * sizeof(Whole))
        least = <Whole> (<uint64_t> last[1] - <uint64_t> last[0])
        for i in range(2, held + 1):
            least = min(least, <Whole> (<uint64_t> last[i] - <uint64_t> last[i - 1]))
        for i in range(held + 1, DELTA_BLOCK + 1):
            last[i] = <Whole> (<uint64_t> last[i - 1] + <uint64_t> least)
        reserve(out, BLOCK_BYTES)
        out.size = put_block(blocks, <const Whole *> last + 1, out.data + out.size) - out.data
    return 0


cdef inline int take_miniblock(Cursor *cursor, uint64_t *values, int width) except -1 nogil:
    cdef const uint8_t *source = take(cursor, width * (DELTA_MINIBLOCK // 8))
    cdef uint64_t mask = (<uint64_t> 1 << width) - 1 if width < WORD_BITS else <uint64_t> -1
    cdef uint64_t word = 0
    cdef uint64_t part
    cdef int held = 0
    cdef int left = width * (DELTA_MINIBLOCK // 8)
    cdef int size
    cdef int i
    for i in range(DELTA_MINIBLOCK):
        if held >= width:
            values[i] = word & mask
            word = word >> width if width < WORD_BITS else 0
            held -= width
            continue
        part = 0
        size = 8 if left >= 8 else left
        memcpy(&part, source, size)
        source += size
        left -= size
        values[i] = (word | (part << held)) & mask
        # Of the new word, what this value did not take.
        word = part >> (width - held) if width - held < WORD_BITS else 0
        held += size * 8 - width
    return 0


cdef inline int take_deltas(Cursor *cursor, int64_t *values, int64_t count) except -1 nogil:
    """Read as many integers as are expected; another number is damage."""
    cdef uint64_t deltas[DELTA_MINIBLOCK]
    cdef uint64_t number
    cdef uint64_t last
    cdef int64_t least
    cdef int64_t at = 1
    cdef int64_t i
    cdef int64_t held
    cdef int miniblock
    cdef uint8_t widths[DELTA_MINIBLOCKS]
    take_varint(cursor, &number)
    if number != DELTA_BLOCK:
        bad_delta(cursor)
    take_varint(cursor, &number)
    if number != DELTA_MINIBLOCKS:
        bad_delta(cursor)
    take_varint(cursor, &number)
    if number != <uint64_t> count:
        bad_delta(cursor)
    take_zigzag(cursor, &least)
    if count == 0:
        return 0
    values[0] = least
    last = <uint64_t> least
    while at < count:
        take_zigzag(cursor, &least)
        memcpy(widths, take(cursor, DELTA_MINIBLOCKS), DELTA_MINIBLOCKS)
        for miniblock in range(DELTA_MINIBLOCKS):
            if at >= count:
                break
            if widths[miniblock] > WORD_BITS:
                bad_delta(cursor)
            held = min(<int64_t> DELTA_MINIBLOCK, count - at)
            if widths[miniblock] == 0:
                for i in range(held):
                    last += <uint64_t> least
                    values[at + i] = <int64_t> last
            else:
                take_miniblock(cursor, deltas, widths[miniblock])
                for i in range(held):
                    last += <uint64_t> least + deltas[i]
                    values[at + i] = <int64_t> last
            at += held
    return 0
