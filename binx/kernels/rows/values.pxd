# cython: language_level=3
"""Decode one value of a row image into an Arrow column, by the column's codec."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset

from binx.kernels.calendar cimport SECOND, days_of, real_date
from binx.kernels.cursor cimport Cursor, big, big_within, cursor_over, little, remaining, take
from binx.kernels.json.documents cimport render
from binx.kernels.output cimport OFFSET_MAXIMUM, append, reserve
from binx.kernels.rows.images cimport *
from binx.kernels.rows.decimal cimport *
from binx.kernels.rows.temporal cimport *

cdef enum:
    # Bytes that are copied for any shorter value, if both sides have as many.
    SHORT = 32


cdef inline int too_large(Cursor image) except -1 with gil:
    from binx.errors import UnsupportedError

    raise UnsupportedError(
        "the values of one column exceed 2 GiB in one batch; lower --memory or --row-group-rows",
        offset=image.origin + image.position,
    )


cdef inline int bad_geometry(Cursor image) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        "expected a geometry of at least 4 bytes, its SRID, found fewer", offset=image.origin + image.position
    )


cdef inline void prepare(Column *column) noexcept nogil:
    """Set whether `decode_common` handles the codec, and a DECIMAL's groups of digits; all else is set before."""
    cdef int precision = column.parameter >> 8
    cdef int scale = column.parameter & 255
    cdef int high
    cdef int low
    cdef int middle = 0
    # No value has this day.
    column.last_day = -1
    column.is_common = (
        CODEC_COPY1 <= column.codec <= CODEC_UINT16
        or column.codec == CODEC_UINT32
        or column.codec == CODEC_DATE
        or column.codec == CODEC_DATETIME
        or column.codec == CODEC_TIMESTAMP
        or column.codec == CODEC_ENUM
    )
    if column.codec != CODEC_DECIMAL or precision > 18 or decimal_size(precision, scale) > 8:
        return
    high = digits_before(precision, scale, 0)
    low = digits_before(precision, scale, high)
    if high + low < precision:
        middle = low
        low = digits_before(precision, scale, high + middle)
    if high + middle + low == precision:
        column.high_limit = power_of_ten(high)
        column.middle_limit = power_of_ten(middle)
        column.low_limit = power_of_ten(low)
        column.middle_bits = 8 * bytes_of_digits(middle)
        column.low_bits = 8 * bytes_of_digits(low)
        column.is_common = True


cdef inline bint short_decimal(const Cursor *image, const uint8_t *data, Column *column, int64_t *out) noexcept nogil:
    """Decode a DECIMAL of one to three groups of digits, see ``decimal.pxd``; False if a group has too many digits."""
    cdef uint64_t word = big_within(image, data, column.width)
    cdef uint64_t sign = <uint64_t> 1 << (8 * column.width - 1)
    cdef int64_t negative = -<int64_t> ((word & sign) == 0)
    cdef uint64_t bits = (word ^ <uint64_t> negative ^ sign) & (sign | (sign - 1))
    cdef int64_t high = <int64_t> (bits >> column.low_bits >> column.middle_bits)
    cdef int64_t middle = <int64_t> (bits >> column.low_bits & (((<uint64_t> 1) << column.middle_bits) - 1))
    cdef int64_t low = <int64_t> (bits & (((<uint64_t> 1) << column.low_bits) - 1))
    if high >= column.high_limit or middle >= column.middle_limit or low >= column.low_limit:
        return False
    # Negated if all bits of `negative` are set.
    out[0] = (((high * column.middle_limit + middle) * column.low_limit + low) ^ negative) - negative
    out[1] = -<int64_t> (out[0] < 0)
    return True


cdef inline bint knows_day(Column *column, int64_t day, int year, int month, int day_of_month) noexcept nogil:
    """Set ``midnight`` and ``last_day`` to a date, which the next rows often repeat; False if it does not exist."""
    if not real_date(year, month, day_of_month):
        return False
    column.midnight = days_of(year, month, day_of_month)
    column.last_day = day
    return True


cdef inline int64_t fraction_unit(int digits) noexcept nogil:
    """Return the µs per unit of a stored fraction, which has two, four or six digits."""
    return 10000 if digits <= 2 else 100 if digits <= 4 else 1


