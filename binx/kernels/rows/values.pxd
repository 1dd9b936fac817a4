# cython: language_level=3
"""One value of a row image as one value of an Arrow column, by the column's codec."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy, memset

from binx.kernels.rows.buffers cimport *
from binx.kernels.cursor cimport Cursor, big, cursor_over, little, take
from binx.kernels.rows.decimal cimport decimal_to_int128, render_decimal
from binx.kernels.json.documents cimport render
from binx.kernels.output cimport Output, append, reserve
from binx.kernels.rows.temporal cimport *

cdef enum:
    # Arrow's 32-bit offsets; a batch is handed over long before.
    DATA_MAXIMUM = 0x7FFFFFFF

cdef inline int too_large(Cursor image) except -1 with gil:
    from binx.errors import UnsupportedError

    raise UnsupportedError(
        "the values of one column exceed 2 GiB in one batch; lower --memory or --row-group-rows",
        offset=image.origin + image.position,
    )


cdef inline int bad_value(Cursor image, str message) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(message, offset=image.origin + image.position)


cdef inline int decode_value(
    Cursor *image, Column *column, int64_t row, char *text, int *text_size
) except -1 nogil:
    """Write a value that is neither absent nor null as the column's value of a row.

    A value that the Arrow type cannot hold writes nothing but what the server prints for it into ``text``
    (TEXT_SIZE bytes) and its length into ``text_size``.
    """
    cdef uint8_t *target = column.values.data + row * column.item
    cdef const uint8_t *data
    cdef int64_t size
    cdef int64_t number
    cdef DateTime moment
    cdef Cursor inner
    cdef uint8_t codec = column.codec
    if column.prefix:
        data = take(image, column.prefix)
        size = <int64_t> little(data, column.prefix)
        data = take(image, size)
    else:
        size = column.width
        data = take(image, size)
    # Compared with single codecs alone, so that it is one jump.
    if codec == CODEC_COPY1 or codec == CODEC_COPY2 or codec == CODEC_COPY4 or codec == CODEC_COPY8:
        memcpy(target, data, column.item)
    elif codec == CODEC_BYTES or codec == CODEC_PADDED:
        if column.data.size + size + column.parameter > DATA_MAXIMUM:
            too_large(image[0])
        append(&column.data, data, size)
        if codec == CODEC_PADDED and size < column.parameter:
            reserve(&column.data, column.parameter - size)
            memset(column.data.data + column.data.size, 0, column.parameter - size)
            column.data.size += column.parameter - size
        (<int32_t *> target)[1] = <int32_t> column.data.size
    elif codec == CODEC_DECIMAL:
        decimal_to_int128(data, column.parameter >> 8, column.parameter & 255, target)
    elif codec == CODEC_DATETIME:
        read_datetime2(data, column.parameter, &moment)
        if not real_datetime(&moment):
            text_size[0] = datetime_text(&moment, column.parameter, text)
            return 0
        (<int64_t *> target)[0] = microseconds_of(&moment)
    elif codec == CODEC_TIMESTAMP or codec == CODEC_OLD_TIMESTAMP:
        if codec == CODEC_TIMESTAMP:
            number = <int64_t> big(data, 4) * SECOND + fraction_of(data + 4, column.parameter)
        else:
            number = old_timestamp_of(data, <int> size, column.parameter)
        if number == 0:
            memset(&moment, 0, sizeof(DateTime))
            text_size[0] = datetime_text(&moment, column.parameter, text)
            return 0
        (<int64_t *> target)[0] = number
    elif codec == CODEC_UINT32:
        (<int64_t *> target)[0] = <int64_t> little(data, 4)
    elif codec == CODEC_UINT8:
        (<int16_t *> target)[0] = data[0]
    elif codec == CODEC_UINT16:
        (<int32_t *> target)[0] = <int32_t> little(data, 2)
    elif codec == CODEC_UINT24:
        (<int32_t *> target)[0] = <int32_t> little(data, 3)
    elif codec == CODEC_INT24:
        number = <int64_t> little(data, 3)
        (<int32_t *> target)[0] = <int32_t> (number - 0x1000000 if number & 0x800000 else number)
    elif codec == CODEC_UINT64_DECIMAL:
        memcpy(target, data, 8)
        memset(target + 8, 0, 8)
    elif codec == CODEC_DATE:
        read_date(data, &moment)
        if not real_date(moment.year, moment.month, moment.day):
            text_size[0] = date_text(&moment, text)
            return 0
        (<int32_t *> target)[0] = <int32_t> days_of(moment.year, moment.month, moment.day)
    elif codec == CODEC_OLD_DATETIME:
        read_old_datetime(data, <int> size, column.parameter, &moment)
        if not real_datetime(&moment):
            text_size[0] = datetime_text(&moment, column.parameter, text)
            return 0
        (<int64_t *> target)[0] = microseconds_of(&moment)
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
    elif codec == CODEC_ENUM:
        number = <int64_t> little(data, <int> size)
        if number > column.parameter:
            text_size[0] = snprintf(text, TEXT_SIZE, b"%lld", <long long> number)
            return 0
        (<int32_t *> target)[0] = <int32_t> number
    elif codec == CODEC_ENUM_NUMBER:
        (<uint16_t *> target)[0] = <uint16_t> little(data, <int> size)
    elif codec == CODEC_SET:
        (<uint64_t *> target)[0] = little(data, <int> size)
    elif codec == CODEC_JSON:
        inner = column.document = cursor_over(data, size, image.origin + image.position - size)
        column.typed = render(&inner, &column.data)
        if column.data.size > DATA_MAXIMUM:
            too_large(image[0])
        (<int32_t *> target)[1] = <int32_t> column.data.size
    elif codec == CODEC_DECIMAL_TEXT:
        render_decimal(data, column.parameter >> 8, column.parameter & 255, &column.data)
        if column.data.size > DATA_MAXIMUM:
            too_large(image[0])
        (<int32_t *> target)[1] = <int32_t> column.data.size
    elif codec == CODEC_GEOMETRY:
        if size == 0:
            # MariaDB gives it to rows that a NOT NULL column is added to.
            append(&column.extra, <const char *> b"\0\0\0\0", 4)
            (<int32_t *> target)[1] = <int32_t> column.data.size
            return 0
        if size < 4:
            bad_value(image[0], "expected a geometry of at least 4 bytes, its SRID, found fewer")
        if column.data.size + size > DATA_MAXIMUM:
            too_large(image[0])
        append(&column.extra, data, 4)
        append(&column.data, data + 4, size - 4)
        (<int32_t *> target)[1] = <int32_t> column.data.size
    return 0
