# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Hashes of rows, summed column by column."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.bitmaps cimport bit_at
from binx.kernels.cursor cimport Cursor, cursor_over, take
from binx.kernels.hashing cimport hash_bytes


def add_fixed(
    uint64_t[::1] hashes not None, const uint8_t[::1] values not None, int64_t width, const uint8_t[::1] validity,
    int64_t first, uint64_t seed
):
    cdef int64_t count = hashes.shape[0], row
    cdef Cursor cursor = over(values)
    cdef const uint8_t *data
    check_validity(validity, first + count)
    with nogil:
        take(&cursor, first * width)
        data = take(&cursor, count * width)
        for row in range(count):
            if validity is None or bit_at(&validity[0], first + row):
                hashes[row] += hash_bytes(data + row * width, width, seed)


def add_sized(
    uint64_t[::1] hashes not None, const uint8_t[::1] offsets not None, const uint8_t[::1] data not None, int64_t width,
    const uint8_t[::1] validity, int64_t first, uint64_t seed
):
    cdef int64_t count = hashes.shape[0], row
    cdef Cursor cursor = over(offsets)
    cdef Cursor bytes = over(data)
    cdef const uint8_t *at
    cdef const uint8_t *value
    cdef int32_t bounds[2]
    check_validity(validity, first + count)
    with nogil:
        take(&cursor, first * sizeof(int32_t))
        at = take(&cursor, (count + 1) * sizeof(int32_t))
        for row in range(count):
            if validity is not None and not bit_at(&validity[0], first + row):
                continue
            memcpy(bounds, at + row * sizeof(int32_t), sizeof(bounds))
            bytes.position = 0
            take(&bytes, bounds[0] * width)
            value = take(&bytes, (bounds[1] - bounds[0]) * width)
            hashes[row] += hash_bytes(value, (bounds[1] - bounds[0]) * width, seed)


cdef Cursor over(const uint8_t[::1] buffer):
    # Of nothing, too, it has a place that is not NULL, which stands for an error.
    return cursor_over(&buffer[0] if buffer.shape[0] else <const uint8_t *> "", buffer.shape[0], 0)


cdef int check_validity(const uint8_t[::1] validity, int64_t rows) except -1:
    if validity is not None and validity.shape[0] * 8 < rows:
        raise ValueError("the validity bitmap is shorter than the rows")
    return 0
