"""What a recovery plan says: the target, the edges of what is replayed, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition
from binx.log.selection.moments import format_time


class TargetKind(Enum):
    """What a target says."""

    END = "end"
    """All that the logs hold."""
    TIME = "time"
    """Up to the first transaction that was committed at a time or later, without that one."""
    GTIDS = "gtids"
    """Up to the last of some GTIDs, with it."""
    BEFORE = "before"
    """Up to the first of some GTIDs, without it."""


class Target(NamedTuple):
    """Where replay is to end.

    Attributes:
        kind: what it says.
        time: TIME: µs since 1970.
        gtids: GTIDS, BEFORE: the set.
    """

    kind: TargetKind = TargetKind.END
    time: int = 0
    gtids: GtidSet = GtidSet()

    def __str__(self) -> str:
        match self.kind:
            case TargetKind.TIME:
                return f"before {format_time(self.time)}"
            case TargetKind.GTIDS:
                return f"up to {self.gtids}"
            case TargetKind.BEFORE:
                return f"up to the one before {self.gtids}"
            case _:
                return "the end of the logs"


class Edge(NamedTuple):
    """A transaction at the edge of what is replayed.

    Attributes:
        file: the log's name.
        position: where it begins; of the last one, where it ends.
        gtid: None where it has none.
        commit_timestamp: µs since 1970.
    """

    file: str
    position: int
    gtid: str | None
    commit_timestamp: int


class LogPart(NamedTuple):
    """What is replayed of a log.

    Attributes:
        path: of the log, as named.
        file: its own name.
        start: offset of the first transaction.
        end: offset behind the last one.
        transactions: how many; those between that the backup holds are not counted.
    """

    path: str
    file: str
    start: int
    end: int
    transactions: int


@dataclass(slots=True)
class RecoveryPlan:
    """What leads from a backup to a target.

    Attributes:
        backup: where the backup stands.
        target: what was asked for.
        flavour: the server that wrote the logs.
        begin: the first transaction that is replayed; None where there is none.
        end: the last one.
        next: the first one behind it in the logs.
        logs: those that are replayed, in order.
        held: GTIDs between begin and end that the backup holds already, and that must be passed over.
        missing_gtids: needed, and in none of the logs.
        missing_logs: names of logs that are needed and not there, as far as the others tell.
        problems: why the logs do not cover the span, a sentence each.
        is_refused: whether what is there must not be replayed: problems are not at the end alone.
        notes: what a user should know.
    """

    backup: BackupPosition
    target: Target
    flavour: Flavour
    begin: Edge | None = None
    end: Edge | None = None
    next: Edge | None = None
    logs: list[LogPart] = field(default_factory=list)
    held: GtidSet = field(default_factory=GtidSet)
    missing_gtids: GtidSet = field(default_factory=GtidSet)
    missing_logs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_refused: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def replayable(self) -> bool:
        """Whether what is there can be replayed."""
        return self.begin is not None and not self.is_refused

    @property
    def covered(self) -> bool:
        """Whether the logs lead from the backup to the target."""
        return not self.problems

    @property
    def transactions(self) -> int:
        """How many are replayed."""
        return sum(part.transactions for part in self.logs)

    @property
    def bytes(self) -> int:
        """From the first to the last transaction of each log."""
        return sum(part.end - part.start for part in self.logs)
