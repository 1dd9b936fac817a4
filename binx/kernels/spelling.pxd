# cython: language_level=3
"""One value as SQL or JSON spells it, for the kernels that write rows: into room that was reserved before."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memchr, memcpy

from binx.kernels.digits cimport lay_out_second, put, put_byte, put_signed, put_unsigned
from binx.kernels.output cimport Output
from binx.kernels.text cimport append_escaped, sequence_size

cdef enum:
    # What a byte of a value becomes at most: \u00NN, or \\xNN where it is no UTF-8.
    EXPANSION = 6
    # The longest number, moment or span of time.
    SHORT_MAXIMUM = 48
    DAY = 86400
    SECOND = 1000000
    DATE_SIZE = 10
    CLOCK_SIZE = 19
    FRACTION_DIGITS = 6

cdef enum TextClass:
    # A string that stands between quotes as it is; one in which an escape could be meant; one that is no UTF-8.
    TEXT_PLAIN = 0
    TEXT_UNSAFE = 1
    TEXT_ASTRAY = 2


cdef inline TextClass text_class(const uint8_t *text, int64_t size) noexcept nogil:
    """What kind of a string literal a text needs in SQL."""
    cdef int64_t at = 0
    cdef int64_t length
    cdef uint8_t byte
    cdef uint8_t unsafe = 0
    cdef uint8_t high = 0
    for at in range(size):
        byte = text[at]
        high |= byte
        unsafe |= (byte < 0x20) | (byte == c"\\") | (byte == 0x7F)
    if high & 0x80:
        at = 0
        while at < size:
            if text[at] < 0x80:
                at += 1
                continue
            length = sequence_size(text + at, size - at)
            if length == 0:
                return TEXT_ASTRAY
            at += length
    return TEXT_UNSAFE if unsafe else TEXT_PLAIN


cdef inline void put_doubled(Output *out, const uint8_t *text, int64_t size) noexcept nogil:
    """A text with its single quotes doubled."""
    cdef const uint8_t *quote
    cdef int64_t run
    while size:
        quote = <const uint8_t *> memchr(text, c"'", size)
        run = size if quote == NULL else quote - text + 1
        put(out, text, run)
        text += run
        size -= run
        if quote != NULL:
            put_byte(out, c"'")


cdef inline int64_t put_json(Output *out, const uint8_t *text, int64_t at, int64_t stop, int64_t size) except -1 nogil:
    r"""What stands within a JSON string for a text's bytes from ``at`` to ``stop``; ``\xNN`` for what is no UTF-8.

    Returns where it ended: a character that begins before ``stop`` is written whole.
    """
    cdef const char *digits = b"0123456789abcdef"
    cdef int64_t plain = at
    cdef int64_t length
    cdef uint8_t byte
    while at < stop:
        byte = text[at]
        if byte >= 0x80:
            length = sequence_size(text + at, size - at)
            if length:
                at += length
                continue
        elif byte >= 0x20 and byte != c'"' and byte != c"\\":
            at += 1
            continue
        put(out, text + plain, at - plain)
        if byte < 0x80:
            append_escaped(out, byte)
        else:
            put(out, b"\\\\x", 3)
            put_byte(out, digits[byte >> 4])
            put_byte(out, digits[byte & 15])
        at += 1
        plain = at
    put(out, text + plain, at - plain)
    return at


cdef inline void put_hexadecimal(Output *out, const uint8_t *data, int64_t size) noexcept nogil:
    cdef const uint8_t *digits = b"0123456789abcdef"
    cdef uint8_t *target = out.data + out.size
    cdef int64_t at
    for at in range(size):
        target[2 * at] = digits[data[at] >> 4]
        target[2 * at + 1] = digits[data[at] & 15]
    out.size += 2 * size


cdef inline void put_base64(Output *out, const uint8_t *data, int64_t size) noexcept nogil:
    """Bytes in base64, with padding where their number is no multiple of three."""
    cdef const uint8_t *alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef uint8_t *target = out.data + out.size
    cdef int64_t whole = size - size % 3
    cdef int64_t at
    cdef uint64_t word
    for at in range(0, whole, 3):
        word = <uint64_t> data[at] << 16 | <uint64_t> data[at + 1] << 8 | data[at + 2]
        target[0] = alphabet[word >> 18]
        target[1] = alphabet[(word >> 12) & 63]
        target[2] = alphabet[(word >> 6) & 63]
        target[3] = alphabet[word & 63]
        target += 4
    if whole < size:
        word = <uint64_t> data[whole] << 16
        if whole + 1 < size:
            word |= <uint64_t> data[whole + 1] << 8
        target[0] = alphabet[word >> 18]
        target[1] = alphabet[(word >> 12) & 63]
        target[2] = alphabet[(word >> 6) & 63] if whole + 1 < size else c"="
        target[3] = c"="
        target += 4
    out.size = target - out.data


cdef inline void put_fraction_digits(Output *out, int64_t microseconds, int fraction) noexcept nogil:
    """A point and the first digits of a second's fraction; nothing where there are none."""
    cdef int place
    if fraction == 0:
        return
    put_byte(out, c".")
    for place in range(FRACTION_DIGITS - fraction):
        microseconds //= 10
    for place in range(fraction - 1, -1, -1):
        out.data[out.size + place] = <uint8_t> (c"0" + microseconds % 10)
        microseconds //= 10
    out.size += fraction


