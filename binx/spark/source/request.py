"""What a reader asks of ``spark.read.format("binlog")``, from the options that it gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from binx.errors import UsageError
from binx.log.selection.moments import parse_position, parse_size, parse_time
from binx.log.selection.selection import Selection, wanted_gtids

if TYPE_CHECKING:
    from binx.source.keyring import Keys

SPLIT_BYTES = 256 * 1024 * 1024
"""Bytes of a log that a task reads, about."""

BATCH_ROWS = 32_768
"""Rows that are handed to Spark at once, at most."""


class What(Enum):
    """What the rows are."""

    CHANGES = "table"
    """The row changes of one table, typed."""
    TRANSACTIONS = "transactions"
    """A row a transaction."""
    STATEMENTS = "statements"
    """A row a statement."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is read, and how."""

    paths: tuple[str, ...]
    what: What
    table: tuple[str, str] = ("", "")
    selection: Selection = field(default_factory=Selection)
    schema: str | None = None
    keyring: str | None = None
    identity: str | None = None
    split_bytes: int = SPLIT_BYTES
    batch_rows: int = BATCH_ROWS
    verify: bool = True
    trigger_bytes: int | None = None

    def keys(self) -> Keys | None:
        """The keys of encrypted logs; None for those that the environment names."""
        if self.keyring is None and self.identity is None:
            return None
        from binx.source.keyring import given_keys

        return given_keys(
            [] if self.keyring is None else [self.keyring],
            identities=[] if self.identity is None else [self.identity],
        )


def parse_request(options: Mapping[str, str]) -> Request:
    """Understand the options of a read.

    Names are taken without regard to case, ``-`` and ``_``: ``excludeGtid`` is ``--exclude-gtid`` of the
    commands. Several values of one option are separated by commas.

    Raises:
        UsageError: an option is not known, or its value cannot be understood; or it is not said what to read.
    """
    given: dict[str, str] = {}
    for name, value in options.items():
        key = name.replace("-", "").replace("_", "").lower()
        if key not in _NAMES:
            known = ", ".join(sorted(_NAMES.values()))
            raise UsageError(f"unknown option {name!r}; known options: {known}")
        given[key] = value
    what = _what(given)
    return Request(
        paths=_paths(given),
        what=what,
        table=_table(given["table"]) if what is What.CHANGES else ("", ""),
        selection=_selection(given, what),
        schema=given.get("schema"),
        keyring=given.get("keyring"),
        identity=given.get("identity"),
        split_bytes=_size(given, "splitbytes") or SPLIT_BYTES,
        batch_rows=_one(given, "batchrows", _whole_from_one) or BATCH_ROWS,
        verify=_flag(given, "checksums", default=True),
        trigger_bytes=_size(given, "maxbytespertrigger"),
    )


_NAMES = {
    name.lower(): name
    for name in (
        "path",
        "paths",
        "table",
        "transactions",
        "statements",
        "gtid",
        "excludeGtid",
        "since",
        "until",
        "startPosition",
        "stopPosition",
        "db",
        "serverId",
        "threadId",
        "xid",
        "minBytes",
        "limit",
        "schema",
        "keyring",
        "identity",
        "splitBytes",
        "batchRows",
        "checksums",
        "maxBytesPerTrigger",
    )
}


def _paths(given: Mapping[str, str]) -> tuple[str, ...]:
    paths = _several_paths(given["paths"]) if "paths" in given else []
    paths += [given["path"]] if "path" in given else []
    if not paths:
        raise UsageError('expected binary logs to read, as .load("/var/lib/mysql"), found none')
    return tuple(path.removeprefix("file://") if path.startswith("file:///") else path for path in paths)


def _several_paths(text: str) -> list[str]:
    """The paths that Spark passes on from ``.load([…])``, as JSON."""
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UsageError(f"option paths: expected a list of paths in JSON, found {text!r}")
    return paths


def _what(given: Mapping[str, str]) -> What:
    chosen = [what for what in (What.TRANSACTIONS, What.STATEMENTS) if _flag(given, what.value)]
    if len(chosen) == 2:
        raise UsageError("the options transactions and statements cannot be combined")
    if chosen:
        return chosen[0]
    if "table" not in given:
        raise UsageError(
            'expected what to read: .option("table", "db.table"), or .option("transactions", True),'
            ' or .option("statements", True)'
        )
    return What.CHANGES


def _table(text: str) -> tuple[str, str]:
    db, dot, name = text.partition(".")
    if not dot or not db or not name:
        raise UsageError(f"expected one table as db.table, found {text!r}")
    return db, name


def _selection(given: Mapping[str, str], what: What) -> Selection:
    return Selection(
        gtids=_one(given, "gtid", wanted_gtids),
        exclude_gtids=_one(given, "excludegtid", wanted_gtids),
        since=_one(given, "since", parse_time),
        until=_one(given, "until", parse_time),
        start=_one(given, "startposition", parse_position),
        stop=_one(given, "stopposition", parse_position),
        databases=_several(given, "db", str),
        tables=() if what is What.CHANGES else _several(given, "table", str),
        server_ids=_several(given, "serverid", _whole),
        thread_ids=_several(given, "threadid", _whole),
        xids=_several(given, "xid", _whole),
        min_bytes=_size(given, "minbytes"),
        limit=_one(given, "limit", _whole),
    )


def _one(given: Mapping[str, str], key: str, parse: Callable[[str], Any]) -> Any:
    if key not in given:
        return None
    try:
        return parse(given[key])
    except UsageError as error:
        raise UsageError(f"option {_NAMES[key]}: {error.message}") from error


def _several(given: Mapping[str, str], key: str, parse: Callable[[str], Any]) -> tuple[Any, ...]:
    texts = [text.strip() for text in given.get(key, "").split(",")]
    return tuple(_one({key: text}, key, parse) for text in texts if text)


def _size(given: Mapping[str, str], key: str) -> int | None:
    size: int | None = _one(given, key, parse_size)
    if size == 0 and key != "minbytes":
        raise UsageError(f"option {_NAMES[key]}: expected at least 1 byte, found 0")
    return size


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise UsageError(f"expected a whole number, found {text!r}")
    return int(text)


def _whole_from_one(text: str) -> int:
    number = _whole(text)
    if number == 0:
        raise UsageError("expected at least 1, found 0")
    return number


def _flag(given: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    text = given.get(key, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"option {_NAMES[key]}: expected true or false, found {text!r}")
    return text == "true"


__all__ = ["Request", "What", "parse_request"]
