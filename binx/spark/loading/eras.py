"""Which schema versions were in force when, and how columns were called on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .context import Load
from .ddl import ColumnChanges, column_changes
from .lineage import Era, Position, Segment
from .manifests import TableName


def find_eras(load: Load, segments: Iterable[Segment]) -> list[Era]:
    """The schema versions that were in force in the segments, oldest first.

    A version is known to be in force from its record's SCN, and wherever rows were written with it. A table
    without rows in its segments has the version that was in force last.
    """
    wanted = list(segments)
    eras = _eras_within(load, wanted)
    return eras or _eras_within(load, [Segment(wanted[0].table)])[-1:]


def _eras_within(load: Load, segments: Sequence[Segment]) -> list[Era]:
    points: list[tuple[Position, int, TableName, str]] = []
    columns: dict[tuple[TableName, str], tuple[str, ...]] = {}
    for segment in segments:
        state = load.tables.get(segment.table)
        for known in state.schemas.values() if state else ():
            columns.setdefault((segment.table, known.record.version), known.record.columns)
            position = Position(load.ranks[known.chain], known.record.valid_from)
            if known.record.valid_from and _inside(position, segment):
                points.append((position, 0, segment.table, known.record.version))
        for record in load.records():
            for part in record.parts:
                if part.table == segment.table:
                    columns.update({(part.table, version): own for version, own in part.columns.items()})
            for file in record.files:
                if file.table == segment.table:
                    rank = load.ranks[file.chain]
                    first, last = Position(rank, file.first), Position(rank, file.last)
                    if _reaches(first, last, segment):
                        since = max(first, segment.since) if segment.since else first
                        points.append((since, 1, file.table, file.version))
    eras: list[Era] = []
    for position, _, table, version in sorted(points):
        if not eras or (eras[-1].table, eras[-1].version) != (table, version):
            own = columns.get((table, version), ())
            eras.append(
                Era(
                    table,
                    version,
                    position,
                    own,
                    _changes_before(load, eras, segments, table, version, position),
                )
            )
    return eras


def _changes_before(
    load: Load,
    eras: Sequence[Era],
    segments: Sequence[Segment],
    table: TableName,
    version: str,
    since: Position,
) -> tuple[ColumnChanges, ...]:
    """How columns were renamed and dropped on the way to a version, whatever the table was called then.

    The statements tell it; where none was logged, the schema record may hold the one that made the version
    at its first time.
    """
    if not eras:
        return ()
    before = eras[-1].since
    changes = [
        change
        for position, change in load.column_changes
        if before < position <= since
        and any(change.table == segment.table and _alters(position, segment) for segment in segments)
    ]
    known = load.tables[table].schemas.get(version)
    if changes or known is None or eras[-1].table != table or any(era.version == version for era in eras):
        return tuple(changes)
    change = column_changes(known.record.ddl, table.db)
    return () if change is None else (change,)


def _alters(position: Position, segment: Segment) -> bool:
    """Whether a statement at a position found the table under the segment's name.

    One that also renamed the table is the last of the former name, and none of the new one.
    """
    return (segment.since is None or position > segment.since) and (
        segment.until is None or position <= segment.until
    )


def _inside(position: Position, segment: Segment) -> bool:
    return (segment.since is None or position >= segment.since) and (
        segment.until is None or position < segment.until
    )


def _reaches(first: Position, last: Position, segment: Segment) -> bool:
    return (segment.since is None or last >= segment.since) and (
        segment.until is None or first < segment.until
    )
