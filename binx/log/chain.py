"""Binary logs of one server as a chain: their order, their epochs, and what does not fit together.

Only the first and the last events of each file are read. Numbers in names order the files of one server, but
numbering can restart (RESET MASTER, RESET BINARY LOGS AND GTIDS, a new server of the same name), so a file is
linked to the next one of the same server and only where the GTIDs of the two allow it; runs of linked files
come in the order of their times.

Sources: MySQL manual, "The Binary Log" and "PREVIOUS_GTIDS"; ``MYSQL_BIN_LOG::open_binlog`` in sql/binlog.cc
(the create time of the format description is 0 but in the first log after a start).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from binx.log.ends import FileEnds, read_ends
from binx.log.file import BinlogFile
from binx.source.names import is_named_next


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


def order_files(files: Iterable[BinlogFile]) -> list[BinlogFile]:
    """Bring files into the order in which they were written; those of one server stay together.

    Raises:
        DamagedError, UnsupportedError: as :func:`read_ends`.
    """
    return [ends.file for ends in order_ends(read_ends(file) for file in files)]


def order_ends(ends: Iterable[FileEnds]) -> list[FileEnds]:
    """The same for files whose ends were read already."""
    servers: dict[tuple[int, str], list[FileEnds]] = {}
    for one in ends:
        servers.setdefault(one.server, []).append(one)
    groups = [_order_of_server(group) for group in servers.values()]
    groups.sort(key=lambda group: (group[0].begun, group[0].file.name, group[0].file.path))
    return [one for group in groups for one in group]


def epochs(files: Sequence[BinlogFile]) -> list[int]:
    """For each of ordered files, how many up to it were the first after a start of their server."""
    counts: dict[tuple[int, str], int] = {}
    result = []
    for file in files:
        server = FileEnds(file, None, None, None, False).server
        counts[server] = counts.get(server, 0) + file.format.at_startup
        result.append(counts[server])
    return result


def chain_problems(files: Sequence[BinlogFile]) -> list[ChainProblem]:
    """What does not fit between ordered files of the same server.

    Raises:
        DamagedError, UnsupportedError: as :func:`read_ends`.
    """
    return ends_problems([read_ends(file) for file in files])


def ends_problems(ends: Sequence[FileEnds]) -> list[ChainProblem]:
    """The same for files whose ends were read already."""
    problems: list[ChainProblem] = []
    for before, after in pairwise(ends):
        if before.server == after.server:
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
    lost = _lost_gtids(before, after)
    if lost:
        yield problem(
            ProblemKind.GTIDS_LOST,
            f"the GTIDs {lost} are not among those that the file lists as logged before it",
        )


def ends_follow(before: FileEnds, after: FileEnds) -> bool:
    """Whether a file's name is the one that must come next."""
    if before.next_file is not None:
        return is_named_next(before.next_file, before.file.name, after.file.name)
    return after.file.file_number == before.file.file_number + 1


def _lost_gtids(before: FileEnds, after: FileEnds) -> str:
    """What was there before the earlier file and is not there before the later one."""
    if before.previous_gtids is not None and after.previous_gtids is not None:
        return str(before.previous_gtids - after.previous_gtids)
    if before.gtid_list is None or after.gtid_list is None:
        return ""
    known = {(entry.domain, entry.server_id): entry.sequence for entry in after.gtid_list}
    lost = [one for one in before.gtid_list if known.get((one.domain, one.server_id), -1) < one.sequence]
    return ", ".join(map(str, lost))


def _order_of_server(ends: list[FileEnds]) -> list[FileEnds]:
    """Link files of one server into runs by number, then order the runs by their first file's time."""
    ends.sort(key=lambda one: (one.file.file_number, one.begun, one.file.path))
    by_number: dict[int, list[FileEnds]] = {}
    for one in ends:
        by_number.setdefault(one.file.file_number, []).append(one)
    followers: dict[int, FileEnds] = {}
    linked: set[int] = set()
    for one in ends:
        later = by_number.get(one.file.file_number + 1, [])
        fitting = [other for other in later if id(other) not in linked and _can_follow(one, other)]
        if fitting:
            nearest = min(fitting, key=lambda other: (other.begun < one.begun, abs(other.begun - one.begun)))
            followers[id(one)] = nearest
            linked.add(id(nearest))
    runs: list[list[FileEnds]] = []
    for one in ends:
        if id(one) not in linked:
            run = [one]
            while (follower := followers.get(id(run[-1]))) is not None:
                run.append(follower)
            runs.append(run)
    runs.sort(key=lambda run: (run[0].begun, run[0].file.file_number))
    return [one for run in runs for one in run]


def _can_follow(before: FileEnds, after: FileEnds) -> bool:
    return ends_follow(before, after) and not _lost_gtids(before, after)


__all__ = [
    "ChainProblem",
    "ProblemKind",
    "chain_problems",
    "ends_follow",
    "ends_problems",
    "epochs",
    "order_ends",
    "order_files",
]
