# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""MySQL's binary JSON (WL#8132, sql-common/json_binary.h) rendered as the text that the server prints.

A document is a type byte and a value. An array or object holds the number of
its members and its size in bytes, then (objects) an offset and a length for
each key, then a type and an offset for each value, then keys and values;
offsets count from the container's start. Counts and offsets have 2 bytes in
small containers and 4 in large ones, and a value that fits into its offset
stands there itself. The spelling of values is ``Json_wrapper::to_string``'s
(sql-common/json_dom.cc).

Offsets invite hostile bytes to overlap, and then a few of them to expand into
a text without end. A server never shares bytes, so every byte read is paid for
out of the document's size; what runs out of it is damage.
"""

from libc.math cimport isfinite
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from binx.kernels.cursor cimport Cursor, cursor_over, little, remaining, take, take_packed
from binx.kernels.decimal cimport check_decimal, decimal_size, render_decimal
from binx.kernels.output cimport Output, append_byte, release
from binx.kernels.text cimport (
    append_base64,
    append_double,
    append_quoted,
    append_signed,
    append_text,
    append_unsigned,
)

from binx.errors import DamagedError

cdef enum:
    SMALL_OBJECT = 0x00
    LARGE_OBJECT = 0x01
    SMALL_ARRAY = 0x02
    LARGE_ARRAY = 0x03
    LITERAL = 0x04
    INT16 = 0x05
    UINT16 = 0x06
    INT32 = 0x07
    UINT32 = 0x08
    INT64 = 0x09
    UINT64 = 0x0A
    DOUBLE = 0x0B
    STRING = 0x0C
    OPAQUE = 0x0F

cdef enum:  # enum_field_types, of the opaque values that JSON spells in a way of its own
    FIELD_TIMESTAMP = 7
    FIELD_DATE = 10
    FIELD_TIME = 11
    FIELD_DATETIME = 12
    FIELD_NEWDECIMAL = 246

cdef enum:
    MAX_DEPTH = 100  # JSON_DOCUMENT_MAX_DEPTH: the server writes no deeper document

cdef enum:  # enum_json_diff_operation
    REPLACE = 0
    INSERT = 1
    REMOVE = 2


cdef int damaged(Cursor *cursor, const char *expected, int64_t found) except -1 with gil:
    """Raise with what stood before the cursor's position."""
    raise DamagedError(
        f"expected {expected.decode('ascii')} in a JSON document, found {found}",
        offset=cursor.origin + cursor.position,
    )


cdef const uint8_t *spend(Cursor *cursor, int64_t count, int64_t *unspent) except NULL nogil:
    """Take bytes and pay for them, so that no byte of a document is rendered twice."""
    if count > unspent[0]:
        damaged(cursor, b"values that share no bytes, in all as long as the document", count)
    unspent[0] -= count
    return take(cursor, count)


cdef int render_literal(Cursor *value, int64_t *unspent, Output *out) except -1 nogil:
    cdef uint8_t literal = spend(value, 1, unspent)[0]
    if literal == 0:
        return append_text(out, b"null", 4)
    if literal == 1:
        return append_text(out, b"true", 4)
    if literal == 2:
        return append_text(out, b"false", 5)
    return damaged(value, b"null, true or false (0, 1, 2)", literal)


cdef int render_double(Cursor *value, int64_t *unspent, Output *out) except -1 nogil:
    cdef double number
    memcpy(&number, spend(value, 8, unspent), 8)
    if not isfinite(number):
        damaged(value, b"a finite number (JSON has no other)", 0)
    return append_double(out, number)


