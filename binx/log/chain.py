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
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.gtid_set import GtidSet
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.previous_gtids import parse_previous_gtids
from binx.kernels.crc32 import checksum
from binx.log.file import BinlogFile
from binx.source import Source
from binx.source.joined import JoinedSource

if TYPE_CHECKING:
    from binx.event.mariadb import MariadbGtidPosition

_HEAD_EVENTS = 16
"""Events at a file's head that are looked at, at most: servers write four."""
_NAME_MAXIMUM = 512
_ROTATE_FIXED = 8


class FileEnds(NamedTuple):
    """What a file's first and last events say of its place among others.

    Attributes:
        file: the file.
        previous_gtids: MySQL's PREVIOUS_GTIDS; None where the file has none.
        gtid_list: MariaDB's GTID_LIST; None where the file has none.
        next_file: the name that ROTATE at the end gives; None where ROTATE is not the last event.
        stopped: whether STOP is the last event.
    """

    file: BinlogFile
    previous_gtids: GtidSet | None
    gtid_list: tuple[MariadbGtidPosition, ...] | None
    next_file: str | None
    stopped: bool

    @property
    def base(self) -> str:
        """The file's name without its number."""
        base, dot, number = self.file.name.rpartition(".")
        return base if dot and number.isdecimal() else self.file.name

    @property
    def server(self) -> tuple[int, str]:
        """What tells servers apart: the id and the base of the files' names."""
        return self.file.format.server_id, self.base

    @property
    def begun(self) -> int:
        """When the file was begun, in seconds since 1970."""
        return self.file.format.header_timestamp


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


def read_ends(file: BinlogFile) -> FileEnds:
    """Read a file's first and last events.

    Raises:
        DamagedError, UnsupportedError: the events at the head cannot be read.
    """
    previous: GtidSet | None = None
    gtid_list: tuple[MariadbGtidPosition, ...] | None = None
    position = file.first_position
    try:
        for _ in range(_HEAD_EVENTS):
            header = _header_at(file, position)
            if header is None:
                break
            if header.type in _GTID_TYPES and not _is_whole(file, header):
                # Nothing is concluded from bytes whose checksum is wrong; who reads them all will tell.
                break
            if header.type == EventType.PREVIOUS_GTIDS:
                previous = parse_previous_gtids(_body(file, header), header, file.format).gtids
            elif header.type == EventType.MARIADB_GTID_LIST:
                from binx.event.mariadb import parse_mariadb_gtid_list

                gtid_list = parse_mariadb_gtid_list(_body(file, header), header, file.format).positions
            elif header.type not in _HEAD_TYPES:
                break
            position = header.end
        next_file = _next_file(file)
    except BinxError as error:
        raise error.at(path=file.path) from error.__cause__
    return FileEnds(file, previous, gtid_list, next_file, next_file is None and _is_stopped(file))


def known_ends(file: BinlogFile) -> FileEnds:
    """The same where damage is no error: nothing is known of a file whose ends cannot be read."""
    try:
        return read_ends(file)
    except (DamagedError, UnsupportedError):
        return FileEnds(file, None, None, None, False)


_HEAD_TYPES = frozenset(
    {
        EventType.FORMAT_DESCRIPTION,
        EventType.ROTATE,
        EventType.MARIADB_BINLOG_CHECKPOINT,
        EventType.MARIADB_START_ENCRYPTION,
    }
)


_GTID_TYPES = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


def previous_gtids(file: BinlogFile) -> GtidSet | None:
    """The GTIDs of all files before this one; None where the file does not say, as MariaDB's do not.

    Raises:
        DamagedError, UnsupportedError: as :func:`read_ends`.
    """
    return read_ends(file).previous_gtids


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
            "expected ROTATE or STOP at the end, found neither; the server died, or the file was cut",
        )
    lost = _lost_gtids(before, after)
    if lost:
        yield problem(
            ProblemKind.GTIDS_LOST, f"expected to find the GTIDs {lost} among those before the file"
        )


def ends_follow(before: FileEnds, after: FileEnds) -> bool:
    """Whether a file's name is the one that must come next."""
    if before.next_file is not None:
        return before.next_file == after.file.name
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


def _header_at(file: BinlogFile, position: int) -> EventHeader | None:
    """The header of the event at a position, if a whole event can be there."""
    if position < 0 or position + HEADER_SIZE > file.size:
        return None
    header = parse_header(file.source.window(position, position + HEADER_SIZE), position, origin=position)
    return header if header.end <= file.size else None


def _body(file: BinlogFile, header: EventHeader) -> memoryview:
    """An event's bytes without header and checksum."""
    return file.source.window(header.position + HEADER_SIZE, header.end - file.format.checksum_size)


def _is_whole(file: BinlogFile, header: EventHeader) -> bool:
    """Whether an event's checksum is that of its bytes, if it has one."""
    size = file.format.checksum_size
    window = file.source.window(header.position, header.end)
    content = len(window) - size
    return not size or checksum(window[:content]) == int.from_bytes(window[content:], "little")


def _own(file: BinlogFile) -> Source:
    """A file's own bytes, also where it reads on into the next ones."""
    return file.source.first if isinstance(file.source, JoinedSource) else file.source


def _is_stopped(file: BinlogFile) -> bool:
    size = HEADER_SIZE + file.format.checksum_size
    return _is_last(file, _own(file).size - size, EventType.STOP)


def _next_file(file: BinlogFile) -> str | None:
    """The name in a ROTATE that ends with the file; where it begins is where its own size fits."""
    shortest = HEADER_SIZE + _ROTATE_FIXED + 1 + file.format.checksum_size
    for size in range(shortest, min(shortest + _NAME_MAXIMUM, _own(file).size - file.first_position + 1)):
        position = _own(file).size - size
        if _is_last(file, position, EventType.ROTATE):
            header = parse_header(
                _own(file).window(position, position + HEADER_SIZE), position, origin=position
            )
            from binx.event.rotate import parse_rotate

            return parse_rotate(_body(file, header), header, file.format).next_file
    return None


def _is_last(file: BinlogFile, position: int, event_type: EventType) -> bool:
    """Whether an event of a type is at a position and ends where the file does, by its size and its count."""
    if position < file.first_position:
        return False
    window = _own(file).window(position, position + HEADER_SIZE)
    size = int.from_bytes(window[9:13], "little")
    next_position = int.from_bytes(window[13:17], "little")
    return (
        window[4] == event_type
        and position + size == _own(file).size
        and next_position == _own(file).size & 0xFFFFFFFF
    )


__all__ = [
    "ChainProblem",
    "FileEnds",
    "ProblemKind",
    "chain_problems",
    "ends_follow",
    "ends_problems",
    "epochs",
    "known_ends",
    "order_ends",
    "order_files",
    "previous_gtids",
    "read_ends",
]
