# cython: language_level=3
"""Format one value as SQL or JSON; the caller reserves the space."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcpy

from binx.kernels.calendar cimport DAY_SECONDS, SECOND
from binx.kernels.digits cimport (
    lay_bytes,
    lay_out_clock,
    lay_out_date,
    lay_padded,
    lay_pair,
    lay_unsigned,
    put,
    put_byte,
    put_hexadecimal,
)
from binx.kernels.output cimport Output
from binx.kernels.json.text cimport append_escaped, sequence_size

cdef extern from *:
    ctypedef unsigned long long uint128_t "unsigned __int128"

cdef enum:
    # Maximum bytes of output per byte of a value: \u00NN, or \\xNN for invalid UTF-8.
    EXPANSION = 6
    # Maximum size of a number, date, timestamp or TIME.
    SHORT_MAXIMUM = 48
    DATE_SIZE = 10
    CLOCK_SIZE = 8
    FRACTION_DIGITS = 6
    # Of a DECIMAL of 16 bytes, with a zero for numbers that have all their digits after the point.
    MOST_DIGITS = 39
    HALF_OF_DIGITS = 19

cdef enum TextClass:
    # Strings by how they are written as SQL literals: unchanged between quotes; with single quotes inside; with
    # backslashes, line breaks, tabs or zero bytes, which have escapes; with other control characters; invalid UTF-8.
    TEXT_PLAIN = 0
    TEXT_QUOTES = 1
    TEXT_ESCAPES = 2
    TEXT_UNSAFE = 3
    TEXT_ASTRAY = 4

cdef struct Date:
    # The last day written, and its text: most rows of a column repeat it.
    bint written
    int64_t day
    uint8_t text[DATE_SIZE]


cdef inline TextClass text_class(const uint8_t *text, int64_t size) noexcept nogil:
    """Return how a text must be written as an SQL string literal."""
    cdef int64_t at = 0
    cdef int64_t length
    cdef uint8_t byte
    cdef uint8_t control
    cdef uint8_t escaped
    cdef uint8_t unsafe = 0
    cdef uint8_t escapes = 0
    cdef uint8_t quotes = 0
    cdef uint8_t high = 0
    for at in range(size):
        byte = text[at]
        high |= byte
        quotes |= byte == c"'"
        control = (byte < 0x20) | (byte == 0x7F)
        escaped = (byte == c"\\") | (byte == c"\n") | (byte == c"\r") | (byte == c"\t") | (byte == 0)
        escapes |= escaped
        unsafe |= control & (escaped ^ 1)
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
    if unsafe:
        return TEXT_UNSAFE
    if escapes:
        return TEXT_ESCAPES
    return TEXT_QUOTES if quotes else TEXT_PLAIN


cdef inline void put_doubled(Output *out, const uint8_t *text, int64_t size) noexcept nogil:
    """Append a text with its single quotes doubled."""
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


cdef inline void put_with_escapes(Output *out, const uint8_t *text, int64_t size) noexcept nogil:
    """Append the inside of a single-quoted literal, for sessions in which backslashes escape."""
    cdef int64_t at
    cdef uint8_t byte
    for at in range(size):
        byte = text[at]
        if byte == c"'":
            put_byte(out, byte)
        elif byte == c"\\":
            put_byte(out, c"\\")
        elif byte == c"\n" or byte == c"\r" or byte == c"\t" or byte == 0:
            put_byte(out, c"\\")
            byte = c"n" if byte == c"\n" else c"r" if byte == c"\r" else c"t" if byte == c"\t" else c"0"
        put_byte(out, byte)


cdef inline int64_t put_text(
    Output *out, const uint8_t *text, int64_t at, int64_t stop, int64_t size, bint json
) except -1 nogil:
    r"""Append a text's bytes from ``at`` to ``stop``, as part of a JSON string or as they are.

    Bytes that are not UTF-8 become ``\xNN``. Returns the end of the bytes written, which may be after ``stop``:
    characters are written whole.
    """
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
        elif not json or (byte >= 0x20 and byte != c'"' and byte != c"\\"):
            at += 1
            continue
        put(out, text + plain, at - plain)
        if byte < 0x80:
            append_escaped(out, byte)
        else:
            if json:
                put_byte(out, c"\\")
            put(out, b"\\x", 2)
            put_hexadecimal(out, &byte, 1)
        at += 1
        plain = at
    put(out, text + plain, at - plain)
    return at


cdef inline int64_t floored(int64_t value, int64_t by) noexcept nogil:
    """Divide, rounding down even if the value is negative."""
    cdef int64_t quotient = value // by
    return quotient - 1 if value % by < 0 else quotient


cdef inline uint8_t *lay_fraction(uint8_t *target, int64_t microseconds, int fraction) noexcept nogil:
    """Write a point and the first ``fraction`` digits of a second's fraction; nothing if that is 0."""
    cdef int place
    if fraction == 0:
        return target
    for place in range(FRACTION_DIGITS - fraction):
        microseconds //= 10
    target[0] = c"."
    return lay_padded(target + 1, microseconds, fraction)


