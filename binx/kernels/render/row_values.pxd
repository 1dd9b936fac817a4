# cython: language_level=3
"""Render one part of a row change: a column's value in its format, and the text around it.

A long value is written in steps, so that no piece of the output grows with its size.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr

from binx.kernels.bitmaps cimport bit_at
from binx.kernels.json.text cimport put_base64
from binx.kernels.output cimport Output, reserve
from binx.kernels.digits cimport lay_bytes, lay_signed, lay_unsigned, put, put_byte, put_hexadecimal
from binx.kernels.render.transactions cimport *
from binx.kernels.render.spelling cimport *


cdef inline int bad_column() except -1 with gil:
    raise ValueError("a column does not fit the rows that are asked for")


cdef inline int64_t row_of(const Part *part, int64_t change) noexcept nogil:
    return part.rows[change] if part.rows != NULL else change


cdef inline uint8_t *lay_text(uint8_t *target, const Part *part, int text) noexcept nogil:
    return lay_bytes(target, part.texts[text].data, part.texts[text].size)


cdef inline uint8_t *begin_item(Writer *writer, uint8_t *target, const Part *part) noexcept nogil:
    """Write a comma before each item of a list except the first."""
    if part.listed:
        if writer.listed:
            target = lay_bytes(target, b", ", 2)
        writer.listed = True
    return target


cdef inline int write_part(Writer *writer, Part *part, int64_t change) except -1 nogil:
    """Write one part of a row change, or continue it; returns a State."""
    cdef Output *out = &writer.out
    cdef uint8_t *target
    cdef int64_t i
    cdef Bytes value
    if writer.byte >= 0:
        value_at(part, row_of(part, change) + part.offset, &value)
        return continue_value(writer, part, &value)
    reserve(out, part.text_size + SHORT_MAXIMUM)
    target = out.data + out.size
    if part.mask != NULL and not bit_at(part.mask, part.mask_offset + change):
        if part.texts[OTHERWISE].size:
            target = lay_text(begin_item(writer, target, part), part, OTHERWISE)
            out.size = target - out.data
        return STATE_DONE
    if part.spelling >= SPELL_EVENT:
        out.size = lay_place(writer, target, part) - out.data
        return STATE_DONE
    target = lay_text(begin_item(writer, target, part), part, LEAD)
    if part.spelling == SPELL_NOTHING:
        out.size = target - out.data
        return STATE_DONE
    i = row_of(part, change)
    if i < 0 or i >= part.length:
        bad_column()
    i += part.offset
    if part.validity != NULL and not bit_at(part.validity, i):
        out.size = lay_text(target, part, NULL_TEXT) - out.data
        return STATE_DONE
    target = lay_text(target, part, OPEN)
    if SPELL_SIGNED <= part.spelling <= SPELL_TIME:
        target = lay_text(lay_number(target, part, part.data + i * part.width), part, CLOSE)
        out.size = target - out.data
        return STATE_DONE
    value_at(part, i, &value)
    if part.spelling == SPELL_SQL:
        writer.text_class = text_class(value.data, value.size)
        if writer.text_class == TEXT_ASTRAY:
            target = lay_text(target, part, ODD_OPEN)
        elif writer.text_class == TEXT_UNSAFE:
            target = lay_bytes(target, b"_utf8mb4 x'", 11)
        else:
            target[0] = c"'"
            target += 1
    elif part.spelling == SPELL_JSON:
        target[0] = c'"'
        target += 1
    out.size = target - out.data
    writer.byte = 0
    return continue_value(writer, part, &value)


cdef inline uint8_t *lay_place(const Writer *writer, uint8_t *target, const Part *part) noexcept nogil:
    """Write a part that depends on the row's number within its event."""
    if part.spelling == SPELL_EVENT:
        return lay_text(target, part, LEAD) if writer.ordinal == 0 else target
    if part.spelling == SPELL_BETWEEN:
        return target if writer.ordinal == 0 else lay_text(target, part, LEAD)
    return lay_text(lay_signed(lay_text(target, part, LEAD), writer.ordinal), part, CLOSE)


cdef inline int value_at(const Part *part, int64_t i, Bytes *value) except -1 nogil:
    """Find a value's bytes, by its index in the column's buffers."""
    cdef int64_t first
    cdef int64_t last
    if part.codes != NULL:
        if part.code_width == 1:
            i = (<const int8_t *> part.codes)[i]
        else:
            i = (<const int32_t *> part.codes)[i]
    if part.offsets == NULL:
        first = i * part.width
        last = first + part.width
    elif i < 0 or i + 1 >= part.offset_count:
        return bad_column()
    elif part.offset_width == 4:
        first = (<const int32_t *> part.offsets)[i] * part.unit
        last = (<const int32_t *> part.offsets)[i + 1] * part.unit
    else:
        first = (<const int64_t *> part.offsets)[i] * part.unit
        last = (<const int64_t *> part.offsets)[i + 1] * part.unit
    if first < 0 or last < first or last > part.data_size:
        bad_column()
    value.data = part.data + first
    value.size = last - first
    return 0


