# cython: language_level=3
"""The CRC32 checksum of binary log events, for kernels (polynomial 0x04C11DB7, as zlib's)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef uint32_t crc32(uint32_t seed, const uint8_t *data, int64_t size) noexcept nogil
