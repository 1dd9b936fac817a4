"""Differences of JSON documents (PARTIAL_JSON) applied to documents as the server prints them.

Numbers stay as they are spelled: a double is not a decimal, and not every decimal is a double. The server
orders the members of an object by the length of their names in UTF-8, then by their bytes.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LEG = re.compile(r'\.(?P<name>[A-Za-z_$][\w$]*|"(?:[^"\\]|\\.)*")|\[(?P<place>\d+)\]')


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


def applied(document: str, differences: list[dict[str, Any]] | str) -> str | None:
    """The document with differences applied; None where it lacks what one of them names.

    Args:
        document: as the server prints it.
        differences: as ``_json_diff`` has them for a column, or their text.
    """
    try:
        found = _parsed(document)
        listed = _parsed(differences) if isinstance(differences, str) else differences
        for one in listed:
            root = [found]
            if not _apply(root, one["op"], one["path"], one.get("value")):
                return None
            found = root[0]
        return _printed(found)
    except (ValueError, KeyError, RecursionError):
        return None


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=_Number, parse_int=_Number)


def _legs(path: str) -> list[str | int] | None:
    found: list[str | int] = []
    place = 1
    while place < len(path):
        leg = _LEG.match(path, place)
        if leg is None:
            return None
        name = leg["name"]
        if name is None:
            found.append(int(leg["place"]))
        else:
            found.append(json.loads(name) if name.startswith('"') else name)
        place = leg.end()
    return found if path.startswith("$") else None


def _apply(root: list[Any], action: str, path: str, value: Any) -> bool:
    legs = _legs(path)
    if legs is None:
        return False
    holder: Any = root
    last: str | int = 0
    for leg in legs:
        holder = _member(holder, last)
        last = leg
        if not isinstance(holder, dict if isinstance(leg, str) else list):
            return False
    there = last in holder if isinstance(holder, dict) else isinstance(last, int) and last < len(holder)
    if action == "insert" and not there:
        if isinstance(holder, dict):
            holder[last] = value
        else:
            holder.append(value)
        return True
    if action == "insert" and isinstance(holder, list) and holder is not root:
        holder.insert(int(last), value)
        return True
    if action == "replace" and there:
        holder[last] = value
        return True
    if action == "remove" and there and holder is not root:
        del holder[last]
        return True
    return False


def _member(holder: Any, leg: str | int) -> Any:
    try:
        return holder[leg]
    except (KeyError, IndexError, TypeError):
        return None


def _printed(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda one: (len(one[0].encode()), one[0].encode()))
        return "{" + ", ".join(f"{_text(name)}: {_printed(one)}" for name, one in ordered) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_printed, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


__all__ = ["applied"]
