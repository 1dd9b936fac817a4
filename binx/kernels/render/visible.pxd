# cython: language_level=3
"""Characters that a terminal shows, and escapes for those that it does not."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from binx.kernels.render.digits cimport put, put_byte
from binx.kernels.output cimport Output

cdef enum:
    # Characters are asked for by pages of 256.
    PAGES = 0x1100
    PAGE_BYTES = 32

cdef extern from *:
    """
    static unsigned char binx_known_pages[0x1100];
    static unsigned char binx_invisible[0x1100][32];
    """
    uint8_t *binx_known_pages
    uint8_t (*binx_invisible)[32]


cdef inline int learn_page(uint32_t page) except -1 with gil:
    """Ask Python, which has Unicode's tables, which characters of a page are invisible."""
    from binx.kernels.render.invisible import invisible_page

    cdef bytes bits = invisible_page(page)
    cdef int i
    for i in range(PAGE_BYTES):
        binx_invisible[page][i] = bits[i]
    binx_known_pages[page] = 1
    return 0


cdef inline bint is_invisible(uint32_t character) except -1 nogil:
    cdef uint32_t page = character >> 8
    if not binx_known_pages[page]:
        learn_page(page)
    return (binx_invisible[page][(character & 0xFF) >> 3] >> (character & 7)) & 1


cdef inline uint32_t code_point(const uint8_t *text, int64_t length) noexcept nogil:
    """The character that some bytes are, which are one in UTF-8 for certain."""
    if length == 2:
        return (text[0] & 0x1F) << 6 | (text[1] & 0x3F)
    if length == 3:
        return (text[0] & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F)
    return (text[0] & 0x07) << 18 | (text[1] & 0x3F) << 12 | (text[2] & 0x3F) << 6 | (text[3] & 0x3F)


cdef inline void put_invisible(Output *out, uint32_t character) noexcept nogil:
    r"""``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``."""
    cdef const char *digits = b"0123456789abcdef"
    cdef int count = 2
    cdef int place
    put_byte(out, c"\\")
    if character <= 0xFF:
        put_byte(out, c"x")
    elif character <= 0xFFFF:
        put_byte(out, c"u")
        count = 4
    else:
        put_byte(out, c"U")
        count = 8
    for place in range(count - 1, -1, -1):
        put_byte(out, digits[(character >> (4 * place)) & 15])