cdef inline bint short_datetime(const Cursor *image, const uint8_t *data, Column *column, int64_t *out) noexcept nogil:
    """Decode a DATETIME, see ``read_datetime2``; False if it does not exist."""
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
    out[0] = (
        ((column.midnight * 24 + hour) * 3600 + minute * 60 + second) * SECOND
        + fraction * fraction_unit(column.parameter)
    )
    return True


cdef inline bint short_timestamp(const Cursor *image, const uint8_t *data, Column *column, int64_t *out) noexcept nogil:
    """Decode a TIMESTAMP: seconds, big-endian, and the fraction; False for 0, which is not a time."""
    cdef int fraction_bits = 8 * (column.width - 4)
    cdef uint64_t word = big_within(image, data, column.width)
    cdef int64_t fraction = <int64_t> (word & ((<uint64_t> 1 << fraction_bits) - 1))
    out[0] = (
        <int64_t> (word >> fraction_bits) * SECOND + fraction * fraction_unit(column.parameter)
    )
    return word != 0


cdef inline bint short_date(const uint8_t *data, Column *column, int32_t *out) noexcept nogil:
    """Decode a DATE, see ``read_date``; False if it does not exist."""
    cdef int packed = data[0] | data[1] << 8 | data[2] << 16
    if packed != column.last_day and not knows_day(column, packed, packed >> 9, packed >> 5 & 15, packed & 31):
        return False
    out[0] = <int32_t> column.midnight
    return True


cdef inline bint short_enum(const uint8_t *data, Column *column, int32_t *out) noexcept nogil:
    """Decode an ENUM of one or two bytes; False if the number is above ``parameter``."""
    cdef int32_t number = <int32_t> little(data, column.width)
    out[0] = number
    return number <= column.parameter


cdef inline int put_bytes(Column *column, const uint8_t *data, int64_t size, int64_t readable) except -1 nogil:
    """Append bytes; short values are copied as one block of SHORT bytes, if as many are ``readable``."""
    reserve(&column.data, size if size > SHORT else SHORT)
    if size <= SHORT and readable >= SHORT:
        memcpy(column.data.data + column.data.size, data, SHORT)
    elif size:
        memcpy(column.data.data + column.data.size, data, size)
    column.data.size += size
    return 0


cdef inline int64_t decode_common(Cursor *image, Column *column, int64_t row) except -2 nogil:
    """Write a value of a common codec as the column's value in a row; returns its bytes in ``data``.

    Returns -1, without taking anything, if the codec is another or Arrow has no such value; `decode_rare` handles these.
    """
    cdef uint8_t *target = column.values.data + row * column.item
    cdef const uint8_t *data
    cdef int64_t number
    cdef uint8_t codec = column.codec
    if codec == CODEC_BYTES:
        number = <int64_t> little(take(image, column.prefix), column.prefix)
        if column.data.size + number > OFFSET_MAXIMUM:
            too_large(image[0])
        data = take(image, number)
        put_bytes(column, data, number, number + remaining(image))
        (<int32_t *> target)[1] = <int32_t> column.data.size
        return number
    if not column.is_common:
        return -1
    data = take(image, column.width)
    # Each comparison is with a single codec, so that the compiler makes it one jump.
    if codec == CODEC_COPY4:
        memcpy(target, data, 4)
    elif codec == CODEC_COPY8:
        memcpy(target, data, 8)
    elif codec == CODEC_COPY1:
        target[0] = data[0]
    elif codec == CODEC_COPY2:
        memcpy(target, data, 2)
    elif codec == CODEC_UINT8:
        (<int16_t *> target)[0] = data[0]
    elif codec == CODEC_UINT16:
        (<int32_t *> target)[0] = <int32_t> little(data, 2)
    elif codec == CODEC_UINT32:
        (<int64_t *> target)[0] = <int64_t> little(data, 4)
    elif codec == CODEC_DECIMAL and short_decimal(image, data, column, <int64_t *> target):
        pass
    elif codec == CODEC_DATETIME and short_datetime(image, data, column, <int64_t *> target):
        pass
    elif codec == CODEC_TIMESTAMP and short_timestamp(image, data, column, <int64_t *> target):
        pass
    elif codec == CODEC_DATE and short_date(data, column, <int32_t *> target):
        pass
    elif codec == CODEC_ENUM and short_enum(data, column, <int32_t *> target):
        pass
    else:
        image.position -= column.width
        return -1
    return 0


