"""Wording shared by the messages of all layers."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice


def counted(number: int, noun: str) -> str:
    """Format a number with its noun, in the plural unless it is one: ``1 row``, ``2,030,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Collection[str], most: int, *, separator: str = ", ", count: int | None = None) -> str:
    """Format the first names, and how many more there are: ``a, b and 1,200 more``.

    Args:
        count: how many there are if they are not all given.
    """
    shown = separator.join(islice(names, most))
    more = (len(names) if count is None else count) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def shortened(text: str, size: int) -> str:
    """Return a text as one line of at most that many characters."""
    line = " ".join(text.split())
    return line if len(line) <= size else line[: size - 1] + "…"


def encoded(text: str) -> bytes:
    """Encode a text as UTF-8; what UTF-8 cannot represent is escaped."""
    return text.encode("utf-8", "backslashreplace")
