# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Bloom filters over keys: hashes of many values at once, the filter's bits, and the question.

A key's hash goes over its columns, each as bytes: FNV-1a continues from the hash so far, and the finalizer of
splitmix64 is applied to the sum of it and the bytes' number, so that ``ab, c`` differs from ``a, bc``. The
bits of a key are ``(low + i * (high | 1)) mod bits`` of the hash's two halves (A. Kirsch, M. Mitzenmacher,
"Less Hashing, Same Performance", 2006).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from binx.kernels.hashing cimport mix

cdef enum:
    HALF = 32

cdef uint64_t FNV_BASIS = <uint64_t> 0xCBF29CE484222325
cdef uint64_t FNV_PRIME = <uint64_t> 0x100000001B3

BASIS = FNV_BASIS


cdef uint64_t continued(uint64_t hashed, const uint8_t *data, int64_t size) noexcept nogil:
    """The hash of a key with one more column."""
    cdef int64_t i
    for i in range(size):
        hashed = (hashed ^ data[i]) * FNV_PRIME
    return mix(hashed + <uint64_t> size)


cdef uint64_t bit_of(uint64_t hashed, int number, uint64_t bits) noexcept nogil:
    cdef uint64_t low = hashed & <uint64_t> 0xFFFFFFFF
    return (low + <uint64_t> number * ((hashed >> HALF) | 1)) % bits


def hash_column(uint64_t[::1] hashes, const int32_t[::1] offsets, const uint8_t[::1] text):
    """Take one more column into the hashes of keys.

    ``offsets`` are one more than the hashes; the bytes of a value lie between two of them in ``text``.
    """
    cdef int64_t count = hashes.shape[0]
    cdef int64_t i
    cdef const uint8_t *data = &text[0] if text.shape[0] else NULL
    if offsets.shape[0] != count + 1:
        raise ValueError(f"{offsets.shape[0]} offsets for {count} values")
    for i in range(count):
        if not 0 <= offsets[i] <= offsets[i + 1] <= text.shape[0]:
            raise ValueError("offsets that do not ascend within the text")
    with nogil:
        for i in range(count):
            hashes[i] = continued(hashes[i], data + offsets[i], offsets[i + 1] - offsets[i])


def make_filter(const uint64_t[::1] hashes, int64_t size, int number):
    """The bits of a filter: so many bytes, with so many bits set for each hash."""
    cdef bytes out
    cdef uint8_t *bits
    cdef int64_t i
    cdef int k
    cdef uint64_t bit
    if size < 1 or number < 1:
        raise ValueError("a filter has at least a byte, and a key at least a bit")
    out = PyBytes_FromStringAndSize(NULL, size)
    bits = <uint8_t *> PyBytes_AS_STRING(out)
    with nogil:
        for i in range(size):
            bits[i] = 0
        for i in range(hashes.shape[0]):
            for k in range(number):
                bit = bit_of(hashes[i], k, <uint64_t> size * 8)
                bits[bit >> 3] |= <uint8_t> (1 << (bit & 7))
    return out


def holds(const uint8_t[::1] bits, int number, list columns):
    """Whether a filter may hold a key, given each column's bytes; False is certain."""
    cdef uint64_t hashed = FNV_BASIS
    cdef bytes column
    cdef int k
    cdef uint64_t bit
    for column in columns:
        hashed = continued(hashed, <const uint8_t *> PyBytes_AS_STRING(column), len(column))
    if bits.shape[0] == 0:
        return True
    for k in range(number):
        bit = bit_of(hashed, k, <uint64_t> bits.shape[0] * 8)
        if not bits[bit >> 3] & (1 << (bit & 7)):
            return False
    return True
