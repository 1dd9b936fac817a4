"""Recovery plans: the target, the first and last transaction to replay, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.log.backup_position import BackupPosition
from binx.log.selection.moments import format_time


class TargetKind(Enum):
    """The kind of a recovery target."""

    END = "end"
    """To the end of the logs."""
    TIME = "time"
    """Up to, but not including, the first transaction committed at or after a time."""
    GTIDS = "gtids"
    """Up to and including the last of some GTIDs."""
    BEFORE = "before"
    """Up to, but not including, the first of some GTIDs."""


class Target(NamedTuple):
    """Where replay ends.

    Attributes:
        kind: the kind of target.
        time: for TIME, µs since 1970.
        gtids: for GTIDS and BEFORE, the set.
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
    """A transaction at the beginning or end of the replay.

    Attributes:
        file: the log's name.
        position: its start offset; for the last transaction, its end offset.
        gtid: its GTID, or None.
        commit_timestamp: µs since 1970.
    """

    file: str
    position: int
    gtid: str | None
    commit_timestamp: int


class LogPart(NamedTuple):
    """The part of a log to replay.

    Attributes:
        path: the log's path, as given.
        file: the log's name.
        start: offset of the first transaction.
        end: offset after the last transaction.
        transactions: number of transactions, without those already in the backup.
    """

    path: str
    file: str
    start: int
    end: int
    transactions: int


@dataclass(slots=True)
class RecoveryPlan:
    """A plan to recover from a backup to a target.

    Attributes:
        backup: the backup's position.
        target: the requested target.
        flavour: the server that wrote the logs.
        version: its version.
        begin: the first transaction to replay, or None.
        end: the last transaction to replay, or None.
        next: the first transaction in the logs after the replay ends, or None.
        logs: the parts of logs to replay, in order.
        held: GTIDs between begin and end that are already in the backup and must be skipped.
        missing_gtids: GTIDs that are needed and in none of the logs.
        missing_logs: names of missing logs, as far as the other logs reveal them.
        problems: reasons why the logs do not cover the range, a sentence each.
        is_refused: whether the logs must not be replayed, because a problem is not only at their end.
        notes: further information for the user.
    """

    backup: BackupPosition
    target: Target
    flavour: Flavour
    version: tuple[int, int, int]
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
        """Whether there is something to replay and it may be replayed."""
        return self.begin is not None and not self.is_refused

    @property
    def covered(self) -> bool:
        """Whether the logs cover everything from the backup to the target."""
        return not self.problems

    @property
    def transactions(self) -> int:
        """Number of transactions to replay."""
        return sum(log.transactions for log in self.logs)

    @property
    def bytes(self) -> int:
        """Bytes from the first to the last transaction of each log."""
        return sum(log.end - log.start for log in self.logs)
