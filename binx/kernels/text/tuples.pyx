# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Split the rows of a dump (SQL VALUES or tab-separated lines) into columns of text values.

Sources: MySQL manual, "String Literals" and "Hexadecimal Literals"; ``mysql_real_escape_string_quote`` (what dumps
escape); MySQL Shell's tab-separated files, which LOAD DATA reads ("LOAD DATA Statement").
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from binx.kernels.cursor cimport Cursor, cursor_over, take
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport Output, append, append_byte, release, reserve

from binx.errors import DamagedError, UnsupportedError

cpdef enum Encoding:
    PLAIN = 0
    BASE64 = 1
    HEXADECIMAL = 2

cdef enum:
    SHOWN = 40
    # A complete row or value; the window ends within the next one; the statement has ended.
    ROW = 0
    MORE = 1
    ENDED = 2

cdef int64_t MOST_DATA = 0x7FFFFFFF

cdef struct Column:
    uint8_t encoding
    int64_t nulls
    Output offsets
    Output data
    Output validity


cdef struct Token:
    const uint8_t *data
    int64_t size
    bint is_null


cdef inline int hex_digit(uint8_t byte) noexcept nogil:
    if 48 <= byte <= 57:
        return byte - 48
    byte |= 32
    return byte - 87 if 97 <= byte <= 102 else -1


cdef inline int base64_digit(uint8_t byte) noexcept nogil:
    if 65 <= byte <= 90:
        return byte - 65
    if 97 <= byte <= 122:
        return byte - 71
    if 48 <= byte <= 57:
        return byte + 4
    return 62 if byte == 43 else 63 if byte == 47 else -1


cdef inline bint is_blank(uint8_t byte) noexcept nogil:
    return byte == 32 or 9 <= byte <= 13


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


cdef inline int add_bit(Output *validity, int64_t row, bint bit) except -1 nogil:
    """Append one bit to a validity bitmap."""
    if row & 7 == 0:
        append_byte(validity, 0)
    validity.data[row >> 3] |= <uint8_t> bit << (row & 7)
    return 0


