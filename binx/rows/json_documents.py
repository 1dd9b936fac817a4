"""JSON documents as the server prints them: numbers stay as they are spelled.

A double is not a decimal, and not every decimal is a double. The server orders the members of an object by
the length of their names in UTF-8, then by their bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_LEG = re.compile(r'\.(?P<name>[A-Za-z_$][\w$]*|\*|"(?:[^"\\]|\\.)*")|\[(?P<place>\d+|\*)\]')

Path = tuple[str | int | None, ...]
"""Names of members and places of elements; None for any of both."""


class Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def parsed(text: str, members: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """A document.

    Args:
        text: as the server prints it.
        members: makes an object of its members; by default a dictionary.

    Raises:
        ValueError: it is no JSON.
    """
    return json.loads(
        text, parse_float=Number, parse_int=Number, parse_constant=_refused, object_pairs_hook=members
    )


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def path_of(text: str) -> Path | None:
    """The legs of a path such as ``$.lines[0]."unit price"`` or ``$.lines[*].*``; None where it is none."""
    found: list[str | int | None] = []
    place = 1
    while place < len(text):
        leg = _LEG.match(text, place)
        if leg is None:
            return None
        name = leg["name"]
        if "*" in (name, leg["place"]):
            found.append(None)
        elif name is None:
            found.append(int(leg["place"]))
        else:
            found.append(json.loads(name) if name.startswith('"') else name)
        place = leg.end()
    return tuple(found) if text.startswith("$") else None


def printed(value: Any) -> str:
    """A document as the server prints it."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda one: (len(one[0].encode()), one[0].encode()))
        return "{" + ", ".join(f"{_text(name)}: {printed(one)}" for name, one in ordered) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(printed, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


__all__ = ["Number", "Path", "parsed", "path_of", "printed"]
