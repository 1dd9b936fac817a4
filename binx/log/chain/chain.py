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
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import FileEnds
from binx.log.identifiers import gtids_of
from binx.log.selection.moments import MICROSECONDS
from binx.source.names import has_archive_tag, is_named_next


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
        written = self.before.begun if self.before.ended is None else self.before.ended
        return (
            self.kind in (ProblemKind.GAP, ProblemKind.CUT)
            and (until is None or written * MICROSECONDS < until)
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
        before.file.followed_by = after if before.chain == after.chain else None
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


def lacking(ends: Sequence[FileEnds]) -> list[str]:
    """Return sentences about the logs, and ends of logs, that are missing between ordered logs."""
    return [problem.sentence for problem in ends_problems(ends) if problem.lacks_transactions()]


def _problems_between(before: FileEnds, after: FileEnds, content: GtidSet | None) -> Iterable[ChainProblem]:
    def problem(kind: ProblemKind, message: str) -> ChainProblem:
        return ChainProblem(kind, before, after, message)

    if (before.file.name, before.file.identity) == (after.file.name, after.file.identity):
        yield problem(ProblemKind.REPEATED, f"both are {after.file.name} of the same server and time")
        return
    if not ends_follow(before, after):
        expected = before.next_file or f"{before.base}.{before.file.file_number + 1:06d}"
        yield problem(ProblemKind.GAP, f"expected {expected} to follow, found {after.file.name}")
    elif before.next_file is None and not before.stopped:
        message = "no ROTATE or STOP at the end: the server crashed, or the file was truncated"
        missing = _missing_at_end(before, content, after)
        if missing:
            message += f"; the GTIDs {missing}, which the next file lists as logged before it, are missing"
        yield problem(ProblemKind.CUT if missing else ProblemKind.NOT_CLOSED, message)
    lost = _lost_gtids(before, after)
    if lost:
        yield problem(
            ProblemKind.GTIDS_LOST,
            f"the GTIDs {lost} are not among those that the file lists as logged before it",
        )


def _missing_at_end(before: FileEnds, content: GtidSet | None, after: FileEnds) -> GtidSet:
    """Return the GTIDs that a log without an end lacks; none if it is damaged, which its reader reports."""
    try:
        if content is None:
            content = gtids_of(before.file.transactions(Level.LEVEL_INDEX, verify=False))
    except BinxError:
        return GtidSet()
    differences = gtid_differences(before, content, after)
    return GtidSet() if differences is None else differences[0]


def _order_of_chain(runs: Sequence[Run]) -> list[FileEnds]:
    """Return an index's order if one lists all logs, else the order of the runs' begin times."""
    ordered = sorted(runs, key=lambda run: (run[0].begun, run[0].file.file_number))
    ends = [log for run in ordered for log in run]
    stated = [(log.file.listed.place, log) for log in ends if log.file.listed is not None]
    if (
        len(stated) == len(ends)
        and len({log.file.listed.index_path for _, log in stated if log.file.listed}) == 1
    ):
        return [log for _, log in sorted(stated, key=lambda pair: pair[0])]
    return ends


def missing_gtids(logged: GtidSet, previous: Iterable[GtidSet | None]) -> GtidSet:
    """Return the GTIDs that are in no log, although earlier and later ones of their source are.

    MySQL numbers the transactions of each source consecutively, and each log lists the GTIDs of all logs
    before it: GTIDs that only a later log lists are certainly missing; GTIDs that no log lists are holes in
    the numbering. MariaDB numbers the transactions of each domain, so that one server's numbers have holes
    where another server wrote; a hole in a domain is attributed to the server of the GTID after it. What
    happened before the first log, and the holes in that, are not reported.

    Args:
        logged: the GTIDs of all transactions in the logs.
        previous: for each log, the GTIDs of all logs before it, if it records them.
    """
    recorded = [gtids for gtids in previous if gtids is not None]
    before = reduce(GtidSet.intersection, recorded) if recorded else GtidSet()
    known = reduce(GtidSet.union, recorded, logged)
    skipped = known - before - logged
    return GtidSet([*skipped, *_holes(known, before), *_holes_in_domains(logged)])


def _holes(known: GtidSet, before: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    """Yield the gaps between the intervals of each MySQL source, except those already in ``before``."""
    for source in known.sources:
        if isinstance(source, DomainSource):
            continue
        old = before.intervals(source)
        for (_, last), (first, _) in pairwise(known.intervals(source)):
            if not old or old[-1][0] < first:
                yield source, last + 1, first - 1


def _holes_in_domains(logged: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    domains: dict[int, list[tuple[int, int, DomainSource]]] = {}
    for source, first, last in logged:
        if isinstance(source, DomainSource):
            domains.setdefault(source.domain, []).append((first, last, source))
    for intervals in domains.values():
        reached: int | None = None
        for first, last, source in sorted(intervals):
            if reached is not None and first > reached + 1:
                yield source, reached + 1, first - 1
            reached = last if reached is None else max(reached, last)


_ROTATION_SECONDS = 2
"""A server writes ROTATE and begins the next log in one step."""

Run = list[FileEnds]
"""Logs, each linked to the next."""


def ends_follow(before: FileEnds, after: FileEnds) -> bool:
    """Return whether a log's name is the next expected one."""
    if before.next_file is not None:
        return is_named_next(before.next_file, before.file.name, after.file.name)
    return before.base == after.base and after.file.file_number == before.file.file_number + 1


def listed_before(ends: FileEnds) -> GtidSet | None:
    """Return the GTIDs that a log lists as logged before it; for MariaDB the last per domain and server."""
    if ends.previous_gtids is not None or ends.gtid_list is None:
        return ends.previous_gtids
    return GtidSet((source, number, number) for source, number in _last_numbers(ends).items())


def gtid_differences(before: FileEnds, content: GtidSet, after: FileEnds) -> tuple[GtidSet, GtidSet] | None:
    """Compare the GTIDs that a log records as previous with those of the logs before it.

    Returns:
        The GTIDs that the log lists and that were not there, and those that were there and that it does not
        list; None if the logs record no GTIDs.
    """
    if before.previous_gtids is not None and after.previous_gtids is not None:
        earlier = before.previous_gtids | content
        return after.previous_gtids - earlier, earlier - after.previous_gtids
    if before.gtid_list is None or after.gtid_list is None:
        return None
    reached, recorded = _last_numbers(before), _last_numbers(after)
    for source, _, last in content:
        if isinstance(source, DomainSource):
            reached[source] = max(reached.get(source, 0), last)
    return _ahead(recorded, reached), _ahead(reached, recorded)


def _last_numbers(ends: FileEnds) -> dict[DomainSource, int]:
    return {DomainSource(gtid.domain, gtid.server_id): gtid.sequence for gtid in ends.gtid_list or ()}


def _ahead(numbers: dict[DomainSource, int], reached: dict[DomainSource, int]) -> GtidSet:
    """Return the GTIDs after the last numbers of ``reached``, up to those of ``numbers``."""
    pairs = ((source, reached.get(source, 0), number) for source, number in numbers.items())
    return GtidSet((source, last + 1, number) for source, last, number in pairs if number > last)


def _lost_gtids(before: FileEnds, after: FileEnds) -> str:
    """Return what was known before the earlier log and is not known before the later one."""
    if before.previous_gtids is not None and after.previous_gtids is not None:
        return str(before.previous_gtids - after.previous_gtids)
    if before.gtid_list is None or after.gtid_list is None:
        return ""
    later = _last_numbers(after)
    lost = (gtid for gtid in before.gtid_list if later.get(DomainSource(*gtid[:2]), -1) < gtid.sequence)
    return ", ".join(map(str, lost))


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
                and not _lost_gtids(log, after)
                and (log.server == after.server if same_server else _is_witnessed(log, after, places))
            ]
            if fitting:
                nearest = min(
                    fitting,
                    key=lambda after, begun=log.begun: (after.begun < begun, abs(after.begun - begun)),  # type: ignore[misc]
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
    written = before.begun if before.ended is None else before.ended
    return after.begun >= written and not _lost_gtids(before, after)


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
    if before.next_file is not None and before.ended is not None:
        return after.begun - before.ended <= _ROTATION_SECONDS
    return bool(before.previous_gtids and after.previous_gtids) or bool(before.gtid_list and after.gtid_list)
