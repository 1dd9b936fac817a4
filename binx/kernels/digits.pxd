# cython: language_level=3
"""Write numbers, dates and hexadecimal digits as text; the caller reserves the space."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.output cimport Output

cdef enum:
    # Maximum bytes of an integer.
    NUMBER_MAXIMUM = 20
    # Days from the year 0 to 1970.
    ERA_DAYS = 719468

cdef inline uint8_t *lay_bytes(uint8_t *target, const void *data, int64_t size) noexcept nogil:
    """Copy bytes and return the end of the copy; up to 32 without a call, which would cost more than the copy."""
    cdef const uint8_t *source = <const uint8_t *> data
    if size > 32:
        memcpy(target, source, size)
    elif size >= 16:
        memcpy(target, source, 16)
        memcpy(target + size - 16, source + size - 16, 16)
    elif size >= 8:
        memcpy(target, source, 8)
        memcpy(target + size - 8, source + size - 8, 8)
    elif size >= 4:
        memcpy(target, source, 4)
        memcpy(target + size - 4, source + size - 4, 4)
    elif size > 0:
        target[0] = source[0]
        target[size >> 1] = source[size >> 1]
        target[size - 1] = source[size - 1]
    return target + size


cdef inline void lay_pair(uint8_t *text, int64_t value) noexcept nogil:
    """Write a number below 100 as two digits."""
    cdef const char *pairs = (
        b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        b"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"
    )
    memcpy(text, pairs + 2 * value, 2)


cdef inline int digit_count(uint64_t value) noexcept nogil:
    cdef int count = 1
    while value >= 10000:
        value //= 10000
        count += 4
    return count + (value >= 10) + (value >= 100) + (value >= 1000)


cdef inline uint8_t *lay_unsigned(uint8_t *target, uint64_t value) noexcept nogil:
    cdef uint8_t *end = target + digit_count(value)
    cdef uint8_t *text = end
    while value >= 100:
        text -= 2
        lay_pair(text, value % 100)
        value //= 100
    if value >= 10:
        lay_pair(text - 2, value)
    else:
        text[-1] = <uint8_t> (c"0" + value)
    return end


cdef inline uint8_t *lay_signed(uint8_t *target, int64_t value) noexcept nogil:
    if value >= 0:
        return lay_unsigned(target, value)
    target[0] = c"-"
    return lay_unsigned(target + 1, 0 - <uint64_t> value)


cdef inline uint8_t *lay_padded(uint8_t *target, uint64_t value, int digits) noexcept nogil:
    """Write a number as ``digits`` digits, with leading zeros."""
    cdef int place = digits
    while place >= 2:
        place -= 2
        lay_pair(target + place, value % 100)
        value //= 100
    if place:
        target[0] = <uint8_t> (c"0" + value % 10)
    return target + digits


cdef inline void put(Output *out, const void *data, int64_t size) noexcept nogil:
    """Append bytes; the caller has reserved the space."""
    out.size = lay_bytes(out.data + out.size, data, size) - out.data


cdef inline void put_byte(Output *out, uint8_t byte) noexcept nogil:
    out.data[out.size] = byte
    out.size += 1


cdef inline void put_unsigned(Output *out, uint64_t value) noexcept nogil:
    out.size = lay_unsigned(out.data + out.size, value) - out.data


cdef inline void put_signed(Output *out, int64_t value) noexcept nogil:
    out.size = lay_signed(out.data + out.size, value) - out.data


cdef inline uint8_t *lay_hexadecimal(uint8_t *target, const uint8_t *data, int64_t size) noexcept nogil:
    """Write bytes as two digits each, in lower case."""
    cdef const char *digits = b"0123456789abcdef"
    cdef int64_t i
    for i in range(size):
        target[2 * i] = digits[data[i] >> 4]
        target[2 * i + 1] = digits[data[i] & 15]
    return target + 2 * size


cdef inline void put_hexadecimal(Output *out, const uint8_t *data, int64_t size) noexcept nogil:
    out.size = lay_hexadecimal(out.data + out.size, data, size) - out.data


cdef inline int hexadecimal_value(uint8_t digit) noexcept nogil:
    """Return the value of a hexadecimal digit in either case; -1 if it is none."""
    if c"0" <= digit <= c"9":
        return digit - c"0"
    digit |= 0x20
    return digit - c"a" + 10 if c"a" <= digit <= c"f" else -1


cdef inline void lay_out_date(int64_t day, uint8_t *text) noexcept nogil:
    """Write a day since 1970 as ``YYYY-MM-DD``; the years 1 to 9999 (H. Hinnant, civil_from_days)."""
    cdef int64_t shifted = day + ERA_DAYS
    cdef int64_t era = shifted // 146097
    cdef int day_of_era = <int> (shifted - era * 146097)
    cdef int year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    cdef int day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    cdef int month = (5 * day_of_year + 2) // 153
    cdef int year = <int> (year_of_era + era * 400)
    lay_pair(text + 8, day_of_year - (153 * month + 2) // 5 + 1)
    month += 3 if month < 10 else -9
    year += month <= 2
    lay_pair(text, year // 100)
    lay_pair(text + 2, year % 100)
    text[4] = c"-"
    lay_pair(text + 5, month)
    text[7] = c"-"


cdef inline void lay_out_clock(int second, uint8_t *text) noexcept nogil:
    """Write a second of a day as ``HH:MM:SS``."""
    lay_pair(text, second // 3600)
    text[2] = c":"
    lay_pair(text + 3, second // 60 % 60)
    text[5] = c":"
    lay_pair(text + 6, second % 60)


cdef inline void put_fraction(Output *out, int microsecond) noexcept nogil:
    """Append a point and six decimals."""
    put_byte(out, c".")
    out.size = lay_padded(out.data + out.size, microsecond, 6) - out.data
