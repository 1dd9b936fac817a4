"""An event's fields as names and plain JSON values."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from enum import Enum, IntFlag
from typing import Any, NamedTuple

from binx.event.format import Flavour, FormatDescription
from binx.event.gtid.mysql_events import Gtid
from binx.event.header import HEADER_SIZE, EventHeader
from binx.event.mariadb import MariadbGtid
from binx.event.parsers import Event
from binx.event.payload import TransactionPayload
from binx.event.query_event import ExecuteLoadQuery, LoadBlock, Query
from binx.event.rows_events import RowsHeader
from binx.event.session_variables import session_options
from binx.event.statement import Intvar, IntvarType, RowsQuery, UserVar
from binx.event.table_map import TableMap
from binx.log.selection.times import format_time

_TIMES = ("immediate_commit_timestamp", "original_commit_timestamp")
_WIDTH = 16
_FIELDS = ((0, 4), (4, 1), (5, 4), (9, 4), (13, 4), (17, 2))
_PRINTABLE = range(0x20, 0x7F)


def event_fields(event: Event, description: FormatDescription) -> dict[str, Any]:
    """Return the known fields of an event by name.

    Bytes are in hexadecimal, times in RFC 3339; fields absent from the event are left out.
    """
    special = _SPECIAL.get(type(event))
    fields = special(event, description) if special is not None else _plain_fields(event)
    return {name: value for name, value in fields.items() if value is not None}


def _plain_fields(event: Any) -> dict[str, Any]:
    return {name: _plain(getattr(event, name)) for name in type(event).__annotations__}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, IntFlag):
        return [str(flag.name) for flag in type(value) if value & flag]
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, int | float):
        return value
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    # GTID sets, XIDs, decimals and named tuples have a text form of their own.
    if type(value) in (tuple, list):
        return [_plain(item) for item in value]
    return str(value)


def _gtid(event: Gtid, _: FormatDescription) -> dict[str, Any]:
    fields = _plain_fields(event)
    for name in ("uuid", "tag", "number"):
        del fields[name]
    for name in _TIMES:
        moment = getattr(event, name)
        fields[name] = None if moment is None else format_time(moment)
    return {"gtid": None if event.anonymous else str(event), **fields}


def _mariadb_gtid(event: MariadbGtid, _: FormatDescription) -> dict[str, Any]:
    fields = _plain_fields(event)
    for name in ("domain", "server_id", "sequence"):
        del fields[name]
    return {"gtid": str(event), **fields}


def _query(event: Query, _: FormatDescription) -> dict[str, Any]:
    status = event.status
    user = None if status.invoker_user is None else f"{status.invoker_user}@{status.invoker_host}"
    return {
        "thread_id": event.thread_id,
        "exec_time": event.execution_time,
        "error_code": event.error_code,
        "db": event.database,
        "sql": event.text,
        "sql_is_text": event.sql_is_text,
        "xid": status.ddl_xid if status.ddl_xid is not None else status.mariadb_xid,
        "invoker": user,
        "options": session_options(event),
    }


def _load(event: ExecuteLoadQuery, description: FormatDescription) -> dict[str, Any]:
    return {
        "file_id": event.file_id,
        "duplicates": event.duplicates.name.lower(),
        **_query(event.query, description),
    }


def _load_block(event: LoadBlock, _: FormatDescription) -> dict[str, Any]:
    return {"file_id": event.file_id, "bytes": len(event.data)}


def _table_map(event: TableMap, _: FormatDescription) -> dict[str, Any]:
    return {
        "table_id": event.table_id,
        "db": event.database,
        "table": event.table,
        "columns": [_plain(column.name) for column in event.columns]
        if any(column.name for column in event.columns)
        else None,
        "column_count": len(event.columns),
        "has_metadata": event.has_metadata,
    }


def _rows(event: RowsHeader, _: FormatDescription) -> dict[str, Any]:
    fields = _plain_fields(event)
    for name in ("columns_before", "columns_after", "rows_offset", "kind"):
        del fields[name]
    if event.unknown_extra is None:
        del fields["unknown_extra"]
    return fields


def _rows_query(event: RowsQuery, _: FormatDescription) -> dict[str, Any]:
    return {"sql": event.text}


def _intvar(event: Intvar, _: FormatDescription) -> dict[str, Any]:
    known = {member.value: member.name for member in IntvarType}
    return {"variable": known.get(event.type, str(event.type)), "value": event.value}


def _user_var(event: UserVar, description: FormatDescription) -> dict[str, Any]:
    mariadb = description.flavour is Flavour.MARIADB
    return {"name": event.name, "value": event.literal(mariadb=mariadb)}


def _payload(event: TransactionPayload, _: FormatDescription) -> dict[str, Any]:
    return {
        "compression": event.compression.name.lower(),
        "compressed_bytes": event.compressed_size,
        "uncompressed_bytes": event.uncompressed_size,
    }


_SPECIAL: dict[type, Callable[[Any, FormatDescription], dict[str, Any]]] = {
    Gtid: _gtid,
    MariadbGtid: _mariadb_gtid,
    Query: _query,
    ExecuteLoadQuery: _load,
    LoadBlock: _load_block,
    TableMap: _table_map,
    RowsHeader: _rows,
    RowsQuery: _rows_query,
    Intvar: _intvar,
    UserVar: _user_var,
    TransactionPayload: _payload,
}


class HexLine(NamedTuple):
    """A range of an event's bytes."""

    offset: int
    data: bytes
    meaning: str

    def __str__(self) -> str:
        digits = self.data.hex(" ")
        return f"{self.offset:08x}  {digits:<{3 * _WIDTH - 1}}  {self.meaning}"


def hex_lines(header: EventHeader, data: memoryview, checksum_size: int) -> Iterator[HexLine]:
    """Yield an annotated hex dump of an event."""
    meanings = (
        f"timestamp {header.timestamp} ({format_time(header.timestamp * 1_000_000)})",
        f"type {header.type} ({header.name})",
        f"server id {header.server_id}",
        f"size {header.size}",
        f"next position {header.next_position}",
        f"flags {int(header.flags):#06x}{_flag_names(header)}",
    )
    for (offset, size), meaning in zip(_FIELDS, meanings, strict=True):
        yield HexLine(offset, bytes(data[offset : offset + size]), meaning)
    missing = header.size - len(data)
    end = len(data) if missing else len(data) - checksum_size
    for offset in range(HEADER_SIZE, end, _WIDTH):
        chunk = bytes(data[offset : min(offset + _WIDTH, end)])
        yield HexLine(offset, chunk, "|" + "".join(chr(b) if b in _PRINTABLE else "." for b in chunk) + "|")
    if missing:
        yield HexLine(end, b"", f"{missing} more bytes of the payload")
    elif checksum_size:
        stored = bytes(data[end:])
        expected = zlib.crc32(data[:end])
        is_right = int.from_bytes(stored, "little") == expected
        meaning = f"checksum {int.from_bytes(stored, 'little'):#010x}"
        yield HexLine(end, stored, f"{meaning}, right" if is_right else f"{meaning}, WRONG: {expected:#010x}")


def _flag_names(header: EventHeader) -> str:
    names = [str(flag.name) for flag in type(header.flags) if header.flags & flag]
    return f" ({', '.join(names)})" if names else ""
