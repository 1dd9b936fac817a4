"""Slices with renamed databases: in table maps, and in the default database of statements.

Sources: MySQL's libs/mysql/binlog/event/rows_event.cpp (``Table_map_event``) and statement_events.cpp
(``Query_event``, ``Execute_load_query_event``); mysqlbinlog's ``--rewrite-db`` renames the same events.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from binx.errors import DamagedError, RefusedError
from binx.event.format import FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.parsers import parse_event
from binx.event.payload import whole_events
from binx.event.query_event import UPDATED_DB_NAMES, ExecuteLoadQuery, Query
from binx.event.table_map import with_table_names
from binx.kernels.copy.rewrite import measure
from binx.log.binlog_file import BinlogFile
from binx.log.stored_events import stored_payload
from binx.rows.columns.names import ResolvedTable
from binx.slices.renaming import DatabaseNames
from binx.slices.slice_plan import FileRanges, Range, SlicePlan
from binx.slices.slice_writer import SliceWriter, compare_checksums
from binx.source import READ_BYTES
from binx.storage.output import Sink

_GTIDS = frozenset({EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED})
_TABLE_MAP_POST_HEADER = 8
_QUERY_POST_HEADER = 13
_LOAD_QUERY_POST_HEADER = 26
_DATABASE_SIZE_OFFSET = 8
_STATUS_SIZE_OFFSET = 11
_QUERIES = {
    EventType.QUERY: _QUERY_POST_HEADER,
    EventType.MARIADB_QUERY_COMPRESSED: _QUERY_POST_HEADER,
    EventType.EXECUTE_LOAD_QUERY: _LOAD_QUERY_POST_HEADER,
}
RENAMED = frozenset({EventType.TABLE_MAP, EventType.TRANSACTION_PAYLOAD, *_QUERIES})
"""Types of events that name a database, or may contain such events."""


class RenamingWriter(SliceWriter):
    """Writes a slice plan with renamed databases.

    Events that name a database are rewritten, and compressed transactions are written uncompressed; the rest
    is copied.
    """

    buffer_bytes = 64 * 1024 * 1024

    def __init__(self, plan: SlicePlan, output: Sink, databases: DatabaseNames, *, verify: bool) -> None:
        super().__init__(plan, output, verbatim=False, verify=verify)
        self._databases = databases
        self._copied_to = 0

    def _copy_ranges(self, ranges: FileRanges) -> None:
        self._copied_to = 0
        super()._copy_ranges(ranges)

    def _copy_range(self, ranges: FileRanges, span: Range, window: memoryview, origin: int) -> bool:
        rewriter, renamer = self._rewriter, EventRenamer(self._databases, ranges.file, ranges.description)
        while True:
            # A copied event may continue in the next window.
            if rewriter.position < self._copied_to:
                rest = Range(rewriter.position, self._copied_to, 0, apart=True)
                if not super()._copy_range(ranges, rest, window, origin):
                    return False
            if rewriter.position >= span.end:
                return True
            header = _header_at(ranges.file, rewriter.position, span.end)
            if header.type in _GTIDS:
                self._write_gtid(ranges, span)
            elif header.type in RENAMED:
                self._check(ranges, header)
                for event in renamer.events(header):
                    try:
                        self.put_event(
                            event, "--rewrite-db", "leave out the transaction, or use --format sql"
                        )
                    except RefusedError as error:
                        raise error.at(offset=header.position, event=header.name) from None
                rewriter.seek(header.end)
            else:
                self._copied_to = header.end

    def _check(self, ranges: FileRanges, header: EventHeader) -> None:
        """Verify the checksum of an event that is rewritten."""
        size = ranges.description.checksum_size
        if not self._verify or not size:
            return
        source, computed = ranges.file.source, 0
        for begin in range(header.position, header.end - size, READ_BYTES):
            computed = zlib.crc32(source.window(begin, min(begin + READ_BYTES, header.end - size)), computed)
        compare_checksums(header, computed, bytes(source.window(header.end - size, header.end)))

    def _size_behind(self, ranges: FileRanges, position: int, stop: int) -> int:
        """Return the output size of the events after a GTID event, up to the next one."""
        renamer, size = EventRenamer(self._databases, ranges.file, ranges.description), 0
        while position < stop:
            header = _header_at(ranges.file, position, stop)
            if header.type in _GTIDS:
                break
            if header.type in RENAMED:
                for event in renamer.events(header, first_look=True):
                    size += len(event) + self._checksum_size
            else:
                window = ranges.file.source.window(position, position + HEADER_SIZE)
                _, events, content = measure(
                    window, position, position, header.end, ranges.description.checksum_size
                )
                size += content + events * self._checksum_size
            position = header.end
        return size


def _header_at(file: BinlogFile, position: int, stop: int) -> EventHeader:
    header = parse_header(
        file.source.window(position, min(stop, position + HEADER_SIZE)), position, origin=position
    )
    if header.end > stop:
        raise DamagedError(
            f"expected an event that ends within the transaction, found one of {header.size} bytes",
            offset=position,
        )
    return header


class EventRenamer:
    """Renames databases in events; the events of a compressed transaction are returned individually."""

    def __init__(self, names: DatabaseNames, file: BinlogFile, description: FormatDescription) -> None:
        self._names = names
        self._file = file
        self._description = description

    def events(self, header: EventHeader, *, first_look: bool = False) -> Iterator[bytes | bytearray]:
        """Yield the replacement of an event whose type is in :data:`RENAMED`, without checksums.

        Args:
            first_look: whether the events will be requested again, and must not be counted yet.

        Raises:
            DamagedError, UnsupportedError: the event cannot be read.
        """
        window = self._file.source.window(header.position, header.end)
        if header.type == EventType.TRANSACTION_PAYLOAD:
            payload = stored_payload(self._file.source, header, window, header.position, self._description)
            for chunk in whole_events(payload):
                yield from self._inner(bytes(chunk), first_look)
            return
        content = bytearray(window[: header.size - self._description.checksum_size])
        yield self._renamed(content, header, first_look)

    def _inner(self, events: bytes, first_look: bool) -> Iterator[bytearray]:
        position = 0
        while position < len(events):
            header = parse_header(events, position)
            content = bytearray(events[position : position + header.size])
            yield self._renamed(content, header, first_look) if header.type in RENAMED else content
            position += header.size

    def _renamed(self, content: bytearray, header: EventHeader, first_look: bool) -> bytearray:
        parsed = parse_event(memoryview(bytes(content))[HEADER_SIZE:], header, self._description)
        query = parsed.query if isinstance(parsed, ExecuteLoadQuery) else parsed
        if isinstance(query, Query):
            if not first_look:
                self._names.note_text(query.text)
            self._rename_query(content, header, query)
        else:
            rename_table_map(content, self._names, self._description)
        return content

    def _rename_query(self, content: bytearray, header: EventHeader, query: Query) -> None:
        post_header = self._description.post_header_length(header.type, _QUERIES[EventType(header.type)])
        size_at, status_at = HEADER_SIZE + _DATABASE_SIZE_OFFSET, HEADER_SIZE + _STATUS_SIZE_OFFSET
        begin, old_size = HEADER_SIZE + post_header, content[size_at]
        status_size = int.from_bytes(content[status_at : status_at + 2], "little")
        name_at = begin + status_size
        new = _new_name(self._names, bytes(content[name_at : name_at + old_size]))
        content[name_at : name_at + old_size] = new
        content[size_at] = len(new)
        status = self._renamed_status(bytes(content[begin:name_at]), query.status.updated_databases or ())
        content[begin:name_at] = status
        content[status_at : status_at + 2] = len(status).to_bytes(2, "little")

    def _renamed_status(self, status: bytes, databases: tuple[str, ...]) -> bytes:
        """Rename the updated databases in status variables, which parallel replicas use."""
        old = _database_list([name.encode() for name in databases])
        return status.replace(old, _database_list([self._names[name].encode() for name in databases]), 1)


def rename_table_map(
    content: bytearray,
    names: DatabaseNames,
    description: FormatDescription,
    table: ResolvedTable | None = None,
) -> None:
    """Rename what a table map names; the event size in its header is not updated.

    Args:
        table: the table under other names; None to rename its database alone.
    """
    begin = HEADER_SIZE + description.post_header_length(EventType.TABLE_MAP, _TABLE_MAP_POST_HEADER)
    end = begin + 1 + content[begin]
    db = _new_name(names, bytes(content[begin + 1 : end]) if table is None else table.db.encode())
    if table is not None:
        content[end + 1 :] = with_table_names(
            bytes(content[end + 1 :]), table.name, [column.source_name for column in table.columns]
        )
    content[begin:end] = bytes([len(db)]) + db


def _new_name(names: DatabaseNames, old: bytes) -> bytes:
    return names[old.decode("utf-8", "surrogateescape")].encode("utf-8", "surrogateescape")


def _database_list(names: list[bytes]) -> bytes:
    """Return the status variable that lists databases."""
    return bytes([UPDATED_DB_NAMES, len(names)]) + b"".join(name + b"\0" for name in names)