cdef inline int decode_rare(Cursor *image, Column *column, int64_t row, char *text) except -1 nogil:
    """Write a value that `decode_common` does not handle; returns 0.

    If the Arrow type cannot hold the value, writes the server's text for it to ``text`` (TEXT_SIZE bytes) instead, and
    returns the text's length.
    """
    cdef uint8_t *target = column.values.data + row * column.item
    cdef const uint8_t *data
    cdef int64_t size = column.width
    cdef int64_t number
    cdef DateTime moment
    cdef Cursor inner
    cdef uint8_t codec = column.codec
    if column.prefix:
        size = <int64_t> little(take(image, column.prefix), column.prefix)
        if column.data.size + size + column.parameter > OFFSET_MAXIMUM:
            too_large(image[0])
    data = take(image, size)
    if codec == CODEC_DECIMAL:
        decimal_to_int128(data, column.parameter >> 8, column.parameter & 255, target)
    elif codec == CODEC_DATETIME:
        read_datetime2(data, column.parameter, &moment)
        return datetime_text(&moment, column.parameter, text)
    elif codec == CODEC_DATE:
        read_date(data, &moment)
        return date_text(&moment, text)
    elif codec == CODEC_ENUM:
        return snprintf(text, TEXT_SIZE, b"%lld", <long long> little(data, <int> size))
    elif codec == CODEC_OLD_DATETIME:
        read_old_datetime(data, <int> size, column.parameter, &moment)
        if not real_datetime(&moment):
            return datetime_text(&moment, column.parameter, text)
        (<int64_t *> target)[0] = microseconds_of(&moment)
    elif codec == CODEC_TIMESTAMP or codec == CODEC_OLD_TIMESTAMP:
        number = 0 if codec == CODEC_TIMESTAMP else old_timestamp_of(data, <int> size, column.parameter)
        if number == 0:
            memset(&moment, 0, sizeof(DateTime))
            return datetime_text(&moment, column.parameter, text)
        (<int64_t *> target)[0] = number
    elif codec == CODEC_UINT24:
        (<int32_t *> target)[0] = <int32_t> little(data, 3)
    elif codec == CODEC_INT24:
        number = <int64_t> little(data, 3)
        (<int32_t *> target)[0] = <int32_t> (number - 0x1000000 if number & 0x800000 else number)
    elif codec == CODEC_UINT64_DECIMAL:
        memcpy(target, data, 8)
        memset(target + 8, 0, 8)
    elif codec == CODEC_TIME:
        (<int64_t *> target)[0] = time2_of(data, column.parameter)
    elif codec == CODEC_OLD_TIME:
        (<int64_t *> target)[0] = old_time_of(data, <int> size, column.parameter)
    elif codec == CODEC_YEAR:
        (<int16_t *> target)[0] = <int16_t> (data[0] + 1900 if data[0] else 0)
    elif codec == CODEC_BITS:
        (<uint64_t *> target)[0] = big(data, <int> size)
    elif codec == CODEC_BOOL:
        target[0] = data[0] & 1
    elif codec == CODEC_ENUM_NUMBER:
        (<uint16_t *> target)[0] = <uint16_t> little(data, <int> size)
    elif codec == CODEC_SET:
        (<uint64_t *> target)[0] = little(data, <int> size)
    elif codec == CODEC_PADDED:
        append(&column.data, data, size)
        if size < column.parameter:
            reserve(&column.data, column.parameter - size)
            memset(column.data.data + column.data.size, 0, column.parameter - size)
            column.data.size += column.parameter - size
        (<int32_t *> target)[1] = <int32_t> column.data.size
    elif codec == CODEC_JSON or codec == CODEC_DECIMAL_TEXT:
        if codec == CODEC_JSON:
            inner = column.document = cursor_over(data, size, image.origin + image.position - size)
            column.typed = render(&inner, column.parameter != 0, &column.data)
        else:
            render_decimal(data, column.parameter >> 8, column.parameter & 255, &column.data)
        if column.data.size > OFFSET_MAXIMUM:
            too_large(image[0])
        (<int32_t *> target)[1] = <int32_t> column.data.size
    elif codec == CODEC_GEOMETRY:
        # When a NOT NULL column is added, MariaDB gives existing rows an empty one.
        if 0 < size < 4:
            bad_geometry(image[0])
        append(&column.extra, data if size else <const uint8_t *> b"\0\0\0\0", 4)
        append(&column.data, data + 4, size - 4 if size else 0)
        (<int32_t *> target)[1] = <int32_t> column.data.size
    return 0
