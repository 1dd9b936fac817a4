"""Statistics of long texts: bounds instead of the texts."""

from __future__ import annotations

BOUND_BYTES = 256
"""Bytes of a text's statistics, at most."""

_LAST_CHARACTER = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def text_bounds(
    least: bytes, largest: bytes, *, is_text: bool
) -> tuple[bytes, bytes | None, tuple[bool, bool]]:
    """What statistics tell of texts or bytes.

    Args:
        least: the least value.
        largest: the largest one.
        is_text: whether they are UTF-8.

    Returns:
        The least value or its beginning, the largest one or something short above it (None where there is
        nothing), and whether these are the values themselves.
    """
    low = _beginning(least, is_text=is_text)
    high = (
        largest
        if len(largest) <= BOUND_BYTES
        else _above(_beginning(largest, is_text=is_text), is_text=is_text)
    )
    return low, high, (low == least, high == largest)


def _beginning(value: bytes, *, is_text: bool) -> bytes:
    if len(value) <= BOUND_BYTES:
        return value
    cut = value[:BOUND_BYTES]
    return cut.decode("utf-8", "ignore").encode() if is_text else cut


def _above(value: bytes, *, is_text: bool) -> bytes | None:
    """Something short that is larger than all values with this beginning."""
    if not is_text:
        kept = value.rstrip(b"\xff")
        return kept[:-1] + bytes((kept[-1] + 1,)) if kept else None
    text = value.decode("utf-8").rstrip(chr(_LAST_CHARACTER))
    if not text:
        return None
    following = ord(text[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return (text[:-1] + chr(following)).encode()


__all__ = ["BOUND_BYTES", "text_bounds"]
