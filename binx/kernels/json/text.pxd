# cython: language_level=3
"""Format JSON numbers and strings as MySQL does, for the kernels that write text."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from binx.kernels.cursor cimport Cursor
from binx.kernels.digits cimport NUMBER_MAXIMUM, put_hexadecimal, put_signed, put_unsigned
from binx.kernels.output cimport Output, append, append_byte, reserve

cdef enum:
    BASE64_LINE = 57  # bytes in the 76 characters between line feeds (mysys/base64.cc)


cdef inline int append_text(Output *out, const char *text, int64_t size) except -1 nogil:
    return append(out, text, size)


cdef inline int append_unsigned(Output *out, uint64_t value) except -1 nogil:
    reserve(out, NUMBER_MAXIMUM)
    put_unsigned(out, value)
    return 0


cdef inline int append_signed(Output *out, int64_t value) except -1 nogil:
    reserve(out, NUMBER_MAXIMUM)
    put_signed(out, value)
    return 0


cdef inline int64_t sequence_size(const uint8_t *text, int64_t size) noexcept nogil:
    """Return the size of the UTF-8 sequence that begins with a byte above 0x7F; 0 if it is invalid."""
    cdef uint8_t first = text[0], low = 0x80, high = 0xBF
    cdef int64_t length, i
    if 0xC2 <= first <= 0xDF:
        length = 2
    elif 0xE0 <= first <= 0xEF:
        length = 3
        low = 0xA0 if first == 0xE0 else 0x80
        high = 0x9F if first == 0xED else 0xBF
    elif 0xF0 <= first <= 0xF4:
        length = 4
        low = 0x90 if first == 0xF0 else 0x80
        high = 0x8F if first == 0xF4 else 0xBF
    else:
        return 0
    if length > size or text[1] < low or text[1] > high:
        return 0
    for i in range(2, length):
        if text[i] & 0xC0 != 0x80:
            return 0
    return length


cdef inline int append_escaped(Output *out, uint8_t byte) except -1 nogil:
    """Append a quote, a backslash or a control character (``escape_character``, json_dom.cc)."""
    cdef uint8_t short_form
    if byte == c'"' or byte == c"\\":
        short_form = byte
    elif byte == c"\b":
        short_form = c"b"
    elif byte == c"\t":
        short_form = c"t"
    elif byte == c"\n":
        short_form = c"n"
    elif byte == c"\f":
        short_form = c"f"
    elif byte == c"\r":
        short_form = c"r"
    else:
        append_text(out, b"\\u00", 4)
        reserve(out, 2)
        put_hexadecimal(out, &byte, 1)
        return 0
    append_byte(out, c"\\")
    return append_byte(out, short_form)


cdef inline int bad_text(Cursor *cursor, uint8_t byte) except -1 with gil:
    from binx.errors import DamagedError

    raise DamagedError(
        f"expected text in UTF-8, found the byte 0x{byte:02x} where none can stand",
        offset=cursor.origin + cursor.position,
    )


cdef inline int append_quoted(Cursor *cursor, const uint8_t *text, int64_t size, Output *out) except -1 nogil:
    """Append UTF-8 text in quotes; the bytes go straight to Arrow, so they must be UTF-8."""
    cdef int64_t plain = 0, i = 0, length
    reserve(out, size + 2)
    append_byte(out, c'"')
    while i < size:
        if text[i] >= 0x80:
            length = sequence_size(text + i, size - i)
            if length == 0:
                bad_text(cursor, text[i])
            i += length
        elif text[i] < 0x20 or text[i] == c'"' or text[i] == c"\\":
            append(out, text + plain, i - plain)
            append_escaped(out, text[i])
            i += 1
            plain = i
        else:
            i += 1
    append(out, text + plain, size - plain)
    return append_byte(out, c'"')


cdef inline void put_base64(Output *out, const uint8_t *data, int64_t size) noexcept nogil:
    """Append bytes in base64 with padding; the caller has reserved the space."""
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


cdef inline int append_base64(const uint8_t *data, int64_t size, Output *out) except -1 nogil:
    """Append bytes in base64; the server's encoder breaks lines, written as ``\\n`` in JSON."""
    cdef int64_t line
    while size:
        line = size if size < BASE64_LINE else BASE64_LINE
        reserve(out, 2 * BASE64_LINE)
        put_base64(out, data, line)
        data += line
        size -= line
        if size:
            append_text(out, b"\\n", 2)
    return 0


cdef inline int append_hexadecimal(const uint8_t *data, int64_t size, Output *out) except -1 nogil:
    """Append bytes as a hexadecimal literal of SQL."""
    append_text(out, b"x'", 2)
    reserve(out, 2 * size)
    put_hexadecimal(out, data, size)
    return append_byte(out, c"'")


cdef inline int append_sql_text(const uint8_t *text, int64_t size, Output *out) except -1 nogil:
    """Append UTF-8 text as an SQL string that means the same in every session."""
    cdef int64_t i
    for i in range(size):
        if not 0x20 <= text[i] <= 0x7E or text[i] == c"'" or text[i] == c"\\":
            append_text(out, b"_utf8mb4 ", 9)
            return append_hexadecimal(text, size, out)
    append_byte(out, c"'")
    append(out, text, size)
    return append_byte(out, c"'")
