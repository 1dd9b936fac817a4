"""Transactions and row changes as the servers' own readers print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

OPERATIONS = {b"INSERT INTO": "insert", b"UPDATE": "update", b"DELETE FROM": "delete"}

_AT = re.compile(rb"# at (\d+)$")
_EVENT = re.compile(
    rb"#\d{6} [ \d]\d:\d\d:\d\d server id (\d+)  end_log_pos (\d+)(?: CRC32 0x[0-9a-f]+)? ?\t(.*)$"
)
_GTID = re.compile(rb"(?:GTID|Anonymous_GTID|Anonymous_Gtid)\b")
_MARIADB_GTID = re.compile(rb"GTID (\d+-\d+-\d+)\b")
_NEXT = re.compile(rb"SET @@SESSION\.GTID_NEXT= '([^']*)'")
_CHANGE = re.compile(rb"### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`$")
_VALUE = re.compile(rb"###   @(\d+)=(.*) /\* (.+) meta=(\d+) nullable=[01] is_null=[01] \*/$")
_PARTIAL = re.compile(rb"JSON_|@\d+$")
_BETWEEN = (b"Rotate", b"Stop", b"Start", b"Gtid list", b"Binlog checkpoint", b"Previous-GTIDs", b"Ignorable")


@dataclass(frozen=True, slots=True)
class Value:
    """One printed value: its text, and the type and its metadata as the reader names them."""

    text: bytes
    type: str
    meta: int


@dataclass(slots=True)
class Change:
    """One printed row change; values by column, from 1. A partial JSON update's value is left out."""

    table: tuple[str, str]
    operation: str
    before: dict[int, Value] = field(default_factory=dict)
    after: dict[int, Value] = field(default_factory=dict)


@dataclass(slots=True)
class Transaction:
    """One printed transaction, ``[start, end)`` in its file."""

    start: int
    end: int = 0
    gtid: str | None = None
    changes: list[Change] = field(default_factory=list)


def read_listing(text: bytes, size: int) -> list[Transaction]:
    """The transactions of a listing (``-vv --base64-output=decode-rows``) of a log with GTID events.

    Args:
        text: the listing.
        size: the log's size, where its last transaction may end.
    """
    return list(_transactions(text, size))


def _transactions(text: bytes, size: int) -> Iterator[Transaction]:
    current: Transaction | None = None
    position = 0
    image: dict[int, Value] = {}
    for line in text.split(b"\n"):
        if found := _AT.match(line):
            position = int(found[1])
        elif line.startswith(b"###") and current is not None:
            image = _take_row_line(line, current, image)
        elif found := _EVENT.match(line):
            name = found[3]
            if _GTID.match(name) or name.startswith(_BETWEEN):
                if current is not None:
                    current.end = position
                    yield current
                current = None
                if _GTID.match(name):
                    gtid = _MARIADB_GTID.match(name)
                    current = Transaction(position, gtid=gtid[1].decode() if gtid else None)
        elif (
            current is not None
            and (found := _NEXT.match(line))
            and found[1] not in (b"ANONYMOUS", b"AUTOMATIC")
        ):
            current.gtid = found[1].decode()
    if current is not None:
        current.end = size
        yield current


def _take_row_line(line: bytes, current: Transaction, image: dict[int, Value]) -> dict[int, Value]:
    """Take in a line about rows; returns the image that values belong to from then on."""
    if found := _CHANGE.match(line):
        names = tuple(part.decode().replace("``", "`") for part in (found[2], found[3]))
        current.changes.append(Change((names[0], names[1]), OPERATIONS[found[1]]))
    elif line == b"### WHERE":
        return current.changes[-1].before
    elif line == b"### SET":
        return current.changes[-1].after
    elif (found := _VALUE.match(line)) and not _PARTIAL.match(found[2]):
        image[int(found[1])] = Value(found[2], found[3].decode(), int(found[4]))
    return image
