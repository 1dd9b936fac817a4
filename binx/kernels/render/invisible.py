"""Which characters a terminal does not show, as Unicode's tables have them."""

from __future__ import annotations

import unicodedata

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that are not shown, or do something to a terminal."""

_PAGE = 256


def invisible_page(page: int) -> bytes:
    """A bit for each of 256 characters, the lowest of the first byte first, set where it is invisible."""
    bits = 0
    for place in range(_PAGE):
        bits |= (unicodedata.category(chr(page * _PAGE + place)) in INVISIBLE) << place
    return bits.to_bytes(_PAGE // 8, "little")