cdef int take_length(Cursor *value, int64_t *unspent, int64_t *length) except -1 nogil:
    """The length of a string or opaque value: seven bits a byte, at most five bytes and 32 bits."""
    cdef uint8_t byte = 0x80
    cdef int shift = 0
    length[0] = 0
    while byte & 0x80:
        if shift > 28:
            damaged(value, b"a length of at most five bytes", shift // 7 + 1)
        byte = spend(value, 1, unspent)[0]
        length[0] |= <int64_t> (byte & 0x7F) << shift
        shift += 7
    return 0


cdef int render_string(Cursor *value, int64_t *unspent, Output *out) except -1 nogil:
    cdef int64_t length = 0
    take_length(value, unspent, &length)
    return append_quoted(value, spend(value, length, unspent), length, out)


cdef int render_clock(uint64_t hour, uint64_t rest, Output *out) except -1 nogil:
    """Append ``HH:MM:SS.ffffff`` of minutes (6 bits), seconds (6) and microseconds (24)."""
    append_unsigned(out, hour, 2)
    append_byte(out, c":")
    append_unsigned(out, (rest >> 30) & 63, 2)
    append_byte(out, c":")
    append_unsigned(out, (rest >> 24) & 63, 2)
    append_byte(out, c".")
    return append_unsigned(out, rest & 0xFFFFFF, 6)


cdef int render_temporal(Cursor *value, int field_type, int64_t packed, Output *out) except -1 nogil:
    """Append a date, time or both, as ``TIME_to_longlong_packed`` (sql-common/my_time.cc) packs it.

    From the low end: microseconds (24 bits), seconds (6), minutes (6), then in a TIME
    the hours (10), in the others the hour (5), day (5) and year * 13 + month.
    """
    cdef uint64_t bits = 0 - <uint64_t> packed if packed < 0 else <uint64_t> packed
    cdef uint64_t months = bits >> 46
    cdef bint is_time = field_type == FIELD_TIME
    if (
        (bits & 0xFFFFFF) > 999999
        or ((bits >> 24) & 63) > 59
        or ((bits >> 30) & 63) > 59
        or (is_time and (bits >> 36) > 838)
        or (not is_time and (packed < 0 or months > 9999 * 13 + 12 or ((bits >> 36) & 31) > 23))
    ):
        damaged(value, b"a date or time within its bounds", packed)
    append_byte(out, c'"')
    if is_time:
        if packed < 0:
            append_byte(out, c"-")
        render_clock(bits >> 36, bits, out)
    else:
        append_unsigned(out, months // 13, 4)
        append_byte(out, c"-")
        append_unsigned(out, months % 13, 2)
        append_byte(out, c"-")
        append_unsigned(out, (bits >> 41) & 31, 2)
        if field_type != FIELD_DATE:
            append_byte(out, c" ")
            render_clock((bits >> 36) & 31, bits, out)
    return append_byte(out, c'"')


cdef int render_opaque(Cursor *value, int64_t *unspent, Output *out) except -1 nogil:
    """Append a value of an SQL type that JSON does not have: the type, a length, its bytes."""
    cdef int field_type = spend(value, 1, unspent)[0]
    cdef int64_t length = 0
    cdef const uint8_t *data
    take_length(value, unspent, &length)
    data = spend(value, length, unspent)
    if field_type == FIELD_NEWDECIMAL:
        if length < 2:
            damaged(value, b"a decimal's precision and scale", length)
        check_decimal(data[0], data[1])
        if decimal_size(data[0], data[1]) != length - 2:
            damaged(value, b"a decimal as long as its precision asks for", length - 2)
        return render_decimal(data + 2, data[0], data[1], out)
    if field_type in (FIELD_DATE, FIELD_TIME, FIELD_DATETIME, FIELD_TIMESTAMP):
        if length != 8:
            damaged(value, b"8 bytes of a date or time", length)
        return render_temporal(value, field_type, <int64_t> little(data, 8), out)
    append_text(out, b'"base64:type', 12)
    append_unsigned(out, field_type, 1)
    append_byte(out, c":")
    append_base64(data, length, out)
    return append_byte(out, c'"')


cdef int render_key(
    Cursor *body, const uint8_t *entry, int width, int64_t header, int64_t *unspent, Output *out
) except -1 nogil:
    """Append the key whose offset and two-byte length stand in ``entry``."""
    cdef int64_t length = little(entry + width, 2)
    body.position = <int64_t> little(entry, width)
    if body.position < header or body.position > body.size:
        damaged(body, b"a key behind the container's entries and before its end", body.position)
    append_quoted(body, spend(body, length, unspent), length, out)
    return append_text(out, b": ", 2)


cdef int render_member(
    Cursor *body, const uint8_t *entry, int width, int64_t header, int64_t *unspent, int depth, Output *out
) except -1 nogil:
    """Append the value of one entry: a type byte and an offset, or the value itself where it fits."""
    cdef uint8_t kind = entry[0]
    cdef int64_t offset, inlined = width
    cdef Cursor value
    if LITERAL <= kind <= UINT16 or (width == 4 and INT32 <= kind <= UINT32):
        value = cursor_over(entry + 1, width, body.origin + (entry + 1 - body.base))
        return render_value(kind, &value, &inlined, depth, out)
    offset = <int64_t> little(entry + 1, width)
    if offset < header or offset > body.size:
        damaged(body, b"a value behind the container's entries and before its end", offset)
    value = cursor_over(body.base + offset, body.size - offset, body.origin + offset)
    return render_value(kind, &value, unspent, depth, out)


cdef int render_container(
    uint8_t kind, Cursor *value, int64_t *unspent, int depth, Output *out
) except -1 nogil:
    cdef bint is_object = kind == SMALL_OBJECT or kind == LARGE_OBJECT
    cdef int width = 4 if kind == LARGE_OBJECT or kind == LARGE_ARRAY else 2
    cdef int key_entry = width + 2 if is_object else 0, value_entry = width + 1
    cdef int64_t count, size, header, i
    cdef const uint8_t *keys
    cdef const uint8_t *values
    cdef Cursor body
    if depth > MAX_DEPTH:
        damaged(value, b"at most 100 levels", depth)
    body = cursor_over(value.base + value.position, remaining(value), value.origin + value.position)
    count = <int64_t> little(spend(&body, width, unspent), width)
    size = <int64_t> little(spend(&body, width, unspent), width)
    header = 2 * width + count * (key_entry + value_entry)
    if size > body.size:
        damaged(&body, b"a container that ends within the one around it", size)
    if header > size:
        damaged(&body, b"a container as long as its entries", size)
    body.size = size
    keys = spend(&body, header - 2 * width, unspent)
    values = keys + count * key_entry
    append_byte(out, c"{" if is_object else c"[")
    for i in range(count):
        if i:
            append_text(out, b", ", 2)
        if is_object:
            render_key(&body, keys + i * key_entry, width, header, unspent, out)
        render_member(&body, values + i * value_entry, width, header, unspent, depth, out)
    return append_byte(out, c"}" if is_object else c"]")


cdef int render_value(uint8_t kind, Cursor *value, int64_t *unspent, int depth, Output *out) except -1 nogil:
    """Append the value that begins at the cursor; ``depth`` counts the containers around it."""
    if kind <= LARGE_ARRAY:
        return render_container(kind, value, unspent, depth + 1, out)
    if kind == LITERAL:
        return render_literal(value, unspent, out)
    if kind == INT16:
        return append_signed(out, <int16_t> little(spend(value, 2, unspent), 2))
    if kind == UINT16:
        return append_unsigned(out, little(spend(value, 2, unspent), 2), 1)
    if kind == INT32:
        return append_signed(out, <int32_t> little(spend(value, 4, unspent), 4))
    if kind == UINT32:
        return append_unsigned(out, little(spend(value, 4, unspent), 4), 1)
    if kind == INT64:
        return append_signed(out, <int64_t> little(spend(value, 8, unspent), 8))
    if kind == UINT64:
        return append_unsigned(out, little(spend(value, 8, unspent), 8), 1)
    if kind == DOUBLE:
        return render_double(value, unspent, out)
    if kind == STRING:
        return render_string(value, unspent, out)
    if kind == OPAQUE:
        return render_opaque(value, unspent, out)
    return damaged(value, b"a value's type (0 to 12, or 15)", kind)


cdef int render(Cursor *document, Output *out) except -1 nogil:
    """Append the text of the document that fills the rest of the cursor; an empty one is null."""
    cdef int64_t unspent = remaining(document)
    cdef uint8_t kind
    if unspent == 0:
        return append_text(out, b"null", 4)
    kind = spend(document, 1, &unspent)[0]
    render_value(kind, document, &unspent, 0, out)
    document.position = document.size
    return 0


cdef int render_change(Cursor *diff, Output *out) except -1 nogil:
    """Append one change: an operation (1 byte), a path and, but for a removal, a document."""
    cdef uint8_t operation = take(diff, 1)[0]
    cdef uint64_t length = 0
    cdef int64_t start
    cdef const uint8_t *data
    cdef Cursor document
    if operation == REPLACE:
        append_text(out, b'{"op": "replace", "path": ', 26)
    elif operation == INSERT:
        append_text(out, b'{"op": "insert", "path": ', 25)
    elif operation == REMOVE:
        append_text(out, b'{"op": "remove", "path": ', 25)
    else:
        damaged(diff, b"a change's operation (0 to 2)", operation)
    take_packed(diff, &length)
    data = take(diff, <int64_t> length)
    append_quoted(diff, data, <int64_t> length, out)
    if operation != REMOVE:
        take_packed(diff, &length)
        start = diff.origin + diff.position
        data = take(diff, <int64_t> length)
        document = cursor_over(data, <int64_t> length, start)
        append_text(out, b', "value": ', 11)
        render(&document, out)
    return append_byte(out, c"}")


cdef int render_diff(Cursor *diff, Output *out) except -1 nogil:
    """Append the changes that fill the rest of the cursor as a JSON array (sql/json_diff.cc)."""
    cdef int64_t start = out.size
    append_byte(out, c"[")
    while remaining(diff):
        if out.size > start + 1:
            append_text(out, b", ", 2)
        render_change(diff, out)
    return append_byte(out, c"]")


cdef str text_of(const uint8_t[::1] data, bint is_diff):
    cdef Cursor cursor = cursor_over(&data[0], data.shape[0], 0)
    cdef Output out = Output(NULL, 0, 0)
    try:
        with nogil:
            if is_diff:
                render_diff(&cursor, &out)
            else:
                render(&cursor, &out)
        return out.data[: out.size].decode("utf-8")
    finally:
        release(&out)


def to_text(const uint8_t[::1] data not None) -> str:
    return text_of(data, False)


def diff_to_text(const uint8_t[::1] data not None) -> str:
    return text_of(data, True)