cdef class TupleColumns:
    cdef readonly int64_t rows
    cdef readonly int64_t size
    cdef readonly bint ended
    cdef int32_t count
    cdef Column *columns
    cdef Output scratch
    cdef Output decoded
    cdef bint between

    def __cinit__(self, encodings):
        cdef int32_t place
        self.count = len(encodings)
        self.columns = <Column *> calloc(max(1, self.count), sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        memset(&self.scratch, 0, sizeof(Output))
        memset(&self.decoded, 0, sizeof(Output))
        for place in range(self.count):
            self.columns[place].encoding = encodings[place]

    def __dealloc__(self):
        cdef int32_t place
        if self.columns != NULL:
            for place in range(self.count):
                release(&self.columns[place].offsets)
                release(&self.columns[place].data)
                release(&self.columns[place].validity)
            free(self.columns)
        release(&self.scratch)
        release(&self.decoded)

    def begin(self):
        self.ended = self.between = False

    def cut(self, const uint8_t[::1] window not None, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size):
        return self._cut(window, start, stop, most_rows, most_size, False)

    def cut_lines(
        self, const uint8_t[::1] window not None, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size
    ):
        return self._cut(window, start, stop, most_rows, most_size, True)

    def finish(self):
        cdef int32_t place
        cdef Column *column
        cdef int64_t rows = self.rows
        handed = []
        for place in range(self.count):
            column = &self.columns[place]
            append(&column.offsets, &column.data.size, sizeof(int32_t))
            validity = hand_over(&column.validity, column.validity.size) if column.nulls else None
            offsets = hand_over(&column.offsets, column.offsets.size)
            handed.append((validity, column.nulls, offsets, hand_over(&column.data, column.data.size)))
            column.validity.size = column.nulls = 0
        self.rows = self.size = 0
        return rows, handed

    cdef int64_t _cut(
        self, const uint8_t[::1] window, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size, bint lines
    ) except -1:
        cdef Cursor cursor
        cdef int64_t whole
        cdef bint between
        cdef int found = ROW
        if not 0 <= start <= stop <= window.shape[0]:
            raise ValueError("the window has no such span")
        if start == stop:
            return start
        cursor = cursor_over(&window[0], stop, 0)
        cursor.position = whole = start
        with nogil:
            while found == ROW and self.rows < most_rows and self.size < most_size:
                between = self.between
                found = self.line(&cursor) if lines else self.tuple(&cursor)
                if found == MORE:
                    self.take_back()
                    self.between = between
                else:
                    whole = cursor.position
        self.ended = found == ENDED
        return whole

    cdef int tuple(self, Cursor *cursor) except -1 nogil:
        """Parse the next row in parentheses, or the statement's end."""
        cdef uint8_t byte
        cdef int32_t place
        cdef Token token
        while cursor.position < cursor.size:
            byte = take(cursor, 1)[0]
            if is_blank(byte):
                continue
            if byte == b"(" and not self.between:
                break
            if byte == b"," and self.between:
                self.between = False
            elif byte == b";" and self.between:
                return ENDED
            else:
                self.unlike(cursor, b"a row in parentheses, a comma or the statement's end")
        else:
            return MORE
        for place in range(self.count):
            if self.value(cursor, &token) == MORE or skip_blanks(cursor) == MORE:
                return MORE
            self.put(place, &token, cursor)
            byte = take(cursor, 1)[0]
            if byte != 44 if place + 1 < self.count else byte != 41:
                cursor.position -= 1
                self.unlike(cursor, b"a comma between values, and as many values as the table has columns")
        self.rows += 1
        self.between = True
        return ROW

    cdef int value(self, Cursor *cursor, Token *token) except -1 nogil:
        """Parse the next value: a string, a number, NULL, or a hexadecimal or bit literal."""
        cdef uint8_t byte
        cdef int64_t start
        cdef bint named
        token.is_null = False
        if skip_blanks(cursor) == MORE:
            return MORE
        byte = cursor.base[cursor.position]
        if byte == b"_":
            # A character set introducer, such as _binary.
            while cursor.position < cursor.size and is_word(cursor.base[cursor.position]):
                cursor.position += 1
            if skip_blanks(cursor) == MORE:
                return MORE
            byte = cursor.base[cursor.position]
        if byte == b"'" or byte == b'"':
            return self.quoted(cursor, byte, token)
        start = cursor.position
        while cursor.position < cursor.size and is_word(cursor.base[cursor.position]):
            cursor.position += 1
        if cursor.position == cursor.size:
            return MORE
        token.data = cursor.base + start
        token.size = cursor.position - start
        named = token.size == 1 and cursor.base[cursor.position] == b"'"
        if named and (byte | 32 == b"x" or byte | 32 == b"b"):
            if self.quoted(cursor, b"'", token) == MORE:
                return MORE
            return self.digits(token, byte | 32 == b"x", cursor)
        if token.size == 4 and byte | 32 == b"n":
            token.is_null = True
        elif token.size >= 2 and byte == b"0" and token.data[1] | 32 in (b"x", b"b"):
            named = token.data[1] | 32 == b"x"
            token.data += 2
            token.size -= 2
            return self.digits(token, named, cursor)
        elif token.size == 0 or not (48 <= byte <= 57 or byte == b"-" or byte == b"+" or byte == b"."):
            cursor.position = start
            self.unlike(cursor, b"a value")
        return ROW

    cdef int quoted(self, Cursor *cursor, uint8_t quote, Token *token) except -1 nogil:
        """Parse a quoted string; its bytes are copied only if it contains escapes."""
        cdef int64_t start
        cdef uint8_t byte
        cdef bint escaped = False
        take(cursor, 1)
        start = cursor.position
        self.scratch.size = 0
        while True:
            while cursor.position < cursor.size:
                byte = cursor.base[cursor.position]
                if byte == quote or byte == b"\\":
                    break
                cursor.position += 1
            if cursor.size - cursor.position < 2:
                return MORE
            byte = cursor.base[cursor.position]
            if byte == quote and cursor.base[cursor.position + 1] != quote:
                break
            append(&self.scratch, cursor.base + start, cursor.position - start)
            escaped = True
            byte = cursor.base[cursor.position + 1]
            append_byte(&self.scratch, unescaped(byte) if cursor.base[cursor.position] == b"\\" else byte)
            cursor.position += 2
            start = cursor.position
        self.end_token(cursor, start, escaped, token)
        take(cursor, 1)
        return ROW

    cdef int end_token(self, Cursor *cursor, int64_t start, bint escaped, Token *token) except -1 nogil:
        """Set ``token`` to the value that ends here; if ``escaped``, its part before ``start`` is in ``scratch``."""
        token.data = cursor.base + start
        token.size = cursor.position - start
        if escaped:
            append(&self.scratch, token.data, token.size)
            token.data = self.scratch.data
            token.size = self.scratch.size
        return 0

    cdef int digits(self, Token *token, bint hexadecimal, Cursor *cursor) except -1 nogil:
        """Decode hexadecimal or binary digits; the first byte may have fewer digits."""
        cdef int each = 2 if hexadecimal else 8
        cdef int64_t missing = (each - token.size % each) % each
        cdef int64_t place
        cdef int digit
        cdef unsigned int byte = 0
        self.decoded.size = 0
        reserve(&self.decoded, token.size // each + 1)
        for place in range(token.size):
            digit = hex_digit(token.data[place]) if hexadecimal else token.data[place] - 48
            if digit < 0 or (not hexadecimal and digit > 1):
                self.unlike(cursor, b"hexadecimal or binary digits before this")
            byte = byte << (4 if hexadecimal else 1) | <unsigned int> digit
            if (place + 1 + missing) % each == 0:
                append_byte(&self.decoded, <uint8_t> byte)
                byte = 0
        token.data = self.decoded.data
        token.size = self.decoded.size
        return ROW

    cdef int line(self, Cursor *cursor) except -1 nogil:
        """Parse the next line of tab-separated fields."""
        cdef int32_t place
        cdef int64_t start
        cdef uint8_t byte = 0
        cdef bint escaped
        cdef Token token
        if cursor.position == cursor.size:
            return MORE
        for place in range(self.count):
            token.is_null = False
            self.scratch.size = 0
            escaped = False
            start = cursor.position
            while True:
                while cursor.position < cursor.size:
                    byte = cursor.base[cursor.position]
                    if byte == 9 or byte == 10 or byte == b"\\":
                        break
                    cursor.position += 1
                if cursor.position == cursor.size:
                    return MORE
                if byte != b"\\":
                    break
                if cursor.size - cursor.position < 3:
                    return MORE
                append(&self.scratch, cursor.base + start, cursor.position - start)
                byte = cursor.base[cursor.position + 1]
                token.is_null = byte == b"N" and cursor.position == start and self.scratch.size == 0 and (
                    cursor.base[cursor.position + 2] in (9, 10)
                )
                append_byte(&self.scratch, unescaped(byte))
                escaped = True
                cursor.position += 2
                start = cursor.position
            self.end_token(cursor, start, escaped, &token)
            if byte != (9 if place + 1 < self.count else 10):
                self.unlike(cursor, b"as many fields as the table has columns")
            self.put(place, &token, cursor)
            take(cursor, 1)
        self.rows += 1
        return ROW

    cdef int put(self, int32_t place, Token *token, Cursor *cursor) except -1 nogil:
        """Append a value to its column."""
        cdef Column *column = &self.columns[place]
        cdef int32_t offset
        if token.is_null:
            column.nulls += 1
            token.size = 0
        elif column.encoding != PLAIN:
            self.decode(column.encoding, token, cursor)
        if column.data.size + token.size > MOST_DATA:
            too_much(cursor.position)
        add_bit(&column.validity, self.rows, not token.is_null)
        offset = <int32_t> column.data.size
        append(&column.offsets, &offset, sizeof(int32_t))
        append(&column.data, token.data, token.size)
        self.size += token.size + <int64_t> sizeof(int32_t)
        return 0

    cdef int decode(self, int encoding, Token *token, Cursor *cursor) except -1 nogil:
        """Decode a value from base64 or hexadecimal digits."""
        cdef int64_t place
        cdef int digit
        cdef unsigned int word = 0
        cdef int bits = 0
        if encoding == HEXADECIMAL:
            return self.digits(token, True, cursor)
        self.decoded.size = 0
        for place in range(token.size):
            if token.data[place] == b"=" or is_blank(token.data[place]):
                continue
            digit = base64_digit(token.data[place])
            if digit < 0:
                self.unlike(cursor, b"base64 before this")
            word = word << 6 | <unsigned int> digit
            bits += 6
            if bits >= 8:
                bits -= 8
                append_byte(&self.decoded, <uint8_t> (word >> bits))
        token.data = self.decoded.data
        token.size = self.decoded.size
        return 0

    cdef void take_back(self) noexcept nogil:
        """Discard the values of an incomplete row."""
        cdef int32_t place
        cdef Column *column
        cdef int64_t held = self.rows * <int64_t> sizeof(int32_t)
        cdef int32_t offset
        for place in range(self.count):
            column = &self.columns[place]
            if column.offsets.size == held:
                break
            offset = (<int32_t *> column.offsets.data)[self.rows]
            self.size -= column.data.size - offset + <int64_t> sizeof(int32_t)
            column.data.size = offset
            column.offsets.size = held
            column.nulls -= not column.validity.data[self.rows >> 3] >> (self.rows & 7) & 1
            column.validity.data[self.rows >> 3] &= ~(1 << (self.rows & 7))
            column.validity.size = (self.rows + 7) >> 3

    cdef int unlike(self, Cursor *cursor, bytes expected) except -1 with gil:
        found = cursor.base[cursor.position : min(cursor.size, cursor.position + SHOWN)]
        raise DamagedError(
            f"expected {expected.decode()}, found {found.decode('utf-8', 'replace')!r}", offset=cursor.position
        )


cdef inline bint is_word(uint8_t byte) noexcept nogil:
    """Whether a byte can be part of a number, NULL, or a character set's name."""
    return (
        48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95 or byte == 43 or byte == 45 or byte == 46
    )


cdef inline int skip_blanks(Cursor *cursor) noexcept nogil:
    while cursor.position < cursor.size and is_blank(cursor.base[cursor.position]):
        cursor.position += 1
    return MORE if cursor.position == cursor.size else ROW


cdef int too_much(int64_t position) except -1 with gil:
    raise UnsupportedError("expected less than 2 GiB of a column's values at once, found more", offset=position)
