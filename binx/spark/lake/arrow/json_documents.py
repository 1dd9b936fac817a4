"""Differences of JSON documents (PARTIAL_JSON) applied to documents as the server prints them."""

from __future__ import annotations

from typing import Any

from binx.dataset.personal.documents import parsed, path_of, printed


def applied(document: str, differences: list[dict[str, Any]] | str) -> str | None:
    """The document with differences applied; None where it lacks what one of them names."""
    try:
        found = parsed(document)
        listed = parsed(differences) if isinstance(differences, str) else differences
        for one in listed:
            root = [found]
            if not _apply(root, one["op"], one["path"], one.get("value")):
                return None
            found = root[0]
        return printed(found)
    except (ValueError, KeyError, RecursionError):
        return None


def _apply(root: list[Any], action: str, path: str, value: Any) -> bool:
    legs = path_of(path)
    if legs is None or None in legs:
        return False
    holder: Any = root
    last: str | int | None = 0
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
    if action == "insert" and isinstance(last, int) and holder is not root:
        holder.insert(last, value)
        return True
    if action == "replace" and there:
        holder[last] = value
        return True
    if action == "remove" and there and holder is not root:
        del holder[last]
        return True
    return False


def _member(holder: Any, leg: str | int | None) -> Any:
    try:
        return holder[leg]
    except (KeyError, IndexError, TypeError):
        return None


__all__ = ["applied"]