cdef inline int64_t floored(int64_t value, int64_t by) noexcept nogil:
    """The quotient, rounded down also where the value is negative."""
    cdef int64_t quotient = value // by
    return quotient - 1 if value % by < 0 else quotient


cdef inline void put_moment(Output *out, int64_t value, int fraction, uint8_t separator) noexcept nogil:
    """A moment in µs since 1970, of the years 1 to 9999."""
    cdef int64_t second = floored(value, SECOND)
    lay_out_second(second, out.data + out.size)
    out.data[out.size + DATE_SIZE] = separator
    out.size += CLOCK_SIZE
    put_fraction_digits(out, value - second * SECOND, fraction)


cdef inline void put_date(Output *out, int64_t days) noexcept nogil:
    """A day since 1970, of the years 1 to 9999."""
    lay_out_second(days * DAY, out.data + out.size)
    out.size += DATE_SIZE


cdef inline void put_time(Output *out, int64_t value, int fraction) noexcept nogil:
    """A span of time in µs as ``-838:59:59.999999``; at least two digits of hours."""
    cdef int64_t seconds
    if value < 0:
        put_byte(out, c"-")
        value = -value
    seconds = value // SECOND
    if seconds < 36000:
        put_byte(out, c"0")
    put_unsigned(out, seconds // 3600)
    put_byte(out, c":")
    put_two(out, seconds // 60 % 60)
    put_byte(out, c":")
    put_two(out, seconds % 60)
    put_fraction_digits(out, value - seconds * SECOND, fraction)


cdef inline void put_two(Output *out, int64_t value) noexcept nogil:
    put_byte(out, <uint8_t> (c"0" + value // 10))
    put_byte(out, <uint8_t> (c"0" + value % 10))


cdef inline void put_decimal(Output *out, int64_t value, int scale) noexcept nogil:
    """An unscaled DECIMAL of up to 18 digits with all digits behind the point."""
    cdef uint8_t digits[SHORT_MAXIMUM]
    cdef uint64_t size = <uint64_t> value
    cdef int first = SHORT_MAXIMUM
    cdef int written = 0
    if value < 0:
        put_byte(out, c"-")
        size = 0 - <uint64_t> value
    while size or written <= scale:
        if written == scale and scale:
            first -= 1
            digits[first] = c"."
        first -= 1
        digits[first] = <uint8_t> (c"0" + size % 10)
        size //= 10
        written += 1
    put(out, digits + first, SHORT_MAXIMUM - first)
