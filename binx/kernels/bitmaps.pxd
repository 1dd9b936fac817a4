# cython: language_level=3
"""Bitmaps as Arrow has them: one bit a value, from the lowest bit of each byte on, 1 where it is there."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.output cimport Output, reserve

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define BINX_LOWEST(x) __builtin_ctzll(x)
    #else
    static int BINX_LOWEST(uint64_t x) { int n = 0; for (; !(x & 1); x >>= 1) n++; return n; }
    #endif
    """
    int lowest_bit "BINX_LOWEST"(uint64_t value) noexcept nogil


cdef inline uint64_t bits_from(const uint8_t *bits, int64_t start, int count) noexcept nogil:
    """Up to 57 bits from a place on, the first lowest; no byte without a wanted bit is read."""
    cdef uint64_t word = 0
    cdef int64_t first = start >> 3
    memcpy(&word, bits + first, ((start + count + 7) >> 3) - first)
    return (word >> (start & 7)) & ((<uint64_t> 1 << count) - 1)


cdef inline int copy_bits(Output *out, const uint8_t *bits, int64_t start, int64_t count) except -1 nogil:
    """Append bits from a place on; zeros fill up the last byte."""
    cdef int64_t at = 0
    cdef int64_t held
    cdef uint64_t word
    reserve(out, (count + 7) // 8 + 8)
    if start & 7 == 0 and count >= 8:
        memcpy(out.data + out.size, bits + (start >> 3), count >> 3)
        at = count & ~(<int64_t> 7)
        out.size += count >> 3
    while at < count:
        held = min(<int64_t> 48, count - at)
        word = bits_from(bits, start + at, <int> held)
        memcpy(out.data + out.size, &word, 8)
        out.size += (held + 7) >> 3
        at += held
    return 0


cdef inline int64_t places_of(
    int32_t *places, const uint8_t *bits, int64_t bit, int64_t first, int64_t count
) noexcept nogil:
    """Note the places, from ``first`` on, whose bits from ``bit`` on are set; returns how many."""
    cdef int64_t at = 0
    cdef int64_t found = 0
    cdef int64_t i
    cdef int held
    cdef uint64_t word
    cdef uint64_t full
    while at < count:
        held = <int> min(<int64_t> 56, count - at)
        word = bits_from(bits, bit + at, held)
        full = (<uint64_t> 1 << held) - 1
        if word == full:
            for i in range(held):
                places[found + i] = <int32_t> (first + at + i)
            found += held
        else:
            while word:
                places[found] = <int32_t> (first + at + lowest_bit(word))
                found += 1
                word &= word - 1
        at += held
    return found
