"""Order the binary logs of a server into chains, count epochs, and find gaps and conflicts.

Only the first and the last events of each file are read. A file is linked to the one with the next number if
GTIDs and times allow it. Numbers alone do not define the order: numbering can restart (RESET MASTER, RESET
BINARY LOGS AND GTIDS, a new server of the same name), and logs of several servers can have the same names. A
server id does not identify a chain either: it can change with any start and any SET GLOBAL, and change back.
Runs of linked files of one chain are ordered by time; an index defines the order of the logs it lists.

Sources: MySQL manual, "The Binary Log" and "PREVIOUS_GTIDS"; ``MYSQL_BIN_LOG::open_binlog`` in sql/binlog.cc
(the create time of the format description is 0 except in the first log after a start).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import groupby, pairwise
from typing import NamedTuple

from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds
from binx.log.chain.links import ends_follow, gtid_differences, lost_gtids
from binx.log.identifiers import gtids_of
from binx.log.scan import find_transactions
from binx.log.selection.moments import MICROSECONDS, Position, index_of_file
from binx.source.names import has_archive_tag


class ProblemKind(Enum):
    """Kind of problem between two files."""

    GAP = "gap"
    """A file between them is missing."""
    GTIDS_LOST = "gtids lost"
    """The later file lacks GTIDs that were known before the earlier one."""
    NOT_CLOSED = "not closed"
    """The earlier file ends without ROTATE or STOP, as after a crash: its end may be missing."""
    CUT = "cut"
    """It ends so, and the later file lists GTIDs that are not in it: its end is missing."""
    REPEATED = "repeated"
    """They are copies of one file, or one is a copy of the other."""


class ChainProblem(NamedTuple):
    """A problem between two consecutive files."""

    kind: ProblemKind
    before: FileEnds
    after: FileEnds
    message: str

    @property
    def sentence(self) -> str:
        """The problem, behind the paths of both files."""
        return f"{self.before.file.path}, {self.after.file.path}: {self.message}"

    def lacks_transactions(self, since: int | None = None, until: int | None = None) -> bool:
        """Return whether transactions of a period may be missing between the files.

        Args:
            since: beginning of the period, in µs since 1970; None for no limit.
            until: its end, exclusive.
        """
        return (
            self.kind in (ProblemKind.GAP, ProblemKind.CUT)
            and (until is None or self.before.written * MICROSECONDS < until)
            and (since is None or (self.after.begun + _ROTATION_SECONDS) * MICROSECONDS > since)
        )


def order_ends(ends: Iterable[FileEnds]) -> list[FileEnds]:
    """Sort logs into the order in which they were written, chain by chain.

    Sets each file's following log.

    Returns:
        The logs with ``chain`` set: 0 for those of the first chain, and so on.
    """
    chains = [_order_of_chain(chain) for chain in _chains_of(list(ends))]
    chains.sort(key=lambda chain: (chain[0].begun, chain[0].file.name, chain[0].file.path))
    ordered = [log._replace(chain=number) for number, chain in enumerate(chains) for log in chain]
    for before, after in pairwise(ordered):
        before.file.followed_by = after.file if before.chain == after.chain else None
    return ordered


def epochs(ends: Sequence[FileEnds]) -> list[int]:
    """For each log, return how many logs of its chain up to it are the first after a server start."""
    counts: dict[int, int] = {}
    result = []
    for log in ends:
        counts[log.chain] = counts.get(log.chain, 0) + log.file.format.at_startup
        result.append(counts[log.chain])
    return result


def ends_problems(ends: Sequence[FileEnds], contents: Sequence[GtidSet] | None = None) -> list[ChainProblem]:
    """Return the problems between ordered logs of the same chain.

    Args:
        contents: the GTIDs in each log; None reads those of logs that were not closed.
    """
    problems: list[ChainProblem] = []
    for number, (before, after) in enumerate(pairwise(ends)):
        if before.chain == after.chain:
            problems.extend(_problems_between(before, after, None if contents is None else contents[number]))
    return problems


def absent_positions(ends: Sequence[FileEnds], *positions: Position | None) -> list[str]:
    """Return a sentence for each position that is behind the end of its log.

    Raises:
        AbsentError, UsageError: as :func:`~binx.log.selection.moments.index_of_file`.
    """
    names = [one.file.name for one in ends]
    found = [(position, ends[index_of_file(position, names)].file) for position in positions if position]
    return [
        f"{file.path}: it has no position {position.offset}, but ends at {file.size}"
        for position, file in found
        if position.offset > file.size
    ]


def _problems_between(before: FileEnds, after: FileEnds, content: GtidSet | None) -> Iterable[ChainProblem]:
    def problem(kind: ProblemKind, message: str) -> ChainProblem:
        return ChainProblem(kind, before, after, message)

    if (before.file.name, before.file.identity) == (after.file.name, after.file.identity):
        yield problem(ProblemKind.REPEATED, f"both are {after.file.name} of the same server and time")
        return
    if not ends_follow(before, after):
        expected = before.next_file or f"{before.base}.{before.file.file_number + 1:06d}"
        more = "" if before.base == after.base else ", a log of another name: what may be between is unknown"
        yield problem(ProblemKind.GAP, f"expected {expected} to follow, found {after.file.name}{more}")
    elif before.next_file is None and not before.stopped:
        message = "no ROTATE or STOP at the end: the server crashed, or the file was truncated"
        missing, _ = _differences(before, content, after)
        if missing:
            message += f"; the GTIDs {missing}, which the next file lists as logged before it, are missing"
        yield problem(ProblemKind.CUT if missing else ProblemKind.NOT_CLOSED, message)
    lost = lost_gtids(before, after)
    if lost and before.gtid_list is not None:
        lost &= _differences(before, content, after)[1]
    if lost:
        yield problem(
            ProblemKind.GTIDS_LOST,
            f"the GTIDs {lost} are not among those that the file lists as logged before it",
        )


def _differences(before: FileEnds, content: GtidSet | None, after: FileEnds) -> tuple[GtidSet, GtidSet]:
    """Return what :func:`gtid_differences` does; nothing if a log is damaged, which its reader reports."""
    try:
        if content is None:
            content = gtids_of(find_transactions(before.file, verify=False))
    except BinxError:
        return GtidSet(), GtidSet()
    return gtid_differences(before, content, after) or (GtidSet(), GtidSet())


def _order_of_chain(runs: Sequence[Run]) -> list[FileEnds]:
    """Return an index's order if one lists all logs, else the order of the runs' begin times."""
    ordered = sorted(runs, key=lambda run: run[0].begun)
    ends = [log for run in ordered for log in run]
    stated = [(log.file.listed.place, log) for log in ends if log.file.listed is not None]
    if (
        len(stated) == len(ends)
        and len({log.file.listed.index_path for _, log in stated if log.file.listed}) == 1
    ):
        return [log for _, log in sorted(stated, key=lambda pair: pair[0])]
    return ends


_ROTATION_SECONDS = 2
"""A server writes ROTATE and begins the next log in one step."""

Run = list[FileEnds]
"""Logs, each linked to the next."""


def _chains_of(ends: Sequence[FileEnds]) -> list[list[Run]]:
    """Group logs into chains, each as its runs in numeric order."""
    places = _Places(ends)
    runs = _linked(ends, places)
    leaders = list(range(len(runs)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            number = leaders[number]
        return number

    firsts: dict[object, int] = {}
    by_folder: dict[object, list[int]] = {}
    for number, run in enumerate(runs):
        # Runs of one server id or index belong to one chain, as do runs that follow each other in one folder.
        indexes = {log.file.listed.index_path for log in run if log.file.listed is not None}
        for shared in ({log.server for log in run}, indexes):
            for key in shared:
                leaders[leader(firsts.setdefault(key, number))] = leader(number)
        if (folder := places.of(run[0])) is not None:
            by_folder.setdefault(folder, []).append(number)
    for numbers in by_folder.values():
        for before, after in pairwise(numbers):
            if _may_come_later(runs[before][-1], runs[after][0]):
                leaders[leader(before)] = leader(after)
    chains: dict[int, list[Run]] = {}
    for number, run in enumerate(runs):
        chains.setdefault(leader(number), []).append(run)
    return _rejoined(chains)


def _rejoined(chains: dict[int, list[Run]]) -> list[list[Run]]:
    """Join chains of one server id and folder whose logs alternate, as when a base name is changed and back.

    The logs do not tell: those of the new name list nothing as logged before them, and those of the old name
    go on as if nothing had been logged between. Logs of two servers that run side by side overlap in time.
    """
    numbers: dict[tuple[int, str], dict[int, None]] = {}
    for number, chain in chains.items():
        for log in (log for run in chain for log in run):
            folder = log.file.path.rpartition("/")[0]
            numbers.setdefault((log.file.format.server_id, folder), {})[number] = None
    for together in numbers.values():
        logs = [(log, number) for number in together for run in chains.get(number, ()) for log in run]
        logs.sort(key=lambda pair: (pair[0].begun, pair[0].written))
        changes = [(one, other) for (one, before), (other, after) in pairwise(logs) if before != after]
        if len(changes) >= len(together) and all(one.written <= other.begun for one, other in changes):
            joined = groupby(logs, key=lambda pair: pair[1])
            chains[min(together)] = [[log for log, _ in run] for _, run in joined]
            for number in together.keys() - {min(together)}:
                del chains[number]
    return list(chains.values())


def _linked(ends: Sequence[FileEnds], places: _Places) -> list[Run]:
    """Link logs by their names: first those of one server id, then the remaining ones."""
    ordered = sorted(ends, key=lambda log: (log.file.file_number, log.begun, log.file.path))
    by_name: dict[tuple[str, int], list[FileEnds]] = {}
    for log in ordered:
        by_name.setdefault((log.base, log.file.file_number), []).append(log)
    followers: dict[int, FileEnds] = {}
    linked: set[int] = set()
    for same_server in (True, False):
        for log in ordered:
            if id(log) in followers:
                continue
            fitting = [
                after
                for after in by_name.get((log.base, log.file.file_number + 1), ())
                if id(after) not in linked
                and ends_follow(log, after)
                and not lost_gtids(log, after)
                and (log.server == after.server if same_server else _is_witnessed(log, after, places))
            ]
            if fitting:
                nearest = min(
                    fitting,
                    key=lambda after, end=log.written: (after.begun < end, abs(after.begun - end)),  # type: ignore[misc]
                )
                followers[id(log)] = nearest
                linked.add(id(nearest))
    runs: list[Run] = []
    for log in ordered:
        if id(log) not in linked:
            run = [log]
            while (follower := followers.get(id(run[-1]))) is not None:
                run.append(follower)
            runs.append(run)
    return runs


class _Places:
    """Places (folders, indexes) whose logs all belong to one server."""

    def __init__(self, ends: Sequence[FileEnds]) -> None:
        logs = Counter((self._folder(log), log.base, log.file.file_number) for log in ends)
        self._shared = {(folder, base) for (folder, base, _), count in logs.items() if count > 1}

    def of(self, log: FileEnds) -> object | None:
        """Return a key shared by the logs of one place; None if a log's place is not significant."""
        if log.file.listed is not None:
            return log.file.listed.index_path
        folder = self._folder(log)
        return None if folder is None or (folder, log.base) in self._shared else (folder, log.base)

    @staticmethod
    def _folder(log: FileEnds) -> str | None:
        """Return the folder; None in an archive, which holds logs of many servers under tagged names."""
        if has_archive_tag(log.file.path) or not log.file.file_number:
            return None
        return log.file.path.rpartition("/")[0]


def _may_come_later(before: FileEnds, after: FileEnds) -> bool:
    """Return whether times and GTIDs allow ``after`` to be the later log."""
    return after.begun >= before.written and not lost_gtids(before, after)


def _is_witnessed(before: FileEnds, after: FileEnds, places: _Places) -> bool:
    """Return whether anything besides names shows that a log of another server id is the next one.

    That is an index that lists both, a folder in which no other log has their names, a ROTATE written when
    the other log was begun, or GTIDs known to both.
    """
    if not _may_come_later(before, after):
        return False
    place = places.of(before)
    if place is not None and place == places.of(after):
        return True
    if before.next_file is not None and before.ended:
        return after.begun - before.ended <= _ROTATION_SECONDS
    return bool(before.previous_gtids and after.previous_gtids) or bool(before.gtid_list and after.gtid_list)
