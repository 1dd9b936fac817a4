# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Whole columns of values made columns of text: what writers of SQL and JSON do most.

A column of text is what Arrow's ``large_binary`` is: 64-bit offsets, one more than there are texts, and the bytes
that they point into. What comes from here begins at offset 0 and has no nulls; a null's text is whatever stands
in its place.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from binx.kernels.render.digits cimport put, put_byte, put_signed
from binx.kernels.memory cimport Memory, hand_over
from binx.kernels.output cimport Output, append, release, reserve
from binx.kernels.render.spelling cimport (
    SHORT_MAXIMUM,
    TEXT_ESCAPES,
    TEXT_UNSAFE,
    put_doubled,
    put_hexadecimal,
    put_with_escapes,
    text_class,
)

cdef enum:
    # Copies of as many bytes are made whatever a text's size, where both sides have room for them.
    SHORT = 16
    # No number's shortest digits are longer.
    REAL_MAXIMUM = 40
    # Where Python begins to write exponents.
    LEAST_POINT = -4
    MOST_POINT = 16

cdef struct Part:
    const int64_t *offsets
    const uint8_t *data
    int64_t size


cdef int bad_offsets() except -1 with gil:
    raise ValueError("a text's offsets do not fit its bytes")


cdef inline int64_t size_of(const Part *part, int64_t row) except -1 nogil:
    """The bytes of a part's text, which stand within its data for certain."""
    cdef int64_t first
    cdef int64_t last
    if part.offsets == NULL:
        return part.size
    first = part.offsets[row]
    last = part.offsets[row + 1]
    if first < 0 or last < first or last > part.size:
        bad_offsets()
    return last - first


cdef inline void copy_text(Output *out, const Part *part, int64_t row, int64_t size) noexcept nogil:
    """Copy a text for which, and for SHORT bytes more, there is room."""
    cdef int64_t first = 0 if part.offsets == NULL else part.offsets[row]
    if size <= SHORT and first + SHORT <= part.size:
        memcpy(out.data + out.size, part.data + first, SHORT)
    else:
        memcpy(out.data + out.size, part.data + first, size)
    out.size += size


cdef class Texts:
    """A column of text that kernels have written.

    Attributes:
        offsets: 64-bit integers, one more than there are texts.
        data: the bytes.
    """

    cdef readonly Memory offsets
    cdef readonly Memory data


cdef class Writer:
    """What a column of text is written to."""

    cdef Output data
    cdef Output offsets
    cdef int64_t rows

    def __cinit__(self):
        memset(&self.data, 0, sizeof(Output))
        memset(&self.offsets, 0, sizeof(Output))

    def __dealloc__(self):
        release(&self.data)
        release(&self.offsets)

    cdef int begin(self, int64_t rows) except -1:
        if rows < 0 or rows >> 48:
            raise ValueError(f"no column has {rows} rows")
        reserve(&self.offsets, (rows + 1) * 8)
        (<int64_t *> self.offsets.data)[0] = 0
        self.rows = rows
        return 0

    cdef inline void ends(self, int64_t row) noexcept nogil:
        (<int64_t *> self.offsets.data)[row + 1] = self.data.size

    cdef Texts texts(self):
        cdef Texts texts = Texts.__new__(Texts)
        texts.data = hand_over(&self.data, self.data.size)
        texts.offsets = hand_over(&self.offsets, (self.rows + 1) * 8)
        return texts


def joined_texts(list parts, int64_t rows):
    """Texts put behind one another, row by row; each part is ``bytes`` for all rows, or offsets and data of a column."""
    cdef Writer writer = Writer()
    cdef Output table
    cdef Part part
    cdef Part *all_parts
    cdef const int64_t[::1] offsets
    cdef const uint8_t[::1] data
    cdef list held = []
    cdef int64_t row
    cdef int64_t size
    cdef int64_t total = 0
    cdef int64_t count = len(parts)
    cdef int64_t i
    writer.begin(rows)
    memset(&table, 0, sizeof(Output))
    try:
        for given in parts:
            if isinstance(given, bytes):
                data = given
                part.offsets = NULL
            else:
                offsets, data = given
                held.append(offsets)
                if offsets.shape[0] < rows + 1:
                    raise ValueError("a column has fewer texts than there are rows")
                part.offsets = &offsets[0]
            held.append(data)
            part.size = data.shape[0]
            part.data = &data[0] if part.size else NULL
            append(&table, &part, sizeof(Part))
        all_parts = <Part *> table.data
        with nogil:
            for i in range(count):
                if all_parts[i].offsets == NULL:
                    total += rows * all_parts[i].size
                    continue
                for row in range(rows):
                    total += size_of(&all_parts[i], row)
            reserve(&writer.data, total + SHORT)
            for row in range(rows):
                for i in range(count):
                    size = size_of(&all_parts[i], row)
                    if size:
                        copy_text(&writer.data, &all_parts[i], row, size)
                writer.ends(row)
    finally:
        release(&table)
    return writer.texts()


