"""How messages of all layers word what they tell."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the plural where there is not one: ``1 row``, ``2,030,000 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def encoded(text: str) -> bytes:
    """A text in UTF-8; what no UTF-8 can hold is escaped."""
    return text.encode("utf-8", "backslashreplace")


__all__ = ["counted", "encoded"]
