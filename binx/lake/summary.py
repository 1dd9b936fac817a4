"""Figures of a load or of a loaded output, which can be checked against the manifests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from binx.errors import ExitCode
from binx.lake.state.loaded_state import LifeRecord, State
from binx.lake.table_name import TableName

_NAMED = 3
"""How many tables a sentence names."""


@dataclass(slots=True)
class TableSummary:
    """The figures of a table.

    ``listed`` is the number of rows in the new manifests' files, ``loaded`` those new in history.
    ``inserts``, ``updates`` and ``deletes`` are row changes among these (an update has two rows). ``current``
    is the number of rows of the state, None if there is none or it was not changed. ``completeness`` is the
    state's, with ``reasons``; ``accepted`` whether a user accepted them; ``error`` why the table
    was stopped.
    """

    db: str
    table: str
    listed: int = 0
    loaded: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    current: int | None = None
    completeness: str = "yes"
    reasons: list[str] = field(default_factory=list)
    accepted: bool = True
    error: str | None = None

    @property
    def name(self) -> TableName:
        """The table's name."""
        return TableName(self.db, self.table)

    def add(self, record: LifeRecord) -> None:
        """Add the recorded facts about the table's life; of each shard's."""
        self.completeness = record.complete if self.completeness == "yes" else self.completeness
        self.reasons += record.sentences
        self.accepted &= record.is_accepted
        self.error = self.error or record.error or None


@dataclass(slots=True)
class LoadSummary:
    """The result of a load; ``load`` is the committed state's number, ``changed`` whether this load wrote it.

    ``at`` is the moment of the tables, in words; empty for the end of the logs.
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
    def of(cls, state: State, output: str, tables: Iterable[TableSummary]) -> LoadSummary:
        """Summarize a state."""
        return cls(
            output=output,
            load=state.version,
            changed=False,
            manifests=sum(map(len, state.known.values())),
            new_manifests=0,
            tables=sorted(tables, key=lambda table: (table.db, table.table)),
            losses=[loss.reason for loss in state.losses],
            losses_seen=all(loss.seen for loss in state.losses),
            at=state.at,
        )

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the process."""
        if any(table.error for table in self.tables):
            return ExitCode.FAILED
        if not self.losses_seen or not all(table.accepted for table in self.tables):
            return ExitCode.LOSSES
        return ExitCode.DONE

    def sentences(self) -> list[str]:
        """Sentences for users, in addition to the figures."""
        lines, tables = [], defaultdict(list)
        for table in self.tables:
            for reason in () if table.accepted else table.reasons:
                tables[reason].append(str(table.name))
            if table.error and not any(table.error in reason for reason in table.reasons):
                lines.append(f"stopped: {table.name}: {table.error}")
        for reason, names in tables.items():
            more = f" and {len(names) - _NAMED:,} more tables" if len(names) > _NAMED else ""
            lines.append(f"loss: {', '.join(names[:_NAMED])}{more}: {reason}")
        return lines + ([] if self.losses_seen else [f"loss: {loss}" for loss in self.losses])
