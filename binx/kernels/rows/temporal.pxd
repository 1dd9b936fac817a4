# cython: language_level=3
"""Decode dates and times of row images into Arrow integers, or into the server's text if Arrow has no such value.

Sources: ``my_datetime_packed_from_binary``, ``my_time_packed_from_binary`` and
``my_timestamp_from_binary`` in MySQL's ``sql-common/my_time.cc``; ``Field_newdate``, ``Field_timestamp``,
``Field_datetime`` and ``Field_time`` in ``sql/field.cc`` for the encodings before 5.6.4.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdio cimport snprintf

from binx.kernels.calendar cimport SECOND, days_of, real_date
from binx.kernels.cursor cimport big, little

cdef enum:
    TEXT_SIZE = 64
    # Seconds of 839 hours; a TIME is shorter.
    MOST_SECONDS = 3020400

cdef struct DateTime:
    int year
    int month
    int day
    int hour
    int minute
    int second
    int microsecond


cdef inline bint real_datetime(const DateTime *value) noexcept nogil:
    return real_date(value.year, value.month, value.day) and value.hour < 24 and value.minute < 60 and value.second < 60


cdef inline int64_t microseconds_of(const DateTime *value) noexcept nogil:
    return (
        (days_of(value.year, value.month, value.day) * 24 + value.hour) * 3600 + value.minute * 60 + value.second
    ) * SECOND + value.microsecond


cdef inline int64_t fraction_of(const uint8_t *data, int digits) noexcept nogil:
    """Return the µs of a second's fraction; 1 to 3 bytes hold hundredths, ten-thousandths or millionths."""
    if digits == 0:
        return 0
    if digits <= 2:
        return <int64_t> data[0] * 10000
    if digits <= 4:
        return <int64_t> big(data, 2) * 100
    return <int64_t> big(data, 3)


cdef inline void read_date(const uint8_t *data, DateTime *value) noexcept nogil:
    """Decode a DATE: 24 bits, little-endian: year × 512 + month × 32 + day."""
    cdef int packed = <int> little(data, 3)
    value.year = packed >> 9
    value.month = (packed >> 5) & 15
    value.day = packed & 31
    value.hour = value.minute = value.second = value.microsecond = 0


cdef inline void read_datetime2(const uint8_t *data, int digits, DateTime *value) noexcept nogil:
    """Decode a DATETIME of 5.6.4 and later.

    40 bits, big-endian: sign, year × 13 + month (17), day (5), hour (5), minute (6), second (6); then the fraction.
    """
    cdef uint64_t packed = big(data, 5) ^ (<uint64_t> 1 << 39)
    cdef int year_month = <int> ((packed >> 22) & 0x1FFFF)
    value.year = year_month // 13
    value.month = year_month % 13
    value.day = <int> ((packed >> 17) & 31)
    value.hour = <int> ((packed >> 12) & 31)
    value.minute = <int> ((packed >> 6) & 63)
    value.second = <int> (packed & 63)
    value.microsecond = <int> fraction_of(data + 5, digits)


cdef inline int64_t scale_of(int digits) noexcept nogil:
    """Return the µs in the last of ``digits`` digits of a second's fraction."""
    cdef int64_t scale = SECOND
    cdef int i
    for i in range(digits):
        scale //= 10
    return scale


