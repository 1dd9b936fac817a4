"""What is missing from tables because logs were exported with a selection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from binx.log.selection.table_filter import TableFilter
from binx.spark.lake.model import FILE_BITS, Life, Position, TableName

if TYPE_CHECKING:
    from binx.spark.lake.chains import Chains

_PATTERNS = {"databases", "tables"}
_NOT_TAKEN = "exported without this table"
_IN_PART = "exported without some of its row changes, or without statements that may be about it"


_filter = lru_cache(TableFilter)


@dataclass(frozen=True, slots=True)
class Selected:
    """An export with a selection.

    Attributes:
        log_bytes: of the binary log then.
        databases: patterns; all where there are none.
        tables: patterns as well.
        lacking: tables of these of which it lacks row images.
        statements: transactions with statements that it lacks, which may be about any of these tables.
    """

    log_bytes: int
    databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    lacking: tuple[TableName, ...] = ()
    statements: int = 0

    @classmethod
    def from_manifest(cls, document: Mapping[str, Any]) -> Selected | None:
        """What the manifest of an export says; None where all was asked for."""
        request = document.get("request", {})
        asked = request.get("selection") or {}
        if not asked and request.get("where") is None:
            return None
        databases, tables = tuple(asked.get("databases", ())), tuple(asked.get("tables", ()))
        if set(asked) <= _PATTERNS and request.get("where") is None:
            return cls(document["source"]["bytes"], databases, tables)
        takes = _filter(databases, tables).takes
        lacking = (
            TableName(entry["db"], entry["table"])
            for entry in document.get("conservation", ())
            if entry.get("filtered") and takes(entry["db"], entry["table"])
        )
        return cls(
            document["source"]["bytes"],
            databases,
            tables,
            tuple(lacking),
            document.get("statements_left_out", 0),
        )

    def lacks(self, table: TableName) -> str:
        """What it lacks of a table; empty for nothing."""
        if not _filter(self.databases, self.tables).takes(*table):
            return _NOT_TAKEN
        return _IN_PART if self.statements or table in self.lacking else ""

    def to_json(self) -> dict[str, Any]:
        """For the state."""
        return asdict(self)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Selected:
        """What :meth:`to_json` wrote."""
        return cls(
            entry["log_bytes"],
            tuple(entry["databases"]),
            tuple(entry["tables"]),
            tuple(TableName(db, table) for db, table in entry["lacking"]),
            entry["statements"],
        )


def left_out(life: Life, chains: Chains, ranks: Mapping[str, int]) -> list[str]:
    """Sentences about what exports with a selection left out of a life."""
    logs: dict[str, list[str]] = defaultdict(list)
    for chain, rank in ranks.items():
        for number, log in chains[chain].logs.items():
            if log.selected:
                names = list(_names_in(life, rank, number))
                # An export that lacks nothing makes up for what others of the same log lack.
                told = [max((one.lacks(name) for name in names), default="") for one in log.selected]
                if all(told):
                    logs[min(told)].append(f"{chains[chain].base}.{number:06d}")
    return [
        f"{len(listed)} {'log was' if len(listed) == 1 else 'logs were'} {text}: {listed[0]}"
        + (" and others" if len(listed) > 1 else "")
        for text, listed in logs.items()
    ]


def _names_in(life: Life, rank: int, number: int) -> Iterator[TableName]:
    """What the table was called while a log was written; nothing if it was not there yet."""
    begin, end = Position(rank, number << FILE_BITS), Position(rank, ((number + 1) << FILE_BITS) - 1)
    ends = [since for since, _ in life.names[1:]]
    for (since, name), until in zip(life.names, [*ends, None], strict=True):
        if (since is None or since <= end) and (until is None or until >= begin):
            yield name
