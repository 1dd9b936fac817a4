# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Split the rows of a dump (SQL VALUES or tab-separated lines) into columns of text values.

Source: MySQL manual, "LOAD DATA Statement", for MySQL Shell's tab-separated files.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from binx.kernels.bitmaps cimport bit_at, clear_bit, set_bit
from binx.kernels.cursor cimport Cursor, cursor_over, peek, remaining, take
from binx.kernels.memory cimport hand_over
from binx.kernels.output cimport OFFSET_MAXIMUM, Output, append, append_byte, release
from binx.kernels.text.literals cimport *

from binx.errors import UnsupportedError

cpdef enum Encoding:
    PLAIN = 0
    BASE64 = 1
    HEXADECIMAL = 2

cdef struct Column:
    uint8_t encoding
    int64_t nulls
    Output offsets
    Output data
    Output validity


cdef inline int add_bit(Output *validity, int64_t row, bint bit) except -1 nogil:
    """Append one bit to a validity bitmap."""
    if row & 7 == 0:
        append_byte(validity, 0)
    if bit:
        set_bit(validity.data, row)
    return 0


cdef class TupleColumns:
    cdef readonly int64_t rows
    cdef readonly int64_t size
    cdef readonly bint ended
    cdef int32_t count
    cdef Column *columns
    cdef Output scratch
    cdef Output decoded
    cdef bint after_row

    def __cinit__(self, encodings):
        cdef int32_t index
        self.count = len(encodings)
        self.columns = <Column *> calloc(max(1, self.count), sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        for index in range(self.count):
            self.columns[index].encoding = encodings[index]

    def __dealloc__(self):
        cdef int32_t index
        if self.columns != NULL:
            for index in range(self.count):
                release(&self.columns[index].offsets)
                release(&self.columns[index].data)
                release(&self.columns[index].validity)
            free(self.columns)
        release(&self.scratch)
        release(&self.decoded)

    def begin(self):
        self.ended = self.after_row = False

    def cut(self, const uint8_t[::1] window not None, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size):
        return self._cut(window, start, stop, most_rows, most_size, False)

    def cut_lines(
        self, const uint8_t[::1] window not None, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size
    ):
        return self._cut(window, start, stop, most_rows, most_size, True)

    def finish(self):
        cdef int32_t index
        cdef Column *column
        cdef int64_t rows = self.rows
        columns = []
        for index in range(self.count):
            column = &self.columns[index]
            append(&column.offsets, &column.data.size, sizeof(int32_t))
            validity = hand_over(&column.validity, column.validity.size) if column.nulls else None
            offsets = hand_over(&column.offsets, column.offsets.size)
            columns.append((validity, column.nulls, offsets, hand_over(&column.data, column.data.size)))
            column.validity.size = column.nulls = 0
        self.rows = self.size = 0
        return rows, columns

    cdef int64_t _cut(
        self, const uint8_t[::1] window, int64_t start, int64_t stop, int64_t most_rows, int64_t most_size, bint lines
    ) except -1:
        cdef Cursor cursor
        cdef int64_t end
        cdef bint after_row
        cdef int state = ROW
        if not 0 <= start <= stop <= window.shape[0]:
            raise ValueError("the window has no such span")
        if start == stop:
            return start
        cursor = cursor_over(&window[0], stop, 0)
        cursor.position = end = start
        with nogil:
            while state == ROW and self.rows < most_rows and self.size < most_size:
                after_row = self.after_row
                state = self.take_line(&cursor) if lines else self.take_tuple(&cursor)
                if state == MORE:
                    self.drop_incomplete_row()
                    self.after_row = after_row
                else:
                    end = cursor.position
        self.ended = state == ENDED
        return end

    cdef int take_tuple(self, Cursor *cursor) except -1 nogil:
        """Parse the next row in parentheses, or the statement's end."""
        cdef uint8_t byte
        cdef int32_t index
        cdef Token token
        while True:
            if skip_blanks(cursor) == MORE:
                return MORE
            byte = take(cursor, 1)[0]
            if byte == b"(" and not self.after_row:
                break
            if byte == b"," and self.after_row:
                self.after_row = False
            elif byte == b";" and self.after_row:
                return ENDED
            else:
                unexpected(cursor, b"a row in parentheses, a comma or the statement's end")
        for index in range(self.count):
            if self.take_value(cursor, &token) == MORE or skip_blanks(cursor) == MORE:
                return MORE
            self.append_value(index, &token, cursor)
            byte = take(cursor, 1)[0]
            if byte != 44 if index + 1 < self.count else byte != 41:
                cursor.position -= 1
                unexpected(cursor, b"a comma between values, and as many values as the table has columns")
        self.rows += 1
        self.after_row = True
        return ROW

    cdef int take_value(self, Cursor *cursor, Token *token) except -1 nogil:
        """Parse the next value: a string, a number, NULL, or a hexadecimal or bit literal."""
        cdef int byte
        cdef int64_t start
        cdef bint named
        token.is_null = False
        if skip_blanks(cursor) == MORE:
            return MORE
        byte = peek(cursor, 0)
        if byte == c"_":
            # A character set introducer, such as _binary.
            skip_word(cursor)
            if skip_blanks(cursor) == MORE:
                return MORE
            byte = peek(cursor, 0)
        if byte == c"'" or byte == c'"':
            return self.take_quoted(cursor, byte, token)
        start = cursor.position
        skip_word(cursor)
        if not remaining(cursor):
            return MORE
        token.data = cursor.base + start
        token.size = cursor.position - start
        named = token.size == 1 and peek(cursor, 0) == c"'"
        if named and (byte | 32 == c"x" or byte | 32 == c"b"):
            if self.take_quoted(cursor, c"'", token) == MORE:
                return MORE
            return decode_digits(cursor, token, byte | 32 == c"x", &self.decoded)
        if token.size == 4 and byte | 32 == c"n":
            token.is_null = True
        elif token.size >= 2 and byte == c"0" and token.data[1] | 32 in (c"x", c"b"):
            named = token.data[1] | 32 == c"x"
            token.data += 2
            token.size -= 2
            return decode_digits(cursor, token, named, &self.decoded)
        elif token.size == 0 or not (48 <= byte <= 57 or byte == c"-" or byte == c"+" or byte == c"."):
            cursor.position = start
            unexpected(cursor, b"a value")
        return ROW

    cdef int take_quoted(self, Cursor *cursor, int quote, Token *token) except -1 nogil:
        """Parse a quoted string; its bytes are copied only if it contains escapes."""
        cdef int64_t start
        cdef int byte
        cdef bint escaped = False
        take(cursor, 1)
        start = cursor.position
        self.scratch.size = 0
        while True:
            byte = peek(cursor, 0)
            while byte >= 0 and byte != quote and byte != c"\\":
                cursor.position += 1
                byte = peek(cursor, 0)
            if remaining(cursor) < 2:
                return MORE
            if byte == quote and peek(cursor, 1) != quote:
                break
            append(&self.scratch, cursor.base + start, cursor.position - start)
            escaped = True
            append_byte(&self.scratch, unescaped(<uint8_t> peek(cursor, 1)) if byte == c"\\" else <uint8_t> quote)
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

    cdef int take_line(self, Cursor *cursor) except -1 nogil:
        """Parse the next line of tab-separated fields."""
        cdef int32_t index
        cdef int64_t start
        cdef int byte = 0
        cdef bint escaped
        cdef Token token
        if not remaining(cursor):
            return MORE
        for index in range(self.count):
            token.is_null = False
            self.scratch.size = 0
            escaped = False
            start = cursor.position
            while True:
                byte = peek(cursor, 0)
                while byte >= 0 and byte != 9 and byte != 10 and byte != c"\\":
                    cursor.position += 1
                    byte = peek(cursor, 0)
                if byte < 0:
                    return MORE
                if byte != c"\\":
                    break
                if remaining(cursor) < 3:
                    return MORE
                append(&self.scratch, cursor.base + start, cursor.position - start)
                byte = peek(cursor, 1)
                token.is_null = byte == c"N" and cursor.position == start and self.scratch.size == 0 and (
                    peek(cursor, 2) in (9, 10)
                )
                append_byte(&self.scratch, unescaped(<uint8_t> byte))
                escaped = True
                cursor.position += 2
                start = cursor.position
            self.end_token(cursor, start, escaped, &token)
            if byte != (9 if index + 1 < self.count else 10):
                unexpected(cursor, b"as many fields as the table has columns")
            self.append_value(index, &token, cursor)
            take(cursor, 1)
        self.rows += 1
        return ROW

    cdef int append_value(self, int32_t index, Token *token, Cursor *cursor) except -1 nogil:
        """Append a value to its column."""
        cdef Column *column = &self.columns[index]
        cdef int32_t offset
        if token.is_null:
            column.nulls += 1
            token.size = 0
        elif column.encoding == BASE64:
            decode_base64(cursor, token, &self.decoded)
        elif column.encoding == HEXADECIMAL:
            decode_digits(cursor, token, True, &self.decoded)
        if column.data.size + token.size > OFFSET_MAXIMUM:
            too_much(cursor.position)
        add_bit(&column.validity, self.rows, not token.is_null)
        offset = <int32_t> column.data.size
        append(&column.offsets, &offset, sizeof(int32_t))
        append(&column.data, token.data, token.size)
        self.size += token.size + <int64_t> sizeof(int32_t)
        return 0

    cdef void drop_incomplete_row(self) noexcept nogil:
        """Discard the values of an incomplete row."""
        cdef int32_t index
        cdef Column *column
        cdef int64_t offsets_size = self.rows * <int64_t> sizeof(int32_t)
        cdef int32_t offset
        for index in range(self.count):
            column = &self.columns[index]
            if column.offsets.size == offsets_size:
                break
            offset = (<int32_t *> column.offsets.data)[self.rows]
            self.size -= column.data.size - offset + <int64_t> sizeof(int32_t)
            column.data.size = offset
            column.offsets.size = offsets_size
            column.nulls -= not bit_at(column.validity.data, self.rows)
            clear_bit(column.validity.data, self.rows)
            column.validity.size = (self.rows + 7) >> 3


cdef int too_much(int64_t position) except -1 with gil:
    raise UnsupportedError("expected less than 2 GiB of a column's values at once, found more", offset=position)