cdef inline int continue_value(Writer *writer, const Part *part, const Bytes *value) except -1 nogil:
    """Continue writing a value's bytes, until they end or the piece is full."""
    cdef Output *out = &writer.out
    cdef int64_t stop
    while writer.byte < value.size:
        if out.size >= writer.limit:
            return STATE_FULL
        stop = writer.byte + STEP if value.size - writer.byte > STEP else value.size
        reserve(out, (stop - writer.byte) * EXPANSION + SHORT_MAXIMUM)
        stop = put_value_bytes(out, part.spelling, writer.text_class, value, writer.byte, stop)
        writer.byte = stop
    writer.byte = -1
    reserve(out, part.text_size + SHORT_MAXIMUM)
    if part.spelling == SPELL_SQL and writer.text_class == TEXT_ASTRAY:
        put(out, part.texts[ODD_CLOSE].data, part.texts[ODD_CLOSE].size)
    elif part.spelling == SPELL_SQL:
        put_byte(out, c"'")
    elif part.spelling == SPELL_JSON:
        put_byte(out, c'"')
    elif part.spelling == SPELL_REAL and memchr(value.data, c"e", value.size) == NULL:
        put(out, b"e0", 2)
    put(out, part.texts[CLOSE].data, part.texts[CLOSE].size)
    return STATE_DONE


cdef inline int64_t put_value_bytes(
    Output *out, int spelling, TextClass text_class, const Bytes *value, int64_t first, int64_t stop
) except -1 nogil:
    """Write some bytes of a value; returns their end, which may be after ``stop``."""
    cdef const uint8_t *data = value.data + first
    if spelling == SPELL_TEXT or spelling == SPELL_REAL or (spelling == SPELL_SQL and text_class == TEXT_PLAIN):
        put(out, data, stop - first)
    elif spelling == SPELL_JSON:
        return put_text(out, value.data, first, stop, value.size, True)
    elif spelling == SPELL_ESCAPED:
        return put_text(out, value.data, first, stop, value.size, False)
    elif spelling == SPELL_BASE64:
        put_base64(out, data, stop - first)
    elif spelling == SPELL_SQL and text_class == TEXT_QUOTES:
        put_doubled(out, data, stop - first)
    elif spelling == SPELL_SQL and text_class == TEXT_ESCAPES:
        put_with_escapes(out, data, stop - first)
    else:
        put_hexadecimal(out, data, stop - first)
    return stop


cdef inline uint8_t *lay_number(uint8_t *target, Part *part, const uint8_t *data) noexcept nogil:
    """Write a fixed-width value."""
    cdef int64_t value
    if part.spelling == SPELL_DECIMAL:
        return lay_decimal(target, data, part.parameter)
    if part.width == 8:
        value = (<const int64_t *> data)[0]
    elif part.width == 4:
        value = (<const int32_t *> data)[0]
    elif part.width == 2:
        value = (<const int16_t *> data)[0]
    else:
        value = (<const int8_t *> data)[0]
    if part.spelling == SPELL_SIGNED:
        return lay_signed(target, value)
    if part.spelling == SPELL_UNSIGNED:
        if part.width < 8:
            value &= (<int64_t> 1 << 8 * part.width) - 1
        return lay_unsigned(target, <uint64_t> value)
    if part.spelling == SPELL_MOMENT:
        return lay_moment(target, value, part.parameter, c" ", &part.date)
    if part.spelling == SPELL_INSTANT:
        return lay_moment(target, value, part.parameter, c"T", &part.date)
    if part.spelling == SPELL_DATE:
        return lay_date(target, value, &part.date)
    return lay_time(target, value, part.parameter)


cdef inline int64_t part_maximum(const Part *part, int64_t change) except -1 nogil:
    """Return an upper bound of the bytes that a part takes in SQL; of strings, each byte takes two at most."""
    cdef int64_t size = part.text_size + SHORT_MAXIMUM
    cdef int64_t i
    cdef Bytes value
    if part.offsets == NULL or part.spelling == SPELL_NOTHING:
        return size
    i = row_of(part, change)
    if not 0 <= i < part.length:
        bad_column()
    i += part.offset
    if part.validity == NULL or bit_at(part.validity, i):
        value_at(part, i, &value)
        size += 2 * value.size
    return size
