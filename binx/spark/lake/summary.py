"""What a load did, or what is loaded, in figures that can be checked against the manifests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from binx.errors import ExitCode
from binx.spark.lake.state import LifeRecord, State


@dataclass(slots=True)
class TableSummary:
    """One table's figures.

    ``listed`` rows stand in the new manifests' files, ``loaded`` are new in history. ``inserts``, ``updates``
    and ``deletes`` are the row changes among these (an update has two rows), ``current`` the rows of the
    state, None where there is none or it was left as it is. ``complete`` says whether the state is, with
    ``reasons``; ``accepted`` whether somebody has seen them; ``error`` why the table was stopped.
    """

    db: str
    table: str
    listed: int = 0
    loaded: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    current: int | None = None
    complete: str = "yes"
    reasons: list[str] = field(default_factory=list)
    accepted: bool = True
    error: str = ""

    def tell(self, record: LifeRecord) -> None:
        """Say what is known of the table's life."""
        self.complete, self.reasons = record.complete, record.told
        self.accepted, self.error = record.is_accepted, self.error or record.error


@dataclass(slots=True)
class Summary:
    """What a load did; ``load`` is the committed state's number, ``changed`` whether this load made it.

    ``at`` is the moment that the tables are of, in words; empty where that is the end of the logs.
    """

    output: str
    load: int
    changed: bool
    manifests: int
    new_manifests: int
    tables: list[TableSummary]
    losses: list[str]
    losses_seen: bool
    at: str = ""

    @classmethod
    def of(cls, state: State, output: str, tables: Iterable[TableSummary]) -> Summary:
        """What is loaded."""
        return cls(
            output=output,
            load=state.version,
            changed=False,
            manifests=sum(map(len, state.known.values())),
            new_manifests=0,
            tables=sorted(tables, key=lambda one: (one.db, one.table)),
            losses=[loss.reason for loss in state.losses],
            losses_seen=all(loss.seen for loss in state.losses),
            at=state.at,
        )

    def to_json(self) -> dict[str, Any]:
        """One object with the names of the fields."""
        return asdict(self)

    @property
    def exit_code(self) -> ExitCode:
        """What the process returns."""
        if any(table.error for table in self.tables):
            return ExitCode.FAILED
        if not self.losses_seen or not all(table.accepted for table in self.tables):
            return ExitCode.LOSSES
        return ExitCode.DONE

    def told(self) -> list[str]:
        """What people should know beside the figures."""
        lines = []
        for table in self.tables:
            name = f"{table.db}.{table.table}"
            lines += [f"loss: {name}: {reason}" for reason in table.reasons if not table.accepted]
            if table.error and not any(table.error in reason for reason in table.reasons):
                lines.append(f"stopped: {name}: {table.error}")
        return lines + ([] if self.losses_seen else [f"loss: {loss}" for loss in self.losses])
