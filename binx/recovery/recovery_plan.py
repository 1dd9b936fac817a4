"""Plan a recovery: from a backup and a target to the logs that must be replayed, and what they lack.

The logs are walked from the backup's position to the target, and each link between them is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile
from typing import NamedTuple

from binx.errors import UsageError
from binx.event.format import Flavour
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import GtidSource
from binx.kernels.transactions.table import GtidKind, TransactionTable
from binx.log.backup_position import BackupPosition
from binx.log.chain.chain import ChainLog, chain_problems
from binx.log.held import HeldTransactions, logs_of_backup
from binx.log.identifiers import kernel_intervals, marked_gtids
from binx.log.scan import find_transactions
from binx.log.selection.times import MICROSECONDS, format_time
from binx.log.succession import ChainProblemKind, differences, list_gtids
from binx.source.log_names import base_of, number_of, numbered_name
from binx.source.wording import listed


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
        first: the first transaction to replay, or None.
        last: the last transaction to replay, or None.
        next: the first transaction in the logs after the replay ends, or None.
        files: the parts of logs to replay, in order.
        gtid_set: those of the transactions to replay.
        held_gtids: GTIDs between these that are already in the backup and must be skipped.
        missing_gtids: GTIDs that are needed and in none of the logs.
        missing_files: names of missing logs, as far as the other logs reveal them.
        reasons: why the logs do not cover the range, a sentence each.
        is_refused: whether the logs must not be replayed, because a problem is not only at their end.
        notes: further information for the user.
    """

    backup: BackupPosition
    target: Target
    flavour: Flavour
    version: tuple[int, int, int]
    first: Edge | None = None
    last: Edge | None = None
    next: Edge | None = None
    files: list[LogPart] = field(default_factory=list)
    gtid_set: GtidSet = field(default_factory=GtidSet)
    held_gtids: GtidSet = field(default_factory=GtidSet)
    missing_gtids: GtidSet = field(default_factory=GtidSet)
    missing_files: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    is_refused: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def replayable(self) -> bool:
        """Whether there is something to replay and it may be replayed."""
        return self.first is not None and not self.is_refused

    @property
    def covered(self) -> bool:
        """Whether the logs cover everything from the backup to the target."""
        return not self.reasons

    @property
    def transactions(self) -> int:
        """Number of transactions to replay."""
        return sum(log.transactions for log in self.files)

    @property
    def bytes(self) -> int:
        """Bytes from the first to the last transaction of each log."""
        return sum(log.end - log.start for log in self.files)


_LAST = 2**63 - 1
_MOST_NAMES = 1_000
"""Maximum number of missing logs to name."""
_MOST_CHAINS = 3


def plan_recovery(
    chain: Sequence[ChainLog], backup: BackupPosition, target: Target | None = None
) -> RecoveryPlan:
    """Plan a replay of logs over a restored backup.

    Args:
        chain: the logs, in chain order.
        backup: the backup's position.
        target: where replay ends; None for the end of the logs.

    Raises:
        UsageError: the logs are of several servers, or the backup's position is inside a transaction.
        DamagedError, UnsupportedError: a log cannot be read as far as needed.
    """
    logs = logs_of_backup(chain, backup)
    planner = _RecoveryPlanner(logs, backup, target or Target())
    planner.walk()
    planner.note_gtid_mode()
    others = [ends for ends in chain if ends.chain != logs[0].chain]
    firsts = {ends.chain: ends.file.path for ends in reversed(others)}
    if firsts:
        planner.plan.notes.append(
            "left out, as of other servers or of another base name, are the logs that begin with"
            f" {listed(sorted(firsts.values()), _MOST_CHAINS)}"
        )
    last = logs[-1]
    later = [
        ends.file.path
        for ends in others
        if last.facts.times.is_over_before(ends.facts.times) and ends.facts.server_id == last.facts.server_id
    ]
    if later and planner.plan.target.kind is TargetKind.END:
        planner.plan.reasons.append(
            f"{later[0]} was begun after {last.file.path} by a server of the same id, which may have gone on"
            " there under another base name; give the logs of one name, or a target"
        )
    return planner.plan