cdef inline uint8_t *lay_date(uint8_t *target, int64_t day, Date *last) noexcept nogil:
    """Write a day since 1970; the years 1 to 9999."""
    if day != last.day or not last.written:
        lay_out_date(day, last.text)
        last.day = day
        last.written = True
    return lay_bytes(target, last.text, DATE_SIZE)


cdef inline uint8_t *lay_moment(uint8_t *target, int64_t value, int fraction, uint8_t separator, Date *last) noexcept nogil:
    """Write a time in µs since 1970; the years 1 to 9999."""
    cdef int64_t day = floored(value, <int64_t> DAY_SECONDS * SECOND)
    cdef int64_t time_of_day = value - day * DAY_SECONDS * SECOND
    target = lay_date(target, day, last)
    target[0] = separator
    lay_out_clock(<int> (time_of_day // SECOND), target + 1)
    return lay_fraction(target + 1 + CLOCK_SIZE, time_of_day % SECOND, fraction)


cdef inline uint8_t *lay_time(uint8_t *target, int64_t value, int fraction) noexcept nogil:
    """Write a TIME in µs as ``-838:59:59.999999``, with at least two digits of hours."""
    cdef int64_t seconds
    if value < 0:
        target[0] = c"-"
        target += 1
        value = -value
    seconds = value // SECOND
    if seconds < 36000:
        target[0] = c"0"
        target += 1
    target = lay_unsigned(target, seconds // 3600)
    target[0] = c":"
    lay_pair(target + 1, seconds // 60 % 60)
    target[3] = c":"
    lay_pair(target + 4, seconds % 60)
    return lay_fraction(target + 6, value - seconds * SECOND, fraction)


cdef inline uint8_t *lay_decimal(uint8_t *target, const uint8_t *data, int scale) noexcept nogil:
    """Write an unscaled DECIMAL of 16 bytes and up to 38 digits, with ``scale`` digits after the point."""
    cdef uint128_t size
    cdef uint64_t unit = 1
    cdef int place
    cdef uint8_t digits[MOST_DIGITS]
    memcpy(&size, data, sizeof(uint128_t))
    if size >> 127:
        target[0] = c"-"
        target += 1
        size = 0 - size
    if size >> 64 == 0 and scale <= HALF_OF_DIGITS - 1:
        if scale == 0:
            return lay_unsigned(target, <uint64_t> size)
        for place in range(scale):
            unit *= 10
        target = lay_unsigned(target, <uint64_t> size // unit)
        target[0] = c"."
        return lay_padded(target + 1, <uint64_t> size % unit, scale)
    for place in range(HALF_OF_DIGITS):
        unit *= 10
    digits[0] = c"0"
    lay_padded(digits + 1, <uint64_t> (size // unit), HALF_OF_DIGITS)
    lay_padded(digits + 1 + HALF_OF_DIGITS, <uint64_t> (size % unit), HALF_OF_DIGITS)
    place = 0
    while place < MOST_DIGITS - 1 - scale and digits[place] == c"0":
        place += 1
    target = lay_bytes(target, digits + place, MOST_DIGITS - scale - place)
    if scale:
        target[0] = c"."
        target = lay_bytes(target + 1, digits + MOST_DIGITS - scale, scale)
    return target
