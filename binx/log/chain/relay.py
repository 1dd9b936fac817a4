"""Join transactions that begin in one relay log and end in a later one.

MariaDB rotates relay logs between any two events, and so may a replica whose connection broke. Such a
transaction belongs to the log in which it begins: that log is read on into the following logs up to the
transaction's end, and those logs start after it. Positions stay those of the files; only the end of a
transaction that continues is counted from the beginning of its own file.

Sources: MySQL's sql/rpl_replica.cc (``queue_event``, ``rotate_relay_log``), MariaDB's sql/slave.cc; the
format description of a relay log has the flag ``LOG_EVENT_RELAY_LOG_F``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from binx.errors import AbsentError, DamagedError, TruncatedError, UnsupportedError
from binx.event.format import MAGIC_SIZE, Flavour, FormatDescription, parse_format
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, report_step
from binx.log.chain.chain import ChainLog, in_order
from binx.log.chain.ends import facts_of, known_facts
from binx.log.damage import Cause
from binx.log.scan import Scan
from binx.log.scanning import OnDamage, Resumption
from binx.log.succession import follows
from binx.source.byte_source import JoinedSource
from binx.source.log_names import next_name

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
"""Events that do not begin a transaction."""
_INSIDE_MARIADB = _INSIDE | {
    EventType.QUERY,
    EventType.INTVAR,
    EventType.RAND,
    EventType.USER_VAR,
    EventType.MARIADB_ANNOTATE_ROWS,
}
"""The same for servers that begin every transaction with a GTID event."""
_GTIDS_SINCE = (10, 0, 2)
_GTIDS = frozenset(
    {
        EventType.GTID,
        EventType.ANONYMOUS_GTID,
        EventType.GTID_TAGGED,
        EventType.MARIADB_GTID,
    }
)


def join_relay_logs(files: Sequence[BinlogFile], on_damage: OnDamage = OnDamage.STOP) -> list[BinlogFile]:
    """Make each relay log hold whole transactions, in whatever order the logs come; other logs are unchanged.

    Args:
        on_damage: whether unreadable logs are skipped.

    Returns:
        The logs that begin inside a transaction whose beginning is missing. They are read from the next GTID
        on; there are none unless damage is skipped.

    Raises:
        AbsentError: there is such a log.
    """
    salvages = on_damage is OnDamage.SALVAGE
    relay_logs = [file for file in files if file.is_relay_log]
    chain = in_order(relay_logs, known_facts if salvages else facts_of)
    without_beginning: list[BinlogFile] = []
    for number, ends in enumerate(chain):
        file, source = ends.file, ends.file.source
        if file.resumption is not None:
            continue
        try:
            if begins_inside(file):
                if not salvages:
                    raise begins_before(file)
                file.resumption = _next_gtid(file)
                without_beginning.append(file)
            _read_on(chain, number, on_damage)
        except (DamagedError, UnsupportedError):
            if not salvages:
                raise
            file.source = source
    return without_beginning


def begins_before(file: BinlogFile, advice: str = "give that one too, undamaged") -> AbsentError:
    """Return the error for a log that begins inside a transaction."""
    previous = next_name(file.name, -1)
    before = f", {previous}" if previous != file.name else ""
    return AbsentError(
        f"the relay log begins inside a transaction of the log before it{before}; {advice}", path=file.path
    )


def begins_inside(file: BinlogFile) -> bool:
    """Return whether a relay log's first event, ignoring those about the file, continues a transaction."""
    for header in _headers(file):
        if header.type not in _ABOUT_THE_FILE:
            maria = file.format.flavour is Flavour.MARIADB and file.format.version >= _GTIDS_SINCE
            return header.type in (_INSIDE_MARIADB if maria else _INSIDE)
    return False


def _next_gtid(file: BinlogFile) -> Resumption:
    """Return where the first transaction with a GTID begins; the file's end if there is none."""
    position = next((header.position for header in _headers(file) if header.type in _GTIDS), file.size)
    return Resumption(position, _format_at(file, position))


def _read_on(chain: Sequence[ChainLog], number: int, on_damage: OnDamage) -> None:
    """Extend a log by the rest of its last transaction from the logs after it."""
    file, first = chain[number].file, chain[number].file.source
    begun = _open_transaction(file, on_damage)
    later: list[BinlogFile] = []
    while begun is not None and number + len(later) + 1 < len(chain):
        before, after = chain[number + len(later)], chain[number + len(later) + 1]
        # Without ROTATE at its end, part of the log may be missing.
        if (
            before.chain != after.chain
            or before.facts.next_log is None
            or not follows(before.facts, after.facts)
        ):
            break
        if not begins_inside(after.file):
            break
        later.append(after.file)
        joined_size = first.size + sum(log.size - MAGIC_SIZE for log in later)
        file.source = JoinedSource(first, [log.source for log in later])
        end = _end_of(file, begun)
        if end is None:
            continue
        report_step(file.path, f"its last transaction continues in {later[-1].path} and is read from there")
        rest = later[-1].size - (joined_size - end)
        resumption = Resumption(rest, _format_at(later[-1], rest))
        file.source = JoinedSource(first, [log.source for log in later], end)
        for log in later[:-1]:
            log.resumption = Resumption(log.size, log.format)
        later[-1].resumption = resumption
        return
    # The transaction's end is missing, or it was abandoned, as when a replica requests it again.
    for log in later:
        log.resumption = Resumption(log.size, log.format)


def _open_transaction(file: BinlogFile, on_damage: OnDamage) -> Resumption | None:
    """Return where the transaction begins that is open at a log's end."""
    scan = Scan(file, Level.LEVEL_EVENTS, verify=False, on_damage=on_damage)
    try:
        for _ in scan:
            pass
    except TruncatedError:
        return Resumption(scan.accounted, scan.format)
    if scan.unfinished:
        return Resumption(scan.accounted, scan.format)
    last = scan.damage[-1] if scan.damage else None
    if last is not None and last.cause is Cause.CUT and last.cut and last.end == file.size:
        return Resumption(last.start, scan.format)
    return None


def _end_of(file: BinlogFile, begun: Resumption) -> int | None:
    """Return where a transaction ends; None if the file ends first."""
    scan = Scan(file, Level.LEVEL_EVENTS, verify=False, on_damage=OnDamage.STOP, span=begun)
    try:
        for table in scan:
            return table.value("end", 0)
    except TruncatedError:
        return None
    return None


def _format_at(file: BinlogFile, position: int) -> FormatDescription:
    """The format description in force at an offset: the last one before it."""
    description = file.format
    for header in _headers(file):
        if header.position >= position:
            break
        if header.type == EventType.FORMAT_DESCRIPTION:
            window = file.events_window(header.position, file.size)
            description = parse_format(window, header.position, origin=header.position)
    return description


def _headers(file: BinlogFile) -> Iterator[EventHeader]:
    """Yield the headers of a log's events."""
    position = MAGIC_SIZE
    while position + HEADER_SIZE <= file.size:
        window = file.source.window(position, position + HEADER_SIZE)
        header = parse_header(window, position, origin=position)
        yield header
        position = header.end
