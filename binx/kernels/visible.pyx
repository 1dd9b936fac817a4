# cython: language_level=3
"""Which characters a terminal does not show, as Unicode's tables have them."""

import unicodedata

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def invisible_page(int page):
    """A bit for each of 256 characters, set where it is invisible."""
    cdef bytearray bits = bytearray(PAGE_BYTES)
    cdef int place
    for place in range(256):
        if unicodedata.category(chr(page * 256 + place)) in INVISIBLE:
            bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)
