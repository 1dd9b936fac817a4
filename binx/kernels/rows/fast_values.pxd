# cython: language_level=3
"""The short ways: values of common columns decoded without a call, and by what a column's values have in common.

A way writes a value as ``decode_value`` does, or says that it has none for this one, and takes nothing then:
values that Arrow cannot hold and damage are left to ``decode_value``.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.rows.buffers cimport *
from binx.kernels.cursor cimport Cursor, big_within, little, remaining, take
from binx.kernels.output cimport reserve
from binx.kernels.rows.decimal cimport SMALL_PRECISION, bytes_of_digits, decimal_size, digits_before, power_of_ten
from binx.kernels.rows.temporal cimport SECOND, DateTime, days_of, real_date
from binx.kernels.rows.values cimport DATA_MAXIMUM, too_large

cdef enum Way:
    WAY_NONE
    WAY_COPY1
    WAY_COPY2
    WAY_COPY4
    WAY_COPY8
    WAY_UINT8
    WAY_UINT16
    WAY_UINT32
    WAY_BYTES
    WAY_DECIMAL
    WAY_DATETIME
    WAY_TIMESTAMP
    WAY_DATE
    WAY_ENUM

cdef enum:
    # Bytes that are copied whatever a value's size, where both sides have room for them.
    SHORT = 32


cdef inline void choose_way(Column *column) noexcept nogil:
    """Find a column's way, once codec, prefix, width and parameter are known."""
    cdef int precision = column.parameter >> 8
    cdef int scale = column.parameter & 255
    cdef int high
    cdef int middle
    cdef int low
    column.way = WAY_NONE
    # A day that no value has.
    column.last_day = -1
    if column.codec == CODEC_COPY1:
        column.way = WAY_COPY1
    elif column.codec == CODEC_COPY2:
        column.way = WAY_COPY2
    elif column.codec == CODEC_COPY4:
        column.way = WAY_COPY4
    elif column.codec == CODEC_COPY8:
        column.way = WAY_COPY8
    elif column.codec == CODEC_UINT8:
        column.way = WAY_UINT8
    elif column.codec == CODEC_UINT16:
        column.way = WAY_UINT16
    elif column.codec == CODEC_UINT32:
        column.way = WAY_UINT32
    elif column.codec == CODEC_BYTES and column.prefix:
        column.way = WAY_BYTES
    elif column.codec == CODEC_DATETIME:
        column.way = WAY_DATETIME
    elif column.codec == CODEC_TIMESTAMP:
        column.way = WAY_TIMESTAMP
    elif column.codec == CODEC_DATE:
        column.way = WAY_DATE
    elif column.codec == CODEC_ENUM:
        column.way = WAY_ENUM
    elif column.codec == CODEC_DECIMAL and precision <= SMALL_PRECISION and decimal_size(precision, scale) <= 8:
        high = digits_before(precision, scale, 0)
        low = digits_before(precision, scale, high)
        middle = 0
        if high + low < precision:
            middle = low
            low = digits_before(precision, scale, high + middle)
        if high + middle + low == precision:
            column.high_limit = power_of_ten(high)
            column.middle_limit = power_of_ten(middle)
            column.low_limit = power_of_ten(low)
            column.middle_bits = 8 * bytes_of_digits(middle)
            column.low_bits = 8 * bytes_of_digits(low)
            column.way = WAY_DECIMAL


cdef inline int64_t copy_bytes(Cursor *image, Column *column, int64_t row) except -1 nogil:
    """Append a value of bytes; returns how many."""
    cdef int64_t size = <int64_t> little(take(image, column.prefix), column.prefix)
    cdef bint short = size <= SHORT and remaining(image) >= SHORT
    cdef const uint8_t *data = take(image, size)
    if column.data.size + size > DATA_MAXIMUM:
        too_large(image[0])
    if short:
        reserve(&column.data, SHORT)
        memcpy(column.data.data + column.data.size, data, SHORT)
    elif size:
        reserve(&column.data, size)
        memcpy(column.data.data + column.data.size, data, size)
    column.data.size += size
    (<int32_t *> column.values.data)[row + 1] = <int32_t> column.data.size
    return size


