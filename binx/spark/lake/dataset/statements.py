"""Statements and their effects on tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from binx.spark.lake.table_name import TableName

MENTIONED = "mentioned"
"""The action of statements that concern a table but change neither its columns nor its key."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A row of ``statements/`` that has effects (docs/dataset.md); ``time`` is the event's, in µs."""

    chain: str
    scn: int
    ordinal: int
    transaction: str
    effects: tuple[Mapping[str, Any], ...]
    time_zone: str = "SYSTEM"
    strict: bool = True
    flavour: str = "mysql"
    time: int = 0


def second_table(effect: Mapping[str, Any]) -> TableName:
    """Return the second table of an effect that concerns two: the new name, or the other of an exchange."""
    return TableName(effect.get("new_db") or effect.get("db") or "", effect["new_table"])


def once(statements: Iterable[Statement], ranks: Mapping[str, int]) -> list[Statement]:
    """Deduplicate statements: of several chains that have one, the first chain's counts."""
    first: dict[Any, Statement] = {}
    for statement in sorted(
        statements, key=lambda statement: (ranks[statement.chain], statement.scn, statement.ordinal)
    ):
        first.setdefault(
            (statement.transaction or (statement.chain, statement.scn), statement.ordinal, statement.time),
            statement,
        )
    return list(first.values())
