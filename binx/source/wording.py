"""How messages of all layers word what they tell."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the plural where there is not one: ``1 row``, ``2,030,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Collection[str], most: int) -> str:
    """The first names in their order, and how many more there are: ``a, b and 1,200 more``."""
    shown = ", ".join(islice(names, most))
    more = len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def shortened(text: str, size: int) -> str:
    """A text as one line of so many characters at most."""
    line = " ".join(text.split())
    return line if len(line) <= size else line[: size - 1] + "…"


def encoded(text: str) -> bytes:
    """A text in UTF-8; what no UTF-8 can hold is escaped."""
    return text.encode("utf-8", "backslashreplace")
