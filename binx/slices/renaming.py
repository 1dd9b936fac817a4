"""Rename databases in binary log events: in table maps and in the default database of statements.

Sources: MySQL's libs/mysql/binlog/event/rows_event.cpp (``Table_map_event``) and statement_events.cpp
(``Query_event``, ``Execute_load_query_event``); mysqlbinlog's ``--rewrite-db`` renames the same events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from binx.event.format import FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.event.parse import parse_event
from binx.event.payload import whole_events
from binx.event.query import UPDATED_DB_NAMES, ExecuteLoadQuery, Query
from binx.log.events import stored_payload
from binx.log.file import BinlogFile

if TYPE_CHECKING:
    from binx.rows.statements import Statement

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


class DatabaseNames:
    """New names of databases, for rows' tables and for the default database of statements.

    Names within the text of statements stay, as with mysqlbinlog's ``--rewrite-db``.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)
        self._spoken: dict[str, int] = {}
        self._mention = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names)) if names else None

    def __bool__(self) -> bool:
        return bool(self._names)

    def __getitem__(self, name: str) -> str:
        """Return a database's new name."""
        return self._names.get(name, name)

    def in_statement(self, statement: Statement) -> Statement:
        """Rename a statement's default database; record statements whose text names the old one."""
        if self._mention is None:
            return statement
        self.note_text(statement.sql)
        return statement._replace(db=self[statement.db])

    def note_text(self, sql: str) -> None:
        """Record a statement whose text names a database by its old name."""
        for name in set(self._mention.findall(sql)) if self._mention is not None else ():
            self._spoken[name] = self._spoken.get(name, 0) + 1

    @property
    def warnings(self) -> list[str]:
        """Warnings for the users of the output."""
        return [
            f"statements whose text names {name}, which --rewrite-db leaves as it is: {count:,}"
            for name, count in self._spoken.items()
        ]


SAME_NAMES = DatabaseNames({})
"""No database gets another name."""


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


def rename_table_map(content: bytearray, names: DatabaseNames, description: FormatDescription) -> None:
    """Rename the database of a table map; the event size in its header is not updated."""
    begin = HEADER_SIZE + description.post_header_length(EventType.TABLE_MAP, _TABLE_MAP_POST_HEADER)
    old = bytes(content[begin + 1 : begin + 1 + content[begin]])
    new = _new_name(names, old)
    content[begin : begin + 1 + len(old)] = bytes([len(new)]) + new


def _new_name(names: DatabaseNames, old: bytes) -> bytes:
    return names[old.decode("utf-8", "surrogateescape")].encode("utf-8", "surrogateescape")


def _database_list(names: list[bytes]) -> bytes:
    """Return the status variable that lists databases."""
    return bytes([UPDATED_DB_NAMES, len(names)]) + b"".join(name + b"\0" for name in names)
