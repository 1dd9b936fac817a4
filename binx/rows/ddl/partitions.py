"""Follow the partitions of a table through the clauses of ALTER TABLE."""

from __future__ import annotations

from binx.rows.columns.schema import Partitioning, folded_name
from binx.rows.ddl.parsed_statements import (
    AddPartitions,
    AlterAction,
    CoalescePartitions,
    ReplacePartitions,
)


def repartitioned(parts: Partitioning, action: AlterAction) -> Partitioning:
    """Return the partitions after a clause; the same ones if it is about something else."""
    match action:
        case AddPartitions() if action.partitions:
            named = _named(0, parts.number or 1) if not parts.partitions else parts.partitions
            return parts._replace(partitions=(*named, *action.partitions), number=None)
        case AddPartitions():
            return _numbered(parts, action.number)
        case CoalescePartitions():
            return _numbered(parts, -action.number)
        case ReplacePartitions():
            gone = set(map(folded_name, action.names))
            kept: list[tuple[str, str]] = []
            placed = False
            for name, text in parts.partitions:
                if folded_name(name) not in gone:
                    kept.append((name, text))
                elif not placed:
                    kept += action.partitions
                    placed = True
            return _listed(parts, tuple(kept))
    return parts


def _listed(parts: Partitioning, partitions: tuple[tuple[str, str], ...]) -> Partitioning:
    number = None if parts.number is None or not parts.partitions else len(partitions)
    return parts._replace(partitions=partitions, number=number)


def _numbered(parts: Partitioning, more: int) -> Partitioning:
    """Return HASH or KEY partitions with so many more; servers name them by their number."""
    if not parts.partitions:
        return parts._replace(number=(parts.number or 1) + more)
    first = len(parts.partitions)
    return _listed(parts, (*parts.partitions[: first + min(more, 0)], *_named(first, first + more)))


def _named(first: int, end: int) -> tuple[tuple[str, str], ...]:
    return tuple((f"p{number}", f"p{number}") for number in range(first, end))
