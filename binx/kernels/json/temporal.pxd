# cython: language_level=3
"""Format dates and times of binary JSON, packed as by ``TIME_to_longlong_packed`` (sql-common/my_time.cc).

From the low end: microseconds (24 bits), seconds (6), minutes (6), then in a TIME the hours (10), in the others the
hour (5), day (5) and year * 13 + month.
"""

from libc.stdint cimport int64_t, uint64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.digits cimport lay_padded, put_byte, put_fraction
from binx.kernels.json.documents cimport damaged
from binx.kernels.output cimport Output, reserve
from binx.kernels.rows.layouts cimport TYPE_DATE, TYPE_TIME

cdef enum:
    # "-838:59:59.000000" or "9999-12-31 23:59:59.999999", in quotes.
    TEMPORAL_MAXIMUM = 28


cdef inline void put_padded(Output *out, uint64_t value, int digits) noexcept nogil:
    out.size = lay_padded(out.data + out.size, value, digits) - out.data


cdef inline void put_clock(Output *out, uint64_t hour, uint64_t packed) noexcept nogil:
    """Append ``HH:MM:SS.ffffff``; a TIME may have three digits of hours."""
    put_padded(out, hour, 3 if hour > 99 else 2)
    put_byte(out, c":")
    put_padded(out, (packed >> 30) & 63, 2)
    put_byte(out, c":")
    put_padded(out, (packed >> 24) & 63, 2)
    put_fraction(out, <int> (packed & 0xFFFFFF))


cdef inline int append_temporal(Cursor *value, int type, int64_t packed, Output *out) except -1 nogil:
    """Append a date, time or both in quotes."""
    cdef uint64_t bits = 0 - <uint64_t> packed if packed < 0 else <uint64_t> packed
    cdef uint64_t months = bits >> 46
    cdef bint is_time = type == TYPE_TIME
    if (
        (bits & 0xFFFFFF) > 999999
        or ((bits >> 24) & 63) > 59
        or ((bits >> 30) & 63) > 59
        or (is_time and (bits >> 36) > 838)
        or (not is_time and (packed < 0 or months > 9999 * 13 + 12 or ((bits >> 36) & 31) > 23))
    ):
        damaged(value, b"a date or time within its bounds", packed)
    reserve(out, TEMPORAL_MAXIMUM)
    put_byte(out, c'"')
    if is_time:
        if packed < 0:
            put_byte(out, c"-")
        put_clock(out, bits >> 36, bits)
    else:
        put_padded(out, months // 13, 4)
        put_byte(out, c"-")
        put_padded(out, months % 13, 2)
        put_byte(out, c"-")
        put_padded(out, (bits >> 41) & 31, 2)
        if type != TYPE_DATE:
            put_byte(out, c" ")
            put_clock(out, (bits >> 36) & 31, bits)
    put_byte(out, c'"')
    return 0
