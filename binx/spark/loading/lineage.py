"""Which rows belong to a table as it is now, and which of its columns their values belong to.

Tables are followed through ``RENAME``, ``TRUNCATE``, ``DROP`` and ``CREATE``: each table of today is a list
of segments, spans of the log in which its rows were logged under some name (tools that change schemas online
fill a second table and swap the names). Columns are followed from one schema version to the next by their
names and by the renames that the DDL tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .ddl import ColumnChanges, DatabaseDropped, Effect, Emptied, PartitionChanged, Renamed
from .manifests import TableName


class Position(NamedTuple):
    """A place in all chains: the chain's rank, then the SCN."""

    rank: int
    scn: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A span of the log, from ``since`` (inclusive) to ``until`` (exclusive), and the table's name in it."""

    table: TableName
    since: Position | None = None
    until: Position | None = None


def trace_tables(
    tables: Iterable[TableName], effects: Iterable[tuple[Position, Effect]]
) -> dict[TableName, tuple[Segment, ...]]:
    """The segments whose rows make up each table at the end.

    Args:
        tables: all tables that have rows anywhere.
        effects: what statements did, in order.
    """
    found: dict[TableName, tuple[Segment, ...]] = {table: (Segment(table),) for table in tables}
    for position, effect in effects:
        match effect:
            case Emptied(table):
                found[table] = (Segment(table, position),)
            case DatabaseDropped(db):
                for table in [table for table in found if table.db == db]:
                    found[table] = (Segment(table, position),)
            case Renamed(old, new):
                *closed, last = found.get(old, (Segment(old),))
                found[new] = (*closed, replace(last, until=position), Segment(new, position))
                found[old] = (Segment(old, position),)
            case PartitionChanged():
                pass
    return found


@dataclass(frozen=True, slots=True)
class Era:
    """A schema version as it was in force: its columns (in Parquet's names), and how they came about.

    ``changes`` are what statements did to the names of the version before it, in order.
    """

    table: TableName
    version: str
    since: Position
    columns: tuple[str, ...]
    changes: tuple[ColumnChanges, ...] = ()


def trace_columns(eras: Sequence[Era]) -> list[dict[str, str]]:
    """For each era, the columns that live on in the last one: the last one's name by the era's own.

    A column that was dropped, or dropped and added anew, does not live on.
    """
    if not eras:
        return []
    maps: list[dict[str, str]] = [{name: name for name in eras[-1].columns}]
    for earlier, later in zip(reversed(eras[:-1]), reversed(eras[1:]), strict=True):
        maps.append(_step(earlier, later, maps[-1]))
    return list(reversed(maps))


def _step(earlier: Era, later: Era, onward: Mapping[str, str]) -> dict[str, str]:
    spelled = {name.lower(): name for name in later.columns}
    step = {}
    for name in earlier.columns:
        place: str | None = name.lower()
        for change in later.changes:
            if place is not None:
                place = None if place in change.dropped else change.renamed.get(place, place)
        successor = None if place is None else spelled.get(place)
        if successor is not None and successor in onward:
            step[name] = onward[successor]
    return step