cdef inline void read_packed_datetime(const uint8_t *data, int width, int digits, DateTime *value) noexcept nogil:
    """Decode a DATETIME(n) of MariaDB before 10.1.

    Big-endian units of the last digit, as if all months had 32 days and all years 13 months (``pack_time`` in
    sql-common/my_time.c, ``Field_datetime_hires``).
    """
    cdef uint64_t packed = big(data, width) * <uint64_t> scale_of(digits)
    value.microsecond = <int> (packed % SECOND)
    packed //= SECOND
    value.second = <int> (packed % 60)
    packed //= 60
    value.minute = <int> (packed % 60)
    packed //= 60
    value.hour = <int> (packed % 24)
    packed //= 24
    value.day = <int> (packed % 32)
    packed //= 32
    value.month = <int> (packed % 13)
    value.year = <int> (packed // 13 % 10000)


cdef inline int64_t old_timestamp_of(const uint8_t *data, int width, int digits) noexcept nogil:
    """Decode a TIMESTAMP before 5.6.4 to µs: seconds, little-endian.

    With a fraction, in MariaDB before 10.1: seconds, big-endian, then units of the last digit
    (``Field_timestamp_hires``).
    """
    if digits == 0:
        return <int64_t> little(data, 4) * SECOND
    return <int64_t> big(data, 4) * SECOND + <int64_t> big(data + 4, width - 4) * scale_of(digits)


cdef inline void read_old_datetime(const uint8_t *data, int width, int digits, DateTime *value) noexcept nogil:
    """Decode a DATETIME before 5.6.4: the decimal number YYYYMMDDhhmmss in 64 bits, or MariaDB's form with a fraction."""
    cdef uint64_t packed = little(data, 8) if digits == 0 else 0
    cdef uint64_t date = packed // 1000000
    cdef uint64_t time = packed % 1000000
    if digits:
        read_packed_datetime(data, width, digits, value)
        return
    value.year = <int> (date // 10000 % 10000)
    value.month = <int> (date // 100 % 100)
    value.day = <int> (date % 100)
    value.hour = <int> (time // 10000)
    value.minute = <int> (time // 100 % 100)
    value.second = <int> (time % 100)
    value.microsecond = 0


cdef inline int64_t time2_of(const uint8_t *data, int digits) noexcept nogil:
    """Decode a TIME of 5.6.4 and later to µs: 24 bits, big-endian, biased by 2^23, then the fraction.

    Hour (10 bits), minute (6), second (6); a negative time is the two's complement of the whole, fraction included.
    """
    cdef int width = (digits + 1) // 2
    cdef uint64_t packed = big(data, 3 + width)
    cdef int64_t whole = <int64_t> packed - (<int64_t> 1 << (23 + 8 * width))
    cdef bint negative = whole < 0
    cdef int64_t magnitude = -whole if negative else whole
    cdef int64_t clock = magnitude >> (8 * width)
    cdef int64_t fraction = magnitude & ((<int64_t> 1 << (8 * width)) - 1)
    cdef int64_t result
    if width == 1:
        fraction *= 10000
    elif width == 2:
        fraction *= 100
    result = (((clock >> 12) & 0x3FF) * 3600 + ((clock >> 6) & 63) * 60 + (clock & 63)) * SECOND + fraction
    return -result if negative else result


cdef inline int64_t old_time_of(const uint8_t *data, int width, int digits) noexcept nogil:
    """Decode a TIME before 5.6.4 to µs: the decimal number hhmmss, 24 bits with sign.

    With a fraction, in MariaDB before 10.1: units of the last digit, big-endian, plus 839 hours
    (``Field_time_hires``).
    """
    cdef int64_t packed
    cdef int64_t magnitude
    if digits:
        return (<int64_t> big(data, width) - MOST_SECONDS * (SECOND // scale_of(digits))) * scale_of(digits)
    packed = <int64_t> little(data, 3)
    if packed & 0x800000:
        packed -= 0x1000000
    magnitude = -packed if packed < 0 else packed
    magnitude = (magnitude // 10000 * 3600 + magnitude // 100 % 100 * 60 + magnitude % 100) * SECOND
    return -magnitude if packed < 0 else magnitude


cdef inline int date_text(const DateTime *value, char *text) noexcept nogil:
    """Write a date as the server prints it, at most TEXT_SIZE bytes; returns the length."""
    return snprintf(text, TEXT_SIZE, b"%04d-%02d-%02d", value.year, value.month, value.day)


cdef inline int datetime_text(const DateTime *value, int digits, char *text) noexcept nogil:
    cdef int size = snprintf(
        text, TEXT_SIZE, b"%04d-%02d-%02d %02d:%02d:%02d",
        value.year, value.month, value.day, value.hour, value.minute, value.second,
    )
    cdef int i
    cdef int scaled = value.microsecond
    if digits:
        for i in range(6 - digits):
            scaled //= 10
        size += snprintf(text + size, TEXT_SIZE - size, b".%0*d", digits, scaled)
    return size
