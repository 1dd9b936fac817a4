"""The figures of binary logs: what ``stats`` prints, and the shape of its JSON.

Every figure is of what was read: where the index alone was read (``quick``), what only rows or events tell is
None (null in JSON) or empty, as each attribute says. Times are in µs since 1970 here and RFC 3339 in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from binx.source.json_text import json_text
from binx.source.names import printable
from binx.stats.dimensions import Breakdown
from binx.stats.records import (
    Bucket,
    Burst,
    Compression,
    DatabaseFigures,
    DdlStatement,
    EventFigures,
    FileFigures,
    Finding,
    Histogram,
    KindFigures,
    Point,
    ServerFigures,
    SizeFigures,
    TableFigures,
    ThreadFigures,
)
from binx.stats.transaction import ListedTransaction, duration_json, moment_json


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is in a chain of logs, or in those of its transactions that were asked for.

    The names are those of the JSON, which ``docs/statistics.md`` explains. What only rows or events tell is
    None where the index alone was read.
    """

    files: tuple[FileFigures, ...]
    transactions: int
    events: int | None
    bytes: int
    first: Point | None
    last: Point | None
    tables: tuple[TableFigures, ...] | None
    kinds: tuple[KindFigures, ...]
    largest: tuple[ListedTransaction, ...]
    longest: tuple[ListedTransaction, ...]
    histogram: Histogram | None
    warnings: tuple[Finding, ...]
    quick: bool
    complete: bool
    rows: int | None
    statements: int | None
    ddl: int
    ddl_statements: tuple[DdlStatement, ...] | None
    servers: tuple[ServerFigures, ...]
    threads: tuple[ThreadFigures, ...]
    threads_complete: bool
    sizes: tuple[SizeFigures, ...]
    event_types: tuple[EventFigures, ...] | None
    compression: Compression
    checksummed_bytes: int
    gtid_set: str | None
    missing_gtids: str
    servers_complete: bool
    tables_complete: bool
    databases: tuple[DatabaseFigures, ...] | None
    bursts: tuple[Burst, ...]
    selection: Mapping[str, object]
    selected_bytes: int
    absent_gtids: str
    notes: tuple[str, ...]
    breakdown: Breakdown | None

    @property
    def incomplete(self) -> tuple[str, ...]:
        """What there was too much of to keep all: those with most bytes are here."""
        kept = {
            "tables": self.tables_complete,
            "servers": self.servers_complete,
            "connections": self.threads_complete,
            "groups": self.breakdown is None or self.breakdown.complete,
        }
        return tuple(name for name, complete in kept.items() if not complete)

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it: records are objects, times are in RFC 3339."""
        document: dict[str, Any] = _plain(self)
        if self.breakdown is not None:
            document["breakdown"] = _plain(self.breakdown.as_dict(top))
        return document

    def to_json(self, top: int | None = None) -> str:
        """One JSON object; the same logs give the same text. Arguments as of :meth:`as_dict`."""
        return json_text(self.as_dict(top), indent=2)


_MOMENTS = frozenset({"commit_timestamp", "create_timestamp"})


def _plain(value: Any) -> Any:
    if isinstance(value, ListedTransaction):
        return value.as_dict() | {"duration": duration_json(value)}
    if isinstance(value, Bucket):
        return _fields(value) | {"start": moment_json(value.start)}
    if isinstance(value, Burst):
        return _fields(value) | {"start": moment_json(value.start), "end": moment_json(value.end)}
    if isinstance(value, Breakdown):
        return None  # as_dict() limits it.
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, (tuple, list)):
        return [_plain(member) for member in value]
    if isinstance(value, str):
        return printable(value)
    return value


def _fields(record: Any) -> dict[str, Any]:
    document = {}
    for one in fields(record):
        value = getattr(record, one.name)
        document[one.name] = moment_json(value) if one.name in _MOMENTS else _plain(value)
    return document
