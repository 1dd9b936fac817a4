# cython: language_level=3
"""Parse JSON paths leg by leg, as servers write them (sql-common/json_path.cc)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from binx.kernels.cursor cimport Cursor, remaining, take
from binx.kernels.digits cimport hexadecimal_value
from binx.kernels.json.documents cimport damaged
from binx.kernels.output cimport Output, append_byte

cdef enum:
    MAX_INDEX = 0xFFFFFFFF

cdef struct Leg:
    # A leg of a path: a member's name, or an array index, which may count back from the last cell.
    const uint8_t *name
    int64_t size
    int64_t index
    bint is_cell
    bint is_from_last



cdef inline int bad_path(Cursor *path) except -1 nogil:
    return damaged(path, b"a path as the server writes it, such as $.name[1].\"a b\"", path.position)


cdef inline int take_code_unit(Cursor *path, uint32_t *value) except -1 nogil:
    """Parse four hexadecimal digits of an escape."""
    cdef const uint8_t *digits = take(path, 4)
    cdef int digit
    cdef int i
    value[0] = 0
    for i in range(4):
        digit = hexadecimal_value(digits[i])
        if digit < 0:
            bad_path(path)
        value[0] = value[0] << 4 | <uint32_t> digit
    return 0


cdef inline int take_escape(Cursor *path, Output *keys) except -1 nogil:
    """Parse an escape after its backslash, and append its character."""
    cdef uint8_t escape = take(path, 1)[0]
    cdef uint32_t point = 0, low = 0
    if escape == c"b":
        return append_byte(keys, c"\b")
    if escape == c"f":
        return append_byte(keys, c"\f")
    if escape == c"n":
        return append_byte(keys, c"\n")
    if escape == c"r":
        return append_byte(keys, c"\r")
    if escape == c"t":
        return append_byte(keys, c"\t")
    if escape != c"u":
        return append_byte(keys, escape)
    take_code_unit(path, &point)
    if 0xD800 <= point < 0xDC00:
        if take(path, 1)[0] != c"\\" or take(path, 1)[0] != c"u":
            bad_path(path)
        take_code_unit(path, &low)
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00 if 0xDC00 <= low < 0xE000 else 0)
    if point < 0x80:
        return append_byte(keys, point)
    if point < 0x800:
        append_byte(keys, 0xC0 | point >> 6)
        return append_byte(keys, 0x80 | point & 63)
    if point < 0x10000:
        append_byte(keys, 0xE0 | point >> 12)
    else:
        append_byte(keys, 0xF0 | point >> 18)
        append_byte(keys, 0x80 | point >> 12 & 63)
    append_byte(keys, 0x80 | point >> 6 & 63)
    return append_byte(keys, 0x80 | point & 63)


cdef inline int take_quoted(Cursor *path, Output *keys, Leg *leg) except -1 nogil:
    """Parse the quoted name at the cursor; space for all names of a diff is reserved."""
    cdef int64_t start = keys.size
    cdef uint8_t byte
    take(path, 1)
    while True:
        byte = take(path, 1)[0]
        if byte == c'"':
            break
        if byte == c"\\":
            take_escape(path, keys)
        else:
            append_byte(keys, byte)
    leg.name = keys.data + start
    leg.size = keys.size - start
    return 0


cdef inline int take_index(Cursor *path, Leg *leg) except -1 nogil:
    """Parse the index after an opening bracket (``1``, ``last``, ``last-1``), and the closing bracket."""
    cdef uint8_t byte = take(path, 1)[0]
    leg.index = 0
    leg.is_from_last = byte == c"l"
    if leg.is_from_last:
        if memcmp(take(path, 3), b"ast", 3) != 0:
            bad_path(path)
        byte = take(path, 1)[0]
        if byte == c"]":
            return 0
        if byte != c"-":
            bad_path(path)
        byte = take(path, 1)[0]
    if byte == c"]":
        bad_path(path)
    while byte != c"]":
        if not c"0" <= byte <= c"9" or leg.index > MAX_INDEX:
            bad_path(path)
        leg.index = leg.index * 10 + byte - c"0"
        byte = take(path, 1)[0]
    return 0


cdef inline int take_leg(Cursor *path, Output *keys, Leg *leg) except -1 nogil:
    """Parse one leg of a path, as ``Json_path_leg::to_string`` (sql-common/json_path.cc) writes it."""
    cdef uint8_t byte = take(path, 1)[0]
    leg.is_cell = byte == c"["
    if leg.is_cell:
        return take_index(path, leg)
    if byte != c"." or remaining(path) == 0:
        bad_path(path)
    leg.name = path.base + path.position
    if leg.name[0] == c'"':
        return take_quoted(path, keys, leg)
    while remaining(path) and path.base[path.position] != c"." and path.base[path.position] != c"[":
        take(path, 1)
    leg.size = path.base + path.position - leg.name
    return 0
