# cython: language_level=3
"""Bitmaps of columns and rows: bit i is bit i % 8, from the lowest, of byte i / 8, in binary logs and in Arrow."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from binx.kernels.output cimport Output, reserve

cdef extern from *:
    """
    /* Of a byte. The compiler's own is a call where it may not assume an instruction for it. */
    static inline int binx_popcount(int value)
    {
        value -= value >> 1 & 0x55;
        value = (value & 0x33) + (value >> 2 & 0x33);
        return (value + (value >> 4)) & 0x0F;
    }
    """
    int popcount "binx_popcount"(int value) noexcept nogil


cdef inline int count_bits(const uint8_t *bitmap, int32_t bits) noexcept nogil:
    cdef int total = 0
    cdef int32_t i
    for i in range(bits >> 3):
        total += popcount(bitmap[i])
    if bits & 7:
        total += popcount(bitmap[bits >> 3] & ((1 << (bits & 7)) - 1))
    return total


cdef inline bint bit_at(const uint8_t *bitmap, int64_t index) noexcept nogil:
    return (bitmap[index >> 3] >> (index & 7)) & 1


cdef inline void set_bit(uint8_t *bitmap, int64_t index) noexcept nogil:
    bitmap[index >> 3] |= 1 << (index & 7)


cdef inline void clear_bit(uint8_t *bitmap, int64_t index) noexcept nogil:
    bitmap[index >> 3] &= ~(1 << (index & 7))


cdef inline int widen_validity(Output *validity, int64_t rows) except -1 nogil:
    """Extend a validity bitmap to ``rows`` bits; new bits are set (not null)."""
    cdef int64_t size = (rows + 7) >> 3
    cdef int64_t old_size = validity.size
    if size > old_size:
        reserve(validity, size - old_size)
        memset(validity.data + old_size, 0xFF, size - old_size)
        validity.size = size
    return 0
