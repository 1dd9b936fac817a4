"""What the statements in a log did to tables as a whole and to prepared transactions.

The rows of an XA transaction are logged when it is prepared. Whether they hold, a later ``XA COMMIT`` or
``XA ROLLBACK`` tells; until then no other transaction can change these rows, so their place in the order
stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from .cascades import REFERENCES, defines_cascade
from .ddl import RELEVANT, column_changes, effects, new_types
from .lineage import Position
from .manifests import DataFile
from .plan import Event, Place

_XA_WORDS = r"(?i)^\s*XA\s"
_XA = re.compile(r"(?is)^\s*XA\s+(?P<step>PREPARE|COMMIT|ROLLBACK)\s+(?P<xid>.+?)\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that changes a table as a whole or its columns, or a step of an XA transaction.

    ``time`` is that of its event, in µs since 1970. ``is_strict`` tells whether its session had a strict SQL
    mode, in which what does not fit is an error; it matters only when the statement is new.
    """

    chain: str
    scn: int
    ordinal: int
    transaction: str
    time: int
    db: str
    sql: str
    is_strict: bool = True

    @property
    def event(self) -> Event:
        """What tells it from others in whatever chain: a server may give a GTID anew, at another time."""
        return (self.transaction, self.time) if self.transaction else (self.chain, self.scn)

    @property
    def place(self) -> Place:
        """Where its transaction is: chain and SCN."""
        return self.chain, self.scn

    @property
    def lasts(self) -> bool:
        """Whether later loads need it too: it changes more than types of columns."""
        return _lasts(self.sql, self.db)

    @classmethod
    def from_json(cls, entry: Sequence[Any]) -> Statement:
        """What :meth:`to_json` wrote."""
        return cls(*entry)

    def to_json(self) -> list[Any]:
        """For the loader's state."""
        return [self.chain, self.scn, self.ordinal, self.transaction, self.time, self.db, self.sql]


def read_statements(
    spark: SparkSession, files: Mapping[str, Sequence[DataFile]]
) -> tuple[list[Statement], int]:
    """The statements that matter here, and the number of those that change rows.

    Args:
        spark: the session.
        files: files of statements, by chain.
    """
    found: list[Statement] = []
    changes = 0
    for chain, listed in files.items():
        files_read = spark.read.parquet(*[file.address for file in listed])
        has_options = "options" in files_read.columns
        mode = F.element_at("options", "sql_mode") if has_options else F.lit("STRICT_ALL_TABLES")
        rows = files_read.select(
            "commit_version",
            "ordinal",
            "transaction",
            F.unix_micros("event_timestamp").alias("time"),
            "kind",
            "db",
            F.col("sql").cast("string"),
            F.coalesce(mode, F.lit("")).alias("mode"),
        )
        relevant = reduce(or_, (F.col("sql").rlike(words) for words in (RELEVANT, REFERENCES, _XA_WORDS)))
        for row in rows.where((F.col("kind") == "dml") | relevant).collect():
            if row["kind"] == "dml":
                changes += 1
            elif _matters(row["sql"], row["db"] or ""):
                found.append(
                    Statement(
                        chain,
                        row["commit_version"],
                        row["ordinal"],
                        row["transaction"] or "",
                        row["time"],
                        row["db"] or "",
                        row["sql"],
                        "STRICT_" in row["mode"],
                    )
                )
    return found, changes


def _lasts(sql: str, db: str) -> bool:
    return bool(effects(sql, db) or column_changes(sql, db) or defines_cascade(sql, db) or _xa_step(sql))


def _matters(sql: str, db: str) -> bool:
    return _lasts(sql, db) or new_types(sql, db) is not None


def _xa_step(sql: str) -> tuple[str, str] | None:
    """What a statement does to a prepared transaction, and its name (the xid)."""
    found = _XA.match(sql)
    if found is None or found["xid"].upper().endswith("ONE PHASE"):
        return None
    return found["step"].upper(), "".join(found["xid"].upper().split())


@dataclass(frozen=True, slots=True)
class Prepared:
    """XA transactions whose rows do not hold (yet), and steps that need not be kept any more."""

    withheld: frozenset[Event]
    settled: frozenset[Event]


def follow_prepared(statements: Iterable[Statement]) -> Prepared:
    """Find the XA transactions that were rolled back or are still open.

    Args:
        statements: all statements, in order.
    """
    unsettled: dict[str, list[Statement]] = {}
    rolled_back: list[Statement] = []
    settled: list[Statement] = []
    for statement in statements:
        step = _xa_step(statement.sql)
        if step is None:
            continue
        verb, xid = step
        if verb == "PREPARE":
            unsettled.setdefault(xid, []).append(statement)
        elif xid in unsettled:
            prepared = unsettled.pop(xid)
            if verb == "COMMIT":
                settled += [*prepared, statement]
            else:
                rolled_back += prepared
    still = [statement for listed in unsettled.values() for statement in listed]
    return Prepared(
        frozenset(statement.event for statement in [*still, *rolled_back]),
        frozenset(statement.event for statement in settled),
    )


def in_order(statements: Iterable[Statement], ranks: Mapping[str, int]) -> list[tuple[Position, Statement]]:
    """All statements in order, each once; a transaction that several chains hold counts in the first.

    As with row changes, one whose event has another time is of another transaction.
    """
    placed = sorted(
        ((Position(ranks[one.chain], one.scn), one.ordinal, one) for one in statements),
        key=lambda entry: entry[:2],
    )
    holders: dict[Event, Position] = {}
    ordered: list[tuple[Position, Statement]] = []
    seen: set[tuple[Position, int]] = set()
    for position, ordinal, statement in placed:
        holder = holders.setdefault(statement.event, position) if statement.transaction else position
        if holder != position or (position, ordinal) in seen:
            continue
        seen.add((position, ordinal))
        ordered.append((position, statement))
    return ordered