class _RecoveryPlanner:
    def __init__(self, logs: list[ChainLog], backup: BackupPosition, target: Target) -> None:
        self._logs = logs
        self._backup = backup
        self._target = target
        indexes = [index for index, ends in enumerate(logs) if ends.file.name == backup.file]
        self._log_index = indexes[0] if len(indexes) == 1 else None
        self._held = HeldTransactions(backup, self._log_index)
        self._target_intervals = kernel_intervals(target.gtids)
        self._unreached = self._held.missing(target.gtids)
        self._last_index = 0
        """Index of the last log that has transactions to replay."""
        self._waiting = GtidSet()
        """GTIDs in the backup after the last transaction to replay."""
        self._kinds: set[int] = set()
        """Whether the transactions to replay have GTIDs."""
        written_by = logs[0].file.format
        self.plan = RecoveryPlan(backup, target, written_by.flavour, written_by.version)

    def walk(self) -> None:
        """Scan the logs from the backup's position to the target."""
        target = self._target
        held = target.gtids - self._unreached
        if target.gtids and (not self._unreached or (held and target.kind is TargetKind.BEFORE)):
            self._refuse(f"the backup holds {held} already; take an older backup")
            return
        start = self._start_index()
        if start is None:
            return
        content = GtidSet()
        for index in range(start, len(self._logs)):
            if index > start:
                self._check_link(self._logs[index - 1], content, self._logs[index])
            content, stopped = self._walk_log(index)
            if stopped:
                return
        self._check_end(self._logs[-1])

    def note_gtid_mode(self) -> None:
        """Note with which gtid_mode a server takes transactions with and without GTIDs."""
        if GtidKind.GTID_ANONYMOUS not in self._kinds:
            return
        if GtidKind.GTID_MYSQL in self._kinds:
            self._note(
                "some of these transactions have GTIDs and others have none, which a server replays only with"
                " gtid_mode=ON_PERMISSIVE or OFF_PERMISSIVE"
            )
        else:
            self._note(
                "these transactions have no GTIDs, and a server with gtid_mode=ON refuses them (ERROR 1782):"
                " replay them with ON_PERMISSIVE, OFF_PERMISSIVE or OFF"
            )

    def _start_index(self) -> int | None:
        """Return the index of the log where replay begins; None if it is missing."""
        if not self._held.by_gtid:
            return self._start_index_by_position()
        listed = [ends.facts.gtids_before for ends in self._logs]
        held = takewhile(lambda gtids: gtids is None or self._held.holds(gtids), listed)
        if starts := [index for index, gtids in enumerate(held) if gtids is not None]:
            return starts[-1]
        first = next((gtids for gtids in listed if gtids is not None), None)
        if first is None:
            return self._start_index_by_position()
        self.plan.missing_gtids = self._held.missing(first)
        self._add_logs_missing_before(self._logs[0])
        self._refuse(
            f"{self._logs[0].file.path} begins after the backup: {self.plan.missing_gtids} are neither in"
            " the backup nor in the logs"
        )
        return None

    def _start_index_by_position(self) -> int | None:
        file, offset = self._backup.file, self._backup.offset
        if self._log_index is not None:
            log = self._logs[self._log_index].file
            if offset <= log.size:
                return self._log_index
            self._refuse(
                f"{log.path} has {log.size:,} bytes, and the backup stands at {offset:,}: the log was copied"
                " before the backup was made, or is of another server"
            )
            return None
        if not file:
            raise UsageError(
                "expected logs with GTIDs, as the backup is known by its GTIDs alone, found none in"
                f" {self._logs[0].file.path}; give its position with --from FILE:POS"
            )
        if any(ends.file.name == file for ends in self._logs):
            raise UsageError(f"expected one log named {file}, in which the backup stands, found several")
        self._add_logs_missing_before(self._logs[0])
        if file not in self.plan.missing_files:
            self.plan.missing_files.insert(0, file)
        self._refuse(f"{file}, in which the backup stands, is not among the logs")
        return None

    def _walk_log(self, index: int) -> tuple[GtidSet, bool]:
        """Add a log's transactions to the plan; return its GTIDs and whether to stop."""
        ends = self._logs[index]
        content: list[tuple[GtidSource, int, int]] = []
        scan = find_transactions(ends.file)
        for table in scan:
            if not len(table):
                continue
            content += marked_gtids(table, table.mask())
            if (cut := self._held.cut_transaction(table, index)) is not None:
                raise UsageError(
                    f"the backup's position {self._backup.offset} is inside the transaction at {cut}; is this"
                    " a log of the server that was backed up?",
                    path=ends.file.path,
                )
            if (gtid := self._held.goes_back(filter(None, map(table.gtid, range(len(table)))))) is not None:
                self._refuse(
                    f"{ends.file.path} has {gtid} after higher numbers of its domain: GTIDs do not tell what"
                    " the backup holds; give its position with --from FILE:POS, or only the logs after it"
                )
                return GtidSet(content), True
            held = self._held.mask(table, index)
            if held is None:
                self._refuse(
                    f"{ends.file.path} has transactions without GTID, and nothing tells which of them the"
                    " backup holds: give its position with --from FILE:POS"
                )
                return GtidSet(content), True
            if self._held.disagrees(table, index, held):
                self._note(
                    f"the backup's position {self._backup.file}:{self._backup.offset} and its GTIDs disagree"
                    " about these logs, as where they are of another server; its GTIDs are followed"
                )
            stop = self._stop_index(table, held)
            self._add_transactions(index, table, held, len(table) if stop is None else stop)
            if stop is not None and stop < len(table):
                self.plan.next = self._edge(ends, table, stop, "start")
                self._note_late(table, stop)
                return GtidSet(content), True
        if scan.unfinished:
            self._note(
                f"{ends.file.path}: its last {scan.unfinished:,} bytes are an incomplete transaction and are"
                " not replayed"
            )
        return GtidSet(content), self._target.kind is TargetKind.GTIDS and not self._unreached

    def _stop_index(self, table: TransactionTable, held: bytearray) -> int | None:
        """Return the index of the first transaction not to replay; None if the target comes later."""
        mask = table.mask()
        if self._target.kind is TargetKind.END:
            return None
        if self._target.kind is TargetKind.TIME:
            table.keep_range(mask, "commit_timestamp", self._target.time, _LAST)
            late = table.marked(mask)
            if any(held[index] for index in late):
                self._refuse_newer(next(table.gtid(index) for index in late if held[index]))
                return 0
            return late[0] if late else None
        table.keep_gtids(mask, self._target_intervals, True)
        matches = table.marked(mask)
        self._unreached = self._unreached - GtidSet(marked_gtids(table, mask))
        if self._target.kind is TargetKind.BEFORE:
            if any(held[index] for index in matches):
                self._refuse_newer(next(table.gtid(index) for index in matches if held[index]))
                return 0
            return matches[0] if matches else None
        if self._unreached:
            return None
        # If the last GTID ended the previous table, this table begins after it.
        stop = matches[-1] + 1 if matches else 0
        if any(held[stop:]):
            self._refuse_newer(next(table.gtid(index) for index in range(stop, len(table)) if held[index]))
        return stop

    def _refuse_newer(self, gtid: str | None) -> None:
        held = gtid or "transactions"
        self._refuse(f"the backup already holds {held} after the target; take an older backup")

    def _add_transactions(self, log_index: int, table: TransactionTable, held: bytearray, stop: int) -> None:
        """Add the transactions before an index that are not in the backup."""
        ends, logs = self._logs[log_index], self.plan.files
        taken = [index for index in range(stop) if not held[index]]
        first = 0
        if self.plan.first is None:
            if not taken:
                return
            first = taken[0]
            self.plan.first = self._edge(ends, table, first, "start")
        last = taken[-1] if taken else -1
        kinds = memoryview(table.column("gtid_kind")).cast("q")
        self._kinds |= {kinds[index] for index in taken}
        if taken:
            replayed = bytearray(index < stop and not held[index] for index in range(len(table)))
            self.plan.gtid_set |= GtidSet(marked_gtids(table, replayed))
            held_between = bytearray(first <= index < last and held[index] for index in range(len(table)))
            self.plan.held_gtids |= self._waiting | GtidSet(marked_gtids(table, held_between))
            self._waiting = GtidSet()
            self.plan.last = self._edge(ends, table, last, "end")
            start, end = table.value("start", taken[0]), table.value("end", last)
            if logs and self._last_index == log_index:
                logs[-1] = logs[-1]._replace(end=end, transactions=logs[-1].transactions + len(taken))
            else:
                # Logs without transactions are given too: extract would miss them between the others.
                between = self._logs[self._last_index + 1 : log_index] if logs else []
                for file in (log.file for log in between):
                    logs.append(LogPart(file.path, file.name, file.first_position, file.first_position, 0))
                logs.append(LogPart(ends.file.path, ends.file.name, start, end, len(taken)))
                self._last_index = log_index
        after = bytearray(last < index < stop and held[index] for index in range(len(table)))
        self._waiting |= GtidSet(marked_gtids(table, after))

    def _note_late(self, table: TransactionTable, stop: int) -> None:
        """Note transactions after the end that were committed before the target's time."""
        if self._target.kind is not TargetKind.TIME:
            return
        late = sum(
            table.value("commit_timestamp", index) < self._target.time for index in range(stop, len(table))
        )
        if late:
            self._note(
                f"{late:,} transactions after the end were committed before the target's time too: the"
                " server's clock was set back, or a commit took its turn late; --to-gtid says exactly where"
                " to end"
            )

    def _check_link(self, before: ChainLog, content: GtidSet, after: ChainLog) -> None:
        """Check that a log follows the previous one, and that no transactions are missing between them."""
        lost = self._held.missing(differences(before.facts, content, after.facts)[0])
        # If both logs list all GTIDs before them, only logs without transactions can be missing between.
        proven = self._held.by_gtid and list_gtids(before.facts, after.facts) and not lost
        for problem in chain_problems([before, after], [content]):
            if problem.kind is ChainProblemKind.GAP and not proven:
                self._add_logs_missing_between(before, after)
                self._refuse(f"{before.file.path}: {problem.message}")
            elif problem.kind is ChainProblemKind.GTIDS_LOST and self._held.by_gtid:
                self._refuse(f"{after.file.path}: {problem.message}; GTIDs may have begun again")
            elif problem.kind in (ChainProblemKind.NOT_CLOSED, ChainProblemKind.CUT):
                self._note(f"{before.file.path}: {problem.message}")
        if lost:
            self.plan.missing_gtids |= lost
            self._refuse(f"{after.file.path} says that {lost} were logged before it, and no log has them")

    def _check_end(self, last: ChainLog) -> None:
        """Report what is needed to reach a target after the end of the logs."""
        target = self._target
        next_name = last.facts.expected
        is_closed = last.facts.next_log is not None or last.facts.stopped
        if target.kind is TargetKind.END:
            if last.facts.next_log is not None:
                self._note(f"{next_name} comes next, and is not among the logs")
            return
        if target.kind is TargetKind.TIME:
            if last.facts.ended is not None and last.facts.ended * MICROSECONDS >= target.time:
                return
            shortfall = f"end before {format_time(target.time)}"
        else:
            shortfall = f"do not have {self._unreached}"
        if is_closed:
            self.plan.missing_files.append(next_name)
        self.plan.reasons.append(
            f"the logs {shortfall}; {next_name} comes next"
            if is_closed
            else f"the logs {shortfall}; {last.file.path} is"
            " not closed: copy it again from the server, which may write it still"
        )

    def _add_logs_missing_between(self, before: ChainLog, after: ChainLog) -> None:
        if before.facts.base == after.facts.base:
            self._add_missing_logs(before.facts.base, before.file.file_number + 1, after.file.file_number)
        elif before.facts.next_log is not None:
            self.plan.missing_files.append(before.facts.next_log)

    def _add_logs_missing_before(self, first: ChainLog) -> None:
        """Add the missing logs from the backup's log to the first log given."""
        base = base_of(self._backup.file)
        number = number_of(self._backup.file)
        if base == first.facts.base and 0 < number < first.file.file_number:
            self._add_missing_logs(base, number, first.file.file_number)
        elif not self._backup.file and first.file.file_number > 1:
            self._add_missing_logs(first.facts.base, first.file.file_number - 1, first.file.file_number)

    def _add_missing_logs(self, base: str, first: int, stop: int) -> None:
        self.plan.missing_files += [
            numbered_name(base, number) for number in range(first, min(stop, first + _MOST_NAMES))
        ]

    def _refuse(self, problem: str) -> None:
        """Add a problem that forbids any replay."""
        self.plan.reasons.append(problem)
        self.plan.is_refused = True

    def _note(self, note: str) -> None:
        if note not in self.plan.notes:
            self.plan.notes.append(note)

    @staticmethod
    def _edge(ends: ChainLog, table: TransactionTable, index: int, side: str) -> Edge:
        return Edge(
            ends.file.name,
            table.value(side, index),
            table.gtid(index),
            table.value("commit_timestamp", index),
        )
