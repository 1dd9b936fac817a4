"""Transactions that begin in one relay log and end in a later one.

MariaDB rotates relay logs between any two events, and so may a replica whose connection broke. Such a
transaction belongs to the log in which it begins: that log reads on into the ones behind it, up to the
transaction's end, and they begin behind it. Positions stay those of the files; only the end of a transaction
that reads on is counted from the beginning of its own file.

Sources: MySQL's sql/rpl_replica.cc (``queue_event``, ``rotate_relay_log``), MariaDB's sql/slave.cc; the
format description of a relay log has the flag ``LOG_EVENT_RELAY_LOG_F``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binx.errors import AbsentError, TruncatedError
from binx.event.format import MAGIC_SIZE, Flavour, FormatDescription, parse_format
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import FileEnds, read_ends
from binx.log.chain.links import ends_follow
from binx.log.file import BinlogFile
from binx.log.scan import Resumption
from binx.log.steps import tell
from binx.source.joined import JoinedSource

_ABOUT_THE_FILE = frozenset(
    {
        EventType.FORMAT_DESCRIPTION,
        EventType.ROTATE,
        EventType.PREVIOUS_GTIDS,
        EventType.STOP,
        EventType.HEARTBEAT,
        EventType.MARIADB_GTID_LIST,
        EventType.MARIADB_BINLOG_CHECKPOINT,
    }
)
_INSIDE = frozenset(
    number
    for number in EventType
    if number in (EventType.TABLE_MAP, EventType.XID)
    or any(f"{operation}_ROWS" in number.name for operation in ("WRITE", "UPDATE", "DELETE"))
)
"""Events that begin no transaction."""
_INSIDE_MARIADB = _INSIDE | {
    EventType.QUERY,
    EventType.INTVAR,
    EventType.RAND,
    EventType.USER_VAR,
    EventType.MARIADB_ANNOTATE_ROWS,
}
"""The same where a GTID event begins every transaction."""
_GTIDS_SINCE = (10, 0, 2)


def join_relay_logs(files: Sequence[BinlogFile]) -> None:
    """Have each relay log hold its transactions whole, in whatever order they come; others stay as they are.

    Raises:
        AbsentError: a log begins inside a transaction, and the one in which it began is not there.
        DamagedError, UnsupportedError: a log cannot be read.
    """
    chain = order_ends([read_ends(file) for file in files if file.is_relay_log])
    for number, ends in enumerate(chain):
        file = ends.file
        if file.resumption is not None:
            continue
        if begins_inside(file):
            raise AbsentError(
                "the relay log begins inside a transaction of the previous one; give that one too",
                path=file.path,
            )
        _read_on(chain, number)


def begins_inside(file: BinlogFile) -> bool:
    """Whether a relay log's first event, but those about the file, is of a transaction begun before."""
    for header in _headers(file):
        if header.type not in _ABOUT_THE_FILE:
            maria = file.format.flavour is Flavour.MARIADB and file.format.version >= _GTIDS_SINCE
            return header.type in (_INSIDE_MARIADB if maria else _INSIDE)
    return False


def _read_on(chain: Sequence[FileEnds], number: int) -> None:
    """Have a log hold its last transaction whole, where the logs behind it go on with it."""
    file, first = chain[number].file, chain[number].file.source
    begun = _open_transaction(file)
    others: list[BinlogFile] = []
    while begun is not None and number + len(others) + 1 < len(chain):
        before, after = chain[number + len(others)], chain[number + len(others) + 1]
        # Without ROTATE at its end nobody can say that nothing of a log is missing.
        if before.chain != after.chain or before.next_file is None or not ends_follow(before, after):
            break
        if not begins_inside(after.file):
            break
        others.append(after.file)
        whole = first.size + sum(other.size - MAGIC_SIZE for other in others)
        file.source = JoinedSource(first, [other.source for other in others])
        end = _end_of(file, begun)
        if end is None:
            continue
        tell(file.path, f"its last transaction continues in {others[-1].path} and is read from there")
        rest = others[-1].size - (whole - end)
        file.source = JoinedSource(first, [other.source for other in others], end)
        for other in others[:-1]:
            other.resumption = Resumption(other.size, other.format)
        others[-1].resumption = Resumption(rest, _format_at(others[-1], rest))
        return
    # The transaction's end is not there, or it was given up, as when a replica asks for it again.
    for other in others:
        other.resumption = Resumption(other.size, other.format)


def _open_transaction(file: BinlogFile) -> int | None:
    """Where the transaction begins that a log ends in."""
    scan = file.scan(Level.LEVEL_EVENTS, verify=False)
    try:
        for _ in scan:
            pass
    except TruncatedError:
        return scan.accounted
    return scan.accounted if scan.unfinished else None


def _end_of(file: BinlogFile, begun: int) -> int | None:
    """Where a transaction ends; None where the file ends before."""
    try:
        for table in file.scan(Level.LEVEL_EVENTS, verify=False):
            for index in range(len(table)):
                if table.value("start", index) == begun:
                    return table.value("end", index)
    except TruncatedError:
        return None
    return None


def _format_at(file: BinlogFile, position: int) -> FormatDescription:
    """The format description in force at an offset: the last one before it."""
    found = file.format
    for header in _headers(file):
        if header.position >= position:
            break
        if header.type == EventType.FORMAT_DESCRIPTION:
            window = file.events_window(header.position, file.size)
            found = parse_format(window, header.position, origin=header.position)
    return found


def _headers(file: BinlogFile) -> Iterator[EventHeader]:
    """The headers of a log's events."""
    position = MAGIC_SIZE
    while position + HEADER_SIZE <= file.size:
        window = file.source.window(position, position + HEADER_SIZE)
        header = parse_header(window, position, origin=position)
        yield header
        position = header.end


__all__ = ["begins_inside", "join_relay_logs"]
