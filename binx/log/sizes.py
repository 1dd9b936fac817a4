"""Numbers of bytes as a user writes them."""

from __future__ import annotations

import re

from binx.errors import UsageError

_SIZE = r"(\d{1,18})\s*([KMGT]?)(i?B)?"
_SIZE_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_size(text: str) -> int:
    """A number of bytes, with K, M, G or T for powers of 1024.

    Raises:
        UsageError: the text is no such number.
    """
    found = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"expected a number of bytes, such as 4096, 64K or 10M, found {text!r}")
    return int(found[1]) << _SIZE_SHIFTS[found[2].upper()]


__all__ = ["parse_size"]
