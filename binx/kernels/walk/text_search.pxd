# cython: language_level=3
"""Search the texts of statements, ignoring the case of ASCII letters."""

from libc.stdint cimport int64_t, uint8_t

from binx.kernels.cursor cimport Cursor, remaining
from binx.kernels.walk.events cimport (
    EXECUTE_LOAD_QUERY_EVENT,
    MARIADB_ANNOTATE_ROWS_EVENT,
    QUERY_EVENT,
    ROWS_QUERY_EVENT,
)
from binx.kernels.walk.statements cimport take_query_head

cdef enum:
    SKIP_MAXIMUM = 255

cdef struct Needle:
    # In lower case.
    const uint8_t *text
    int64_t size
    # Boyer-Moore-Horspool: how far to go on by the byte at the window's end.
    uint8_t skips[256]


cdef inline uint8_t folded(uint8_t byte) noexcept nogil:
    return byte + 0x20 if 0x41 <= byte <= 0x5A else byte


cdef inline void prepare_needle(Needle *needle, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    needle.text = text
    needle.size = size
    for i in range(256):
        needle.skips[i] = <uint8_t> min(size, <int64_t> SKIP_MAXIMUM)
    for i in range(size - 1):
        needle.skips[text[i]] = <uint8_t> min(size - 1 - i, <int64_t> SKIP_MAXIMUM)


cdef inline bint contains(const uint8_t *text, int64_t size, const Needle *needle) noexcept nogil:
    cdef int64_t last = needle.size - 1
    cdef int64_t at = last
    cdef int64_t i
    cdef uint8_t byte
    if last < 0:
        return True
    while at < size:
        byte = folded(text[at])
        if byte == needle.text[last]:
            i = 0
            while i < last and folded(text[at - last + i]) == needle.text[i]:
                i += 1
            if i == last:
                return True
        at += needle.skips[byte]
    return False


cdef inline bint is_ascii(const uint8_t *text, int64_t size) noexcept nogil:
    cdef uint8_t bits = 0
    cdef int64_t i
    for i in range(size):
        bits |= text[i]
    return bits < 0x80


cdef inline bint take_text(Cursor *body, uint8_t type) except -1 nogil:
    """Go to the text of a statement's event; return whether the event has one."""
    if type == QUERY_EVENT:
        take_query_head(body)
        return True
    if type == ROWS_QUERY_EVENT:
        # Its first byte is the text's length modulo 256.
        body.position += remaining(body) > 0
        return True
    return type == MARIADB_ANNOTATE_ROWS_EVENT or type == EXECUTE_LOAD_QUERY_EVENT