cdef int put_literal(Output *out, const uint8_t *text, int64_t size, bint escapes) except -1 nogil:
    cdef int kind = text_class(text, size)
    reserve(out, 2 * size + SHORT_MAXIMUM)
    if kind == TEXT_UNSAFE or (kind == TEXT_ESCAPES and not escapes):
        put(out, b"_utf8mb4 x'", 11)
        put_hexadecimal(out, text, size)
    else:
        put_byte(out, c"'")
        if kind == TEXT_ESCAPES:
            put_with_escapes(out, text, size)
        else:
            put_doubled(out, text, size)
    put_byte(out, c"'")
    return 0


cdef int put_quoted(Output *out, const uint8_t *text, int64_t size) except -1 nogil:
    """A string as SQL has it in every mode: between quotes, or in hexadecimal where an escape could be meant."""
    return put_literal(out, text, size, False)


cdef int put_escaped(Output *out, const uint8_t *text, int64_t size) except -1 nogil:
    """A string as SQL has it where backslashes escape: between quotes, unless it has control characters without escapes."""
    return put_literal(out, text, size, True)


ctypedef int (*Spell)(Output *, const uint8_t *, int64_t) except -1 nogil


cdef Texts spelled(const int64_t[::1] offsets, const uint8_t[::1] data, int64_t rows, Spell spell):
    """Texts, each spelled anew."""
    cdef Writer writer = Writer()
    cdef Part part
    cdef int64_t row
    cdef int64_t size
    writer.begin(rows)
    if offsets.shape[0] < rows + 1:
        raise ValueError("a column has fewer texts than there are rows")
    part.offsets = &offsets[0]
    part.size = data.shape[0]
    part.data = &data[0] if part.size else NULL
    with nogil:
        for row in range(rows):
            size = size_of(&part, row)
            spell(&writer.data, part.data + offsets[row], size)
            writer.ends(row)
    return writer.texts()


def quoted_texts(
    const int64_t[::1] offsets not None, const uint8_t[::1] data not None, int64_t rows, bint escapes=False
):
    """Texts in UTF-8 as string literals: quotes doubled, or ``_utf8mb4 x'…'`` where a backslash or control character is."""
    return spelled(offsets, data, rows, put_escaped if escapes else put_quoted)


cdef int lay_out_real(Output *out, const uint8_t *digits, int64_t count, int64_t point) except -1 nogil:
    """A number's significant digits with the point behind so many of them, as Python's ``repr`` lays them out."""
    if count == 0:
        put(out, b"0.0", 3)
    elif point <= LEAST_POINT or point > MOST_POINT:
        put_byte(out, digits[0])
        if count > 1:
            put_byte(out, c".")
            put(out, digits + 1, count - 1)
        put_byte(out, c"e")
        put_byte(out, c"-" if point < 1 else c"+")
        point = 1 - point if point < 1 else point - 1
        if point < 10:
            put_byte(out, c"0")
        put_signed(out, point)
    elif point <= 0:
        put(out, b"0.", 2)
        put(out, b"0000", -point)
        put(out, digits, count)
    elif count > point:
        put(out, digits, point)
        put_byte(out, c".")
        put(out, digits + point, count - point)
    else:
        put(out, digits, count)
        put(out, b"0000000000000000", point - count)
        put(out, b".0", 2)
    return 0


cdef int put_real(Output *out, const uint8_t *text, int64_t size) except -1 nogil:
    """A floating-point number, given in decimal, as Python prints it; what is no number stands as it is."""
    cdef uint8_t digits[REAL_MAXIMUM]
    cdef int64_t at = 0
    cdef int64_t count = 0
    cdef int64_t seen = 0
    cdef int64_t leading = 0
    cdef int64_t point = -1
    cdef int64_t exponent = 0
    cdef bint small = False
    reserve(out, size + 2 * REAL_MAXIMUM)
    if size and text[0] == c"-":
        put_byte(out, c"-")
        at = 1
    if at == size or size > REAL_MAXIMUM or not c"0" <= text[at] <= c"9":
        put(out, text + at, size - at)
        return 0
    while at < size and text[at] != c"e":
        if text[at] == c".":
            point = seen
        else:
            seen += 1
            if count == 0 and text[at] == c"0":
                leading += 1
            else:
                digits[count] = text[at]
                count += 1
        at += 1
    for at in range(at + 1, size):
        if text[at] == c"-":
            small = True
        elif text[at] != c"+":
            exponent = exponent * 10 + (text[at] - c"0")
    while count and digits[count - 1] == c"0":
        count -= 1
    if point < 0:
        point = seen
    return lay_out_real(out, digits, count, point - leading + (-exponent if small else exponent))


def real_texts(const int64_t[::1] offsets not None, const uint8_t[::1] data not None, int64_t rows):
    """Floating-point numbers, given in decimal, as Python prints them; see the stub."""
    return spelled(offsets, data, rows, put_real)
