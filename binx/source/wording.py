"""Wording shared by the messages of all layers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return what may follow a name that is unknown: the nearest of those that exist, or nothing."""
    near = nearest(name, names)
    return f"; did you mean {near}?" if near is not None else ""


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the nearest of the names that exist to one that is unknown; None if none is near, or it exists.

    Near is a name that begins with it, or differs from it in at most a third of its characters, in one if it
    has three to five: one too many, one missing, another one, or two neighbours swapped. Case counts little.
    """
    near: tuple[int, int, str] | None = None
    typed = name.casefold()
    for candidate in names:
        if candidate == name:
            return None
        other = candidate.casefold()
        limit = max(len(typed) > 2, len(typed) // 3)
        if abs(len(other) - len(typed)) <= limit and (distance := _distance(typed, other)) <= limit:
            found = (distance, 0, candidate)
        elif len(typed) >= _SHORTEST_BEGINNING and other.startswith(typed):
            found = (limit, 1, candidate)
        else:
            continue
        near = found if near is None else min(near, found)
    return None if near is None else near[2]


_SHORTEST_BEGINNING = 2


def _distance(first: str, second: str) -> int:
    """Return the number of single changes between two texts, a swap of neighbours being one."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for index, character in enumerate(first):
        earlier, before, row = before, row, [index + 1]
        for other, found in enumerate(second):
            cost = min(before[other] + (character != found), before[other + 1] + 1, row[other] + 1)
            if index and other and character == second[other - 1] and first[index - 1] == found:
                cost = min(cost, earlier[other - 1] + 1)
            row.append(cost)
    return row[-1]
