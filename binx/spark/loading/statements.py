"""What the statements in a log did to tables as a whole, from the exports' files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .ddl import RELEVANT, column_changes, effects
from .lineage import Position
from .manifests import DataFile


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that changes a table as a whole, or the names of its columns."""

    chain: str
    scn: int
    ordinal: int
    transaction: str
    db: str
    sql: str

    @classmethod
    def from_json(cls, entry: Sequence[Any]) -> Statement:
        """What :meth:`to_json` wrote."""
        return cls(*entry)

    def to_json(self) -> list[Any]:
        """For the loader's state."""
        return [self.chain, self.scn, self.ordinal, self.transaction, self.db, self.sql]


def read_statements(
    spark: SparkSession, files: Mapping[str, Sequence[DataFile]]
) -> tuple[list[Statement], int]:
    """The statements that change tables or columns' names, and the number of those that change rows.

    Args:
        spark: the session.
        files: files of statements, by chain.
    """
    found: list[Statement] = []
    changes = 0
    for chain, listed in files.items():
        rows = spark.read.parquet(*[file.address for file in listed]).select(
            "commit_version", "ordinal", "transaction", "kind", "db", F.col("sql").cast("string")
        )
        relevant = (F.col("kind") == "ddl") & F.col("sql").rlike(RELEVANT)
        for row in rows.where((F.col("kind") == "dml") | relevant).collect():
            if row["kind"] == "dml":
                changes += 1
            elif effects(row["sql"], row["db"] or "") or column_changes(row["sql"], row["db"] or ""):
                found.append(
                    Statement(
                        chain,
                        row["commit_version"],
                        row["ordinal"],
                        row["transaction"] or "",
                        row["db"] or "",
                        row["sql"],
                    )
                )
    return found, changes


def in_order(statements: Iterable[Statement], ranks: Mapping[str, int]) -> list[tuple[Position, Statement]]:
    """All statements in order, each once; a transaction that several chains hold counts in the first."""
    placed = sorted(
        ((Position(ranks[one.chain], one.scn), one.ordinal, one) for one in statements),
        key=lambda entry: entry[:2],
    )
    holders: dict[str, Position] = {}
    ordered: list[tuple[Position, Statement]] = []
    seen: set[tuple[Position, int]] = set()
    for position, ordinal, statement in placed:
        holder = holders.setdefault(statement.transaction, position) if statement.transaction else position
        if holder != position or (position, ordinal) in seen:
            continue
        seen.add((position, ordinal))
        ordered.append((position, statement))
    return ordered
