"""What a load did, in figures that can be checked against the manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .manifests import TableName
from .outcome import ExitCode
from .visible import visible


@dataclass(slots=True)
class TableSummary:
    """One table's figures.

    ``listed`` rows stand in the manifests' files: ``known`` were loaded by earlier runs from the same files,
    ``repeated`` are in history already or were listed twice, ``loaded`` are new. ``inserts``, ``updates`` and
    ``deletes`` are the row changes among the loaded (an update has two rows), ``current`` the rows of the
    state, None where there is none or it was left as it is.
    """

    db: str
    table: str
    listed: int = 0
    known: int = 0
    repeated: int = 0
    loaded: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    key: list[str] = field(default_factory=list)
    current: int | None = None
    scd2: int | None = None
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, table: TableName) -> TableSummary:
        """An empty one."""
        return cls(table.db, table.table)


@dataclass(slots=True)
class Summary:
    """What a run did; ``load`` is the committed state's number, ``changed`` whether this run made it."""

    output: str
    load: int
    changed: bool
    manifests: int
    new_manifests: int
    seconds: float
    tables: list[TableSummary]
    notes: list[str]
    losses: list[str]

    def to_json(self) -> dict[str, Any]:
        """One object with the names of the fields."""
        return asdict(self)

    @property
    def lossy(self) -> bool:
        """Whether something is known to be missing."""
        return bool(self.losses) or any(table.losses for table in self.tables)

    @property
    def exit_code(self) -> ExitCode:
        """What the process returns."""
        return ExitCode.LOSSES if self.lossy else ExitCode.DONE

    def lines(self) -> list[str]:
        """A table for people, and what they should know besides."""
        heads = ("table", "listed", "known", "repeated", "loaded", "inserts", "updates", "deletes", "current")
        rows = [
            (
                visible(f"{table.db}.{table.table}"),
                *(f"{getattr(table, name):,}" for name in heads[1:-1]),
                "-" if table.current is None else f"{table.current:,}",
            )
            for table in self.tables
        ]
        text = _align([heads, *rows]) if rows else []
        for table in self.tables:
            text += [f"note: {table.db}.{table.table}: {note}" for note in table.notes]
            text += [f"loss: {table.db}.{table.table}: {loss}" for loss in table.losses]
        text += [f"note: {note}" for note in self.notes] + [f"loss: {loss}" for loss in self.losses]
        done = (
            f"load {self.load} is committed" if self.changed else f"nothing new; load {self.load} is current"
        )
        took = f"{self.new_manifests} of {self.manifests} manifests new, {self.seconds:.1f} s"
        return [visible(line) for line in [*text, f"{self.output}: {done} ({took})"]]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
