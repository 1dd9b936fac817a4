"""Binary logs of one server as a chain: their order, their epochs, and what does not fit together.

Only the first and the last events of each file are read. A file is linked to the one whose name comes next,
where GTIDs and times allow it. Numbers alone order nothing: numbering can restart (RESET MASTER, RESET BINARY
LOGS AND GTIDS, a new server of the same name), and several servers have logs of the same names. A server's id
is not its chain's either: it can change with any start and any SET GLOBAL, and change back. Runs of linked
files that belong to one chain come in the order of their times; an index states the order of what it lists.

Sources: MySQL manual, "The Binary Log" and "PREVIOUS_GTIDS"; ``MYSQL_BIN_LOG::open_binlog`` in sql/binlog.cc
(the create time of the format description is 0 but in the first log after a start).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource, GtidSource
from binx.log.chain.ends import FileEnds
from binx.log.chain.links import Run, chains_of, ends_follow, lost_gtids


class ProblemKind(Enum):
    """What does not fit between two files."""

    GAP = "gap"
    """A file between them is not there."""
    GTIDS_LOST = "gtids lost"
    """The later file does not know GTIDs that were there before the earlier one."""
    NOT_CLOSED = "not closed"
    """The earlier file ends without ROTATE or STOP, as after a crash: its end may be missing."""
    REPEATED = "repeated"
    """They are copies of one file, or one is."""


class ChainProblem(NamedTuple):
    """Two files that follow each other, and what does not fit.

    Attributes:
        kind: see ProblemKind.
        before: path of the earlier file.
        after: path of the later file.
        message: what was expected and what was found.
    """

    kind: ProblemKind
    before: str
    after: str
    message: str


def order_ends(ends: Iterable[FileEnds]) -> list[FileEnds]:
    """Bring logs into the order in which they were written; those of one chain stay together.

    Each file is told which log follows it.

    Returns:
        The logs with ``chain`` set: 0 for those of the first chain, and so on.
    """
    chains = [_order_of_chain(chain) for chain in chains_of(list(ends))]
    chains.sort(key=lambda chain: (chain[0].begun, chain[0].file.name, chain[0].file.path))
    ordered = [one._replace(chain=number) for number, chain in enumerate(chains) for one in chain]
    for before, after in pairwise(ordered):
        before.file.followed_by = after if before.chain == after.chain else None
    return ordered


def epochs(ends: Sequence[FileEnds]) -> list[int]:
    """For each of ordered logs, how many of its chain up to it were the first after a start of the server."""
    counts: dict[int, int] = {}
    result = []
    for one in ends:
        counts[one.chain] = counts.get(one.chain, 0) + one.file.format.at_startup
        result.append(counts[one.chain])
    return result


def ends_problems(ends: Sequence[FileEnds]) -> list[ChainProblem]:
    """What does not fit between ordered logs of the same chain."""
    problems: list[ChainProblem] = []
    for before, after in pairwise(ends):
        if before.chain == after.chain:
            problems.extend(_problems_between(before, after))
    return problems


def _problems_between(before: FileEnds, after: FileEnds) -> Iterable[ChainProblem]:
    def problem(kind: ProblemKind, message: str) -> ChainProblem:
        return ChainProblem(kind, before.file.path, after.file.path, message)

    if (before.file.name, before.file.identity) == (after.file.name, after.file.identity):
        yield problem(ProblemKind.REPEATED, f"both are {after.file.name} of the same server and time")
        return
    if not ends_follow(before, after):
        expected = before.next_file or f"{before.base}.{before.file.file_number + 1:06d}"
        yield problem(ProblemKind.GAP, f"expected {expected} to follow, found {after.file.name}")
    elif before.next_file is None and not before.stopped:
        yield problem(
            ProblemKind.NOT_CLOSED,
            "no ROTATE or STOP at the end: the server crashed, or the file was truncated",
        )
    lost = lost_gtids(before, after)
    if lost:
        yield problem(
            ProblemKind.GTIDS_LOST,
            f"the GTIDs {lost} are not among those that the file lists as logged before it",
        )


def _order_of_chain(runs: Sequence[Run]) -> list[FileEnds]:
    """The order that an index states, where one lists them all; else that of the runs' beginnings."""
    ordered = sorted(runs, key=lambda run: (run[0].begun, run[0].file.file_number))
    ends = [one for run in ordered for one in run]
    stated = [(one.file.listed.place, one) for one in ends if one.file.listed is not None]
    if (
        len(stated) == len(ends)
        and len({one.file.listed.index_path for _, one in stated if one.file.listed}) == 1
    ):
        return [one for _, one in sorted(stated, key=lambda pair: pair[0])]
    return ends


def missing_gtids(logged: GtidSet, previous: Iterable[GtidSet | None]) -> GtidSet:
    """The GTIDs that are in no log, though there were earlier and later ones of their source.

    MySQL numbers the transactions of each source one after another, and each log names those of all logs
    before it: what only a later log knows of is missing for certain, what nobody knows of is a hole in the
    numbers. MariaDB numbers those of each domain, so that the numbers of one server have holes where another
    one wrote; a hole in a domain counts as of the server whose GTID follows. What had happened before the
    first log, and the holes in that, are not reported.

    Args:
        logged: the GTIDs of all transactions in the logs.
        previous: for each log, the GTIDs of all logs before it, where it says so.
    """
    said = [gtids for gtids in previous if gtids is not None]
    before = reduce(GtidSet.intersection, said) if said else GtidSet()
    known = reduce(GtidSet.union, said, logged)
    skipped = known - before - logged
    return GtidSet([*skipped, *_holes(known, before), *_holes_in_domains(logged)])


def _holes(known: GtidSet, before: GtidSet) -> Iterator[tuple[GtidSource, int, int]]:
    """What is missing between the intervals of each of MySQL's sources, but for the holes of before."""
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