cdef inline bint short_decimal(const Cursor *image, const uint8_t *data, Column *column, int64_t row) noexcept nogil:
    """A DECIMAL of one to three groups of digits in at most eight bytes, see ``decimal.pxd``."""
    cdef uint64_t word = big_within(image, data, column.width)
    cdef uint64_t sign = <uint64_t> 1 << (8 * column.width - 1)
    cdef int64_t negative = -<int64_t> ((word & sign) == 0)
    cdef uint64_t bits = (word ^ <uint64_t> negative ^ sign) & (sign | (sign - 1))
    cdef int64_t high = <int64_t> (bits >> column.low_bits >> column.middle_bits)
    cdef int64_t middle = <int64_t> (bits >> column.low_bits & (((<uint64_t> 1) << column.middle_bits) - 1))
    cdef int64_t low = <int64_t> (bits & (((<uint64_t> 1) << column.low_bits) - 1))
    cdef int64_t *out = <int64_t *> (column.values.data + row * 16)
    if high >= column.high_limit or middle >= column.middle_limit or low >= column.low_limit:
        return False
    # Negated where all bits of `negative` are set.
    out[0] = (((high * column.middle_limit + middle) * column.low_limit + low) ^ negative) - negative
    out[1] = -<int64_t> (out[0] < 0)
    return True


cdef inline bint knows_day(Column *column, int64_t day, int year, int month, int day_of_month) noexcept nogil:
    """Have ``midnight`` tell of a day, mostly that of the row before; False where the calendar has none such."""
    if not real_date(year, month, day_of_month):
        return False
    column.midnight = days_of(year, month, day_of_month)
    column.last_day = day
    return True


cdef inline int64_t fraction_unit(int digits) noexcept nogil:
    """The microseconds of what a second's fraction counts: of two, four or six digits."""
    return 10000 if digits <= 2 else 100 if digits <= 4 else 1


cdef inline bint short_datetime(const Cursor *image, const uint8_t *data, Column *column, int64_t row) noexcept nogil:
    """DATETIME, see ``read_datetime2``."""
    cdef int fraction_bits = 8 * (column.width - 5)
    cdef uint64_t word = big_within(image, data, column.width)
    cdef int64_t packed = <int64_t> (word >> fraction_bits ^ <uint64_t> 1 << 39)
    cdef int64_t fraction = <int64_t> (word & ((<uint64_t> 1 << fraction_bits) - 1))
    cdef int64_t day = packed >> 17
    cdef int64_t hour = packed >> 12 & 31
    cdef int64_t minute = packed >> 6 & 63
    cdef int64_t second = packed & 63
    cdef int year_month = <int> (day >> 5 & 0x1FFFF)
    if hour >= 24 or minute >= 60 or second >= 60 or packed >> 39:
        return False
    if day != column.last_day and not knows_day(column, day, year_month // 13, year_month % 13, <int> (day & 31)):
        return False
    (<int64_t *> column.values.data)[row] = (
        ((column.midnight * 24 + hour) * 3600 + minute * 60 + second) * SECOND
        + fraction * fraction_unit(column.parameter)
    )
    return True


cdef inline bint short_timestamp(const Cursor *image, const uint8_t *data, Column *column, int64_t row) noexcept nogil:
    """TIMESTAMP: seconds, big-endian, and the fraction; 0 is no time."""
    cdef int fraction_bits = 8 * (column.width - 4)
    cdef uint64_t word = big_within(image, data, column.width)
    cdef int64_t fraction = <int64_t> (word & ((<uint64_t> 1 << fraction_bits) - 1))
    (<int64_t *> column.values.data)[row] = (
        <int64_t> (word >> fraction_bits) * SECOND + fraction * fraction_unit(column.parameter)
    )
    return word != 0


cdef inline bint short_date(const uint8_t *data, Column *column, int64_t row) noexcept nogil:
    """DATE, see ``read_date``."""
    cdef int packed = data[0] | data[1] << 8 | data[2] << 16
    if packed != column.last_day and not knows_day(column, packed, packed >> 9, packed >> 5 & 15, packed & 31):
        return False
    (<int32_t *> column.values.data)[row] = <int32_t> column.midnight
    return True


cdef inline bint short_enum(const uint8_t *data, Column *column, int64_t row) noexcept nogil:
    """ENUM of one or two bytes."""
    cdef int32_t number = <int32_t> little(data, column.width)
    (<int32_t *> column.values.data)[row] = number
    return number <= column.parameter
