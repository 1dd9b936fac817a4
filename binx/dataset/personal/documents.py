"""Drop or hash parts of JSON documents and of the differences between documents.

A document is rewritten only if a rule changes it. A dropped array element becomes null, so that the elements
after it keep their positions, which later differences refer to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_LEG = re.compile(r'\.(?P<name>[A-Za-z_$][\w$]*|\*|"(?:[^"\\]|\\.)*")|\[(?P<index>\d+|\*)\]')

Path = tuple[str | int | None, ...]
"""Member names and array indexes; None matches any of either."""


class Number(str):
    """A number in its original spelling."""

    __slots__ = ()


def parsed(text: str, members: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse a document; raise ValueError if it is not JSON.

    Args:
        text: as the server prints it.
        members: builds an object from its members; by default a dictionary.
    """
    return json.loads(
        text, parse_float=Number, parse_int=Number, parse_constant=_refused, object_pairs_hook=members
    )


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def path_of(text: str) -> Path | None:
    """Parse a path such as ``$.lines[0]."unit price"`` or ``$.lines[*].*`` into its legs; None if invalid."""
    legs: list[str | int | None] = []
    position = 1
    while position < len(text):
        leg = _LEG.match(text, position)
        if leg is None:
            return None
        name = leg["name"]
        if "*" in (name, leg["index"]):
            legs.append(None)
        elif name is None:
            legs.append(int(leg["index"]))
        else:
            legs.append(json.loads(name) if name.startswith('"') else name)
        position = leg.end()
    return tuple(legs) if text.startswith("$") else None


def printed(value: Any) -> str:
    """Format a document as the server prints it."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
        return "{" + ", ".join(f"{_text(name)}: {printed(item)}" for name, item in ordered) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(printed, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _remaining(path: Path, legs: Path) -> Iterator[Path | None]:
    """Yield what remains of a rule's path after the legs to a value, or None if it ends before that.

    There are several if a leg can also mean a value that is not an array, as in MySQL's paths.
    """
    if not legs or not path:
        yield None if legs else path
        return
    if path[0] in (None, legs[0]):
        yield from _remaining(path[1:], legs[1:])
    if isinstance(legs[0], str) and (isinstance(path[0], int) or (path[0] is None and path[1:])):
        yield from _remaining(path[1:], legs)


Hash = Callable[[str], str]
_Rules = Sequence[tuple[Path, bool]]
NOT_APPLICABLE: dict[str, Any] = {"op": "unknown", "path": "$"}
"""A difference that cannot be applied: after it, the document is unknown."""


class Documents:
    """Masks the documents of one column.

    Args:
        rules: paths, each with whether its value is hashed (else dropped).

    Attributes:
        found: the paths that a document had.
        are_any: whether there was a document.
    """

    def __init__(self, rules: _Rules, hash_: Hash) -> None:
        self.found: set[Path] = set()
        self.are_any = False
        self._rules = rules
        self._hash = hash_
        self._is_changed = self._is_found = False

    def masked(self, document: str) -> str:
        """Return the document with the rules applied; raise ValueError if it is not JSON."""
        self._is_changed = False
        value = parsed(document, self._members)
        self.are_any = True
        for path, hashes in self._rules:
            self._is_found = False
            value = self._value(value, path, hashes)
            self.found |= {path} if self._is_found else set()
        return printed(value) if self._is_changed else document

    def differences(self, listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return differences, in the form of ``_json_diff``, with the rules applied."""
        masked = []
        for difference in listed:
            result: dict[str, Any] | None = difference
            for path, hashes in self._rules:
                result = None if result is None else self._difference(result, path, hashes)
            if result is not None:
                masked.append(result)
        return masked

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        # The text has a duplicate member, which the parsed form lacks.
        self._is_changed |= len(members) < len(pairs)
        return members

    def _difference(self, difference: dict[str, Any], path: Path, hashes: bool) -> dict[str, Any] | None:
        legs = path_of(difference["path"])
        if legs is None:
            return NOT_APPLICABLE
        remaining = [*_remaining(path, legs)]
        if None in remaining:
            # Part of a hashed value cannot be changed; of a dropped value there is nothing to change.
            return NOT_APPLICABLE if hashes else None
        if () in remaining and not hashes and legs and isinstance(legs[-1], str):
            return None
        if remaining and "value" in difference:
            for rest in remaining:
                difference = {**difference, "value": self._value(difference["value"], rest or (), hashes)}
        return difference

    def _value(self, value: Any, path: Path, hashes: bool) -> Any:
        """Return the value with what is at the path dropped or hashed."""
        if not path:
            self._is_changed = self._is_found = True
            if not hashes or value is None:
                return None
            text = value if isinstance(value, str) and not isinstance(value, Number) else printed(value)
            return self._hash(text)
        leg, rest = path[0], path[1:]
        if isinstance(value, list):
            for index in range(len(value)) if leg is None else [leg]:
                if isinstance(index, int) and index < len(value):
                    value[index] = self._value(value[index], rest, hashes)
            return value
        if not isinstance(leg, str) and (rest or isinstance(leg, int) or not isinstance(value, dict)):
            # As in MySQL's paths, a value that is not an array acts as an array with one element.
            value = self._value(value, rest, hashes)
        if isinstance(value, dict) and not isinstance(leg, int):
            for name in list(value) if leg is None else [leg]:
                if name in value and not rest and not hashes:
                    self._is_changed = self._is_found = True
                    del value[name]
                elif name in value:
                    value[name] = self._value(value[name], rest, hashes)
        return value
