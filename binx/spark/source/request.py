"""Parse the options of ``spark.read.format("binlog")``, and share out to tasks what is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from binx.errors import UsageError
from binx.log.selection.options import OPTIONS, SelectionOption, selection_of
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import table_name
from binx.log.selection.times import parse_size
from binx.source.wording import did_you_mean

if TYPE_CHECKING:
    from binx.source.keyring import ReplicationKeys


_Part = TypeVar("_Part")


class What(Enum):
    """The kind of rows: row changes of one table, transactions, or statements."""

    CHANGES = "table"
    TRANSACTIONS = "transactions"
    STATEMENTS = "statements"


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What to read, and how: about ``split_bytes`` per task, at most ``batch_rows`` per batch."""

    paths: tuple[str, ...]
    what: What
    table: tuple[str, str] = ("", "")
    selection: Selection = field(default_factory=Selection)
    schema: str | None = None
    keyring: str | None = None
    identity: str | None = None
    split_bytes: int = 256 << 20
    batch_rows: int = 32_768
    verify: bool = True
    trigger_bytes: int | None = None

    def keys(self) -> ReplicationKeys | None:
        """The keys of encrypted logs; None for those named in the environment."""
        if self.keyring is None and self.identity is None:
            return None
        from binx.source.keyring import given_keys

        return given_keys(
            [] if self.keyring is None else [self.keyring],
            identities=[] if self.identity is None else [self.identity],
        )


def shares(parts: Iterable[_Part], size: Callable[[_Part], int], most: int) -> list[list[_Part]]:
    """Group parts into tasks of up to so many bytes: small consecutive ones share a task."""
    tasks: list[list[_Part]] = []
    held = most
    for part in parts:
        if held + size(part) > most:
            tasks.append([])
            held = 0
        tasks[-1].append(part)
        held += size(part)
    return tasks


def _size(text: str) -> int:
    size = parse_size(text)
    if size == 0:
        raise UsageError("expected at least 1 byte, found 0")
    return size


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise UsageError(f"expected a whole number, found {text!r}")
    return int(text)


def _count(text: str) -> int:
    if _number(text) == 0:
        raise UsageError("expected at least 1, found 0")
    return _number(text)


def _flag(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise UsageError(f"expected true or false, found {text!r}")
    return text.strip().lower() == "true"


def _path(text: str) -> tuple[str, ...]:
    return (text.removeprefix("file://") if text.startswith("file:///") else text,)


def _paths(text: str) -> tuple[str, ...]:
    """Parse the paths that Spark passes from ``.load([…])``, as JSON."""
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UsageError(f"expected a list of paths in JSON, found {text!r}")
    return tuple(name for path in paths for name in _path(path))


def _several(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: tuple(parse(word.strip()) for word in text.split(",") if word.strip())


_REQUEST: dict[str, tuple[str, Callable[[str], Any]]] = {
    "path": ("path", _path),
    "paths": ("paths", _paths),
    "table": ("table", table_name),
    "transactions": ("transactions", _flag),
    "statements": ("statements", _flag),
    "schema": ("schema", str),
    "keyring": ("keyring", str),
    "identity": ("identity", str),
    "splitBytes": ("split_bytes", _size),
    "batchRows": ("batch_rows", _count),
    "checksums": ("verify", _flag),
    "maxBytesPerTrigger": ("trigger_bytes", _size),
}
_WITH_COMMAS = frozenset({"gtid", "exclude_gtid", "kind", "grep"})
"""Options whose single values may have commas in them."""


def _of_selection(option: SelectionOption) -> Callable[[str], Any]:
    if not option.several:
        return option.parse
    return (lambda text: (option.parse(text),)) if option.name in _WITH_COMMAS else _several(option.parse)


def _spelled(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_SELECTION = {
    _spelled(option.name): (option.name, _of_selection(option))
    for option in OPTIONS
    if option.name != "table"
}
_NAMES = {name.lower(): name for name in (*_REQUEST, *_SELECTION)}


def parse_request(options: Mapping[str, str]) -> ScanRequest:
    """Parse the options of a read.

    Names ignore case, ``-`` and ``_``: ``excludeGtid`` is the commands' ``--exclude-gtid``. Several values of
    one option are separated by commas.
    """
    given: dict[str, str] = {}
    for written, value in options.items():
        key = written.replace("-", "").replace("_", "").lower()
        if key not in _NAMES:
            known = ", ".join(sorted(_NAMES.values()))
            near = did_you_mean(key, _NAMES.values())
            raise UsageError(f"unknown option {written!r}{near or f'; known options: {known}'}")
        given[_NAMES[key]] = value
    flags = [what for what in (What.TRANSACTIONS, What.STATEMENTS) if _asked(given, what.value, _flag)]
    if len(flags) == 2:
        raise UsageError("the options transactions and statements cannot be combined")
    what = flags[0] if flags else What.CHANGES
    if not flags and "table" not in given:
        raise UsageError(
            'expected what to read: .option("table", "db.table"), or .option("transactions", True),'
            ' or .option("statements", True)'
        )
    chosen = {
        name: _asked(given, option, parse) for option, (name, parse) in _SELECTION.items() if option in given
    }
    if flags and "table" in given:
        chosen["table"] = _several(str)(given.pop("table"))
    found = {
        name: _asked(given, option, parse) for option, (name, parse) in _REQUEST.items() if option in given
    }
    paths = found.pop("paths", ()) + found.pop("path", ())
    if not paths:
        raise UsageError('expected binary logs to read, as .load("/var/lib/mysql"), found none')
    for kind in (What.TRANSACTIONS, What.STATEMENTS):
        found.pop(kind.value, None)
    return ScanRequest(paths, what, selection=selection_of(chosen, paths), **found)


def _asked(given: Mapping[str, str], option: str, parse: Callable[[str], Any]) -> Any:
    """Parse an option's text; None if it is not given."""
    try:
        return parse(given[option]) if option in given else None
    except UsageError as error:
        raise UsageError(f"option {option}: {error.message}") from error
