# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""MySQL's binary DECIMAL from Python; the work is in this kernel's ``.pxd``, shared by the others."""

from libc.stdint cimport uint8_t

from binx.kernels.cursor cimport Cursor, cursor_over, take
from binx.kernels.output cimport Output, release


cdef const uint8_t *whole_decimal(Cursor *cursor, int precision, int scale) except NULL:
    """The bytes of one DECIMAL, of which the cursor must hold enough."""
    check_decimal(precision, scale)
    return take(cursor, decimal_size(precision, scale))


def decimal_bytes(int precision, int scale) -> int:
    check_decimal(precision, scale)
    return decimal_size(precision, scale)


def decimal_text(const uint8_t[::1] data not None, int precision, int scale) -> str:
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef Output out = Output(NULL, 0, 0)
    try:
        render_decimal(whole_decimal(&cursor, precision, scale), precision, scale, &out)
        return out.data[: out.size].decode("ascii")
    finally:
        release(&out)


def decimal_unscaled(const uint8_t[::1] data not None, int precision, int scale) -> bytes:
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef uint8_t result[16]
    decimal_to_int128(whole_decimal(&cursor, precision, scale), precision, scale, result)
    return result[:16]
