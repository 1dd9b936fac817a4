"""Read a binary log's first and last events, which determine its place in a chain.

Sources: MySQL manual, "The Binary Log" and "PREVIOUS_GTIDS".
"""

from __future__ import annotations

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.gtid.previous import parse_previous_gtids
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.crc32 import checksum
from binx.log.binlog_file import BinlogFile
from binx.log.succession import LogFacts
from binx.source import Source
from binx.source.byte_source import JoinedSource

_HEAD_EVENTS = 16
"""Maximum number of events read at a file's head; servers write four."""
_NAME_MAXIMUM = 512
_ROTATE_FIXED = 8


def facts_of(file: BinlogFile) -> LogFacts:
    """Read from a log's first and last events what they say of its place in a chain.

    Raises:
        DamagedError, UnsupportedError: they cannot be read.
    """
    gtids: GtidSet | None = None
    position = file.first_position
    try:
        for _ in range(_HEAD_EVENTS):
            header = _header_at(file, position)
            if header is None:
                break
            if header.type in _GTID_TYPES and not _is_whole(file, header):
                # Events with a wrong checksum are not used here; a full scan reports them.
                break
            if header.type == EventType.PREVIOUS_GTIDS:
                gtids = parse_previous_gtids(_body(file, header), header, file.format).gtids
            elif header.type == EventType.MARIADB_GTID_LIST:
                from binx.event.mariadb import parse_mariadb_gtid_list

                gtids = parse_mariadb_gtid_list(_body(file, header), header, file.format).gtids
            elif header.type not in _HEAD_TYPES:
                break
            position = header.end
        last = _last_event(file)
        next_file = None if last is None else _next_file(file, last)
    except BinxError as error:
        raise error.at(path=file.path) from error.__cause__
    return _begun(file)._replace(
        gtids_before=gtids,
        next_log=next_file,
        stopped=last is not None and last.type == EventType.STOP,
        ended=None if last is None else last.timestamp,
    )


def known_facts(file: BinlogFile) -> LogFacts:
    """Read what a log's ends say, ignoring damage: of ends that cannot be read, nothing is known."""
    try:
        return facts_of(file)
    except (DamagedError, UnsupportedError):
        return _begun(file)


def _begun(file: BinlogFile) -> LogFacts:
    """Return what the format description and the path say."""
    description = file.format
    return LogFacts(
        path=file.path,
        name=file.name,
        server_id=description.server_id,
        flavour=description.flavour,
        begun=description.header_timestamp,
        created=description.create_timestamp,
        listed=file.listed,
    )


_HEAD_TYPES = frozenset(
    {
        EventType.FORMAT_DESCRIPTION,
        EventType.ROTATE,
        EventType.MARIADB_BINLOG_CHECKPOINT,
        EventType.MARIADB_START_ENCRYPTION,
    }
)


_GTID_TYPES = (EventType.PREVIOUS_GTIDS, EventType.MARIADB_GTID_LIST)


def _header_at(file: BinlogFile, position: int) -> EventHeader | None:
    """Return the header of the event at a position, if a whole event fits there."""
    if position < 0 or position + HEADER_SIZE > file.size:
        return None
    header = parse_header(file.source.window(position, position + HEADER_SIZE), position, origin=position)
    return header if header.end <= file.size else None


def _body(file: BinlogFile, header: EventHeader) -> memoryview:
    """Return an event's bytes without header and checksum."""
    return file.source.window(header.position + HEADER_SIZE, header.end - file.format.checksum_size)


def _is_whole(file: BinlogFile, header: EventHeader) -> bool:
    """Return whether an event matches its checksum, if it has one."""
    size = file.format.checksum_size
    window = file.source.window(header.position, header.end)
    content = len(window) - size
    return not size or checksum(window[:content]) == int.from_bytes(window[content:], "little")


def _own_source(file: BinlogFile) -> Source:
    """Return a file's own bytes, without the parts of later files joined to it."""
    return file.source.first if isinstance(file.source, JoinedSource) else file.source


def _last_event(file: BinlogFile) -> EventHeader | None:
    """Return the header of a ROTATE or STOP at the file's end, found by its size field."""
    stop = HEADER_SIZE + file.format.checksum_size
    shortest = stop + _ROTATE_FIXED + 1
    end, log_size = _end(file, shortest + _NAME_MAXIMUM - 1), _own_source(file).size
    for size in (stop, *range(shortest, len(end) + 1)):
        if _is_last(end, size, log_size, EventType.STOP if size == stop else EventType.ROTATE):
            position = log_size - size
            return parse_header(end[-size:], position, origin=position)
    return None


def _next_file(file: BinlogFile, last: EventHeader) -> str | None:
    """Return the name in the last event, if that is a ROTATE."""
    if last.type != EventType.ROTATE:
        return None
    from binx.event.replication import parse_rotate

    return parse_rotate(_body(file, last), last, file.format).next_file


def _end(file: BinlogFile, size: int) -> memoryview:
    """Return the last bytes of a file, none before its first event."""
    source = _own_source(file)
    return source.window(max(source.size - size, file.first_position), source.size)


def _is_last(end: memoryview, size: int, log_size: int, event_type: EventType) -> bool:
    """Return whether a log ends in an event of this type and size, judging by size and end in its header."""
    return (
        len(end) >= size
        and end[-size + 4] == event_type
        and int.from_bytes(end[-size + 9 : -size + 13], "little") == size
        and int.from_bytes(end[-size + 13 : -size + 17], "little") == log_size & 0xFFFFFFFF
    )
