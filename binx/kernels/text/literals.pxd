# cython: language_level=3
"""Characters and digits of the values in dumps.

Sources: MySQL manual, "String Literals", "Hexadecimal Literals" and "Bit-Value Literals";
``mysql_real_escape_string_quote`` (what dumps escape).
"""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, peek, remaining
from binx.kernels.digits cimport hexadecimal_value
from binx.kernels.output cimport Output, append_byte, reserve
from binx.kernels.walk.statements cimport is_space

cdef enum:
    # Bytes of the text that a message shows.
    SHOWN = 40
    # A complete row or value; the window ends within the next one; the statement has ended.
    ROW = 0
    MORE = 1
    ENDED = 2

cdef struct Token:
    const uint8_t *data
    int64_t size
    bint is_null


cdef inline int base64_value(uint8_t byte) noexcept nogil:
    """Return the value of a base64 digit; -1 if it is none."""
    if 65 <= byte <= 90:
        return byte - 65
    if 97 <= byte <= 122:
        return byte - 71
    if 48 <= byte <= 57:
        return byte + 4
    return 62 if byte == 43 else 63 if byte == 47 else -1


cdef inline uint8_t unescaped(uint8_t byte) noexcept nogil:
    """Return the byte that an escape with ``byte`` after the backslash stands for."""
    if byte == b"0":
        return 0
    if byte == b"n":
        return 10
    if byte == b"r":
        return 13
    if byte == b"t":
        return 9
    if byte == b"b":
        return 8
    return 26 if byte == b"Z" else byte


cdef inline bint is_word(int byte) noexcept nogil:
    """Whether a byte can be part of a number, NULL, or a character set's name."""
    return (
        48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95 or byte == 43 or byte == 45 or byte == 46
    )


cdef inline int skip_blanks(Cursor *cursor) noexcept nogil:
    while is_space(peek(cursor, 0)):
        cursor.position += 1
    return ROW if remaining(cursor) else MORE


cdef inline void skip_word(Cursor *cursor) noexcept nogil:
    while is_word(peek(cursor, 0)):
        cursor.position += 1


cdef inline int unexpected(Cursor *cursor, bytes expected) except -1 with gil:
    from binx.errors import DamagedError

    found = cursor.base[cursor.position : min(cursor.size, cursor.position + SHOWN)]
    raise DamagedError(
        f"expected {expected.decode()}, found {found.decode('utf-8', 'replace')!r}", offset=cursor.position
    )


cdef inline int decode_digits(Cursor *cursor, Token *token, bint hexadecimal, Output *decoded) except -1 nogil:
    """Decode a value of hexadecimal or binary digits; the first byte may have fewer digits."""
    cdef int digits_per_byte = 2 if hexadecimal else 8
    cdef int64_t missing = (digits_per_byte - token.size % digits_per_byte) % digits_per_byte
    cdef int64_t i
    cdef int digit
    cdef unsigned int byte = 0
    decoded.size = 0
    reserve(decoded, token.size // digits_per_byte + 1)
    for i in range(token.size):
        digit = hexadecimal_value(token.data[i]) if hexadecimal else token.data[i] - c"0"
        if digit < 0 or (not hexadecimal and digit > 1):
            unexpected(cursor, b"hexadecimal or binary digits before this")
        byte = byte << (4 if hexadecimal else 1) | <unsigned int> digit
        if (i + 1 + missing) % digits_per_byte == 0:
            append_byte(decoded, <uint8_t> byte)
            byte = 0
    token.data = decoded.data
    token.size = decoded.size
    return ROW


cdef inline int decode_base64(Cursor *cursor, Token *token, Output *decoded) except -1 nogil:
    """Decode a value from base64; padding and white space mean nothing."""
    cdef int64_t i
    cdef int digit
    cdef unsigned int word = 0
    cdef int bits = 0
    decoded.size = 0
    for i in range(token.size):
        if token.data[i] == b"=" or is_space(token.data[i]):
            continue
        digit = base64_value(token.data[i])
        if digit < 0:
            unexpected(cursor, b"base64 before this")
        word = word << 6 | <unsigned int> digit
        bits += 6
        if bits >= 8:
            bits -= 8
            append_byte(decoded, <uint8_t> (word >> bits))
    token.data = decoded.data
    token.size = decoded.size
    return 0
