"""From an event's type to its parser."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.event.format import FormatDescription, parse_format_body
from binx.event.gtid.events import Gtid, parse_gtid
from binx.event.gtid.previous import PreviousGtids, parse_previous_gtids
from binx.event.header import EventHeader, EventType
from binx.event.mariadb import (
    BinlogCheckpoint,
    MariadbGtid,
    MariadbGtidList,
    StartEncryption,
    parse_binlog_checkpoint,
    parse_mariadb_gtid,
    parse_mariadb_gtid_list,
    parse_start_encryption,
)
from binx.event.payload import TransactionPayload, parse_transaction_payload
from binx.event.query import (
    DeleteFile,
    ExecuteLoadQuery,
    LoadBlock,
    Query,
    parse_delete_file,
    parse_execute_load_query,
    parse_load_block,
    parse_query,
)
from binx.event.replication import (
    Heartbeat,
    Ignorable,
    Incident,
    Rotate,
    Stop,
    TransactionContext,
    ViewChange,
    parse_heartbeat,
    parse_ignorable,
    parse_incident,
    parse_rotate,
    parse_stop,
    parse_transaction_context,
    parse_view_change,
)
from binx.event.rows import ROWS_TYPES, RowsHeader, parse_rows_header
from binx.event.statement import (
    Intvar,
    Rand,
    RowsQuery,
    UserVar,
    XaPrepare,
    Xid,
    parse_intvar,
    parse_rand,
    parse_rows_query,
    parse_user_var,
    parse_xa_prepare,
    parse_xid,
)
from binx.event.table_map import TableMap, parse_table_map


class UnknownEvent(NamedTuple):
    """An event of a type that binx does not know.

    Attributes:
        type: its number.
        body: its bytes without header and checksum.
    """

    type: int
    body: bytes


Event = (
    BinlogCheckpoint
    | DeleteFile
    | ExecuteLoadQuery
    | FormatDescription
    | Gtid
    | Heartbeat
    | Ignorable
    | Incident
    | Intvar
    | LoadBlock
    | MariadbGtid
    | MariadbGtidList
    | PreviousGtids
    | Query
    | Rand
    | Rotate
    | RowsHeader
    | RowsQuery
    | StartEncryption
    | Stop
    | TableMap
    | TransactionContext
    | TransactionPayload
    | UnknownEvent
    | UserVar
    | ViewChange
    | XaPrepare
    | Xid
)
"""What :func:`parse_event` gives."""

Parser = Callable[[memoryview, EventHeader, FormatDescription], Event]

PARSERS: dict[int, Parser] = {
    EventType.QUERY: parse_query,
    EventType.STOP: parse_stop,
    EventType.ROTATE: parse_rotate,
    EventType.INTVAR: parse_intvar,
    EventType.APPEND_BLOCK: parse_load_block,
    EventType.DELETE_FILE: parse_delete_file,
    EventType.RAND: parse_rand,
    EventType.USER_VAR: parse_user_var,
    EventType.XID: parse_xid,
    EventType.BEGIN_LOAD_QUERY: parse_load_block,
    EventType.EXECUTE_LOAD_QUERY: parse_execute_load_query,
    EventType.TABLE_MAP: parse_table_map,
    EventType.INCIDENT: parse_incident,
    EventType.HEARTBEAT: parse_heartbeat,
    EventType.IGNORABLE: parse_ignorable,
    EventType.ROWS_QUERY: parse_rows_query,
    EventType.GTID: parse_gtid,
    EventType.ANONYMOUS_GTID: parse_gtid,
    EventType.PREVIOUS_GTIDS: parse_previous_gtids,
    EventType.TRANSACTION_CONTEXT: parse_transaction_context,
    EventType.VIEW_CHANGE: parse_view_change,
    EventType.XA_PREPARE: parse_xa_prepare,
    EventType.TRANSACTION_PAYLOAD: parse_transaction_payload,
    EventType.HEARTBEAT_V2: parse_heartbeat,
    EventType.GTID_TAGGED: parse_gtid,
    EventType.PERCONA_START_ENCRYPTION: parse_start_encryption,
    EventType.MARIADB_ANNOTATE_ROWS: parse_rows_query,
    EventType.MARIADB_BINLOG_CHECKPOINT: parse_binlog_checkpoint,
    EventType.MARIADB_GTID: parse_mariadb_gtid,
    EventType.MARIADB_GTID_LIST: parse_mariadb_gtid_list,
    EventType.MARIADB_START_ENCRYPTION: parse_start_encryption,
    EventType.MARIADB_QUERY_COMPRESSED: parse_query,
    **dict.fromkeys(ROWS_TYPES, parse_rows_header),
}


def parse_event(body: memoryview, header: EventHeader, description: FormatDescription) -> Event:
    """Read one event.

    A rows event gives its header alone; :func:`row_images` gives the bytes of its rows.

    Args:
        body: the event's bytes without its header and its checksum; for FORMAT_DESCRIPTION with its checksum.
        header: the event's header.
        description: the last FORMAT_DESCRIPTION before it.

    Raises:
        BinxError: the body cannot be read, as the event's own parser says.
    """
    if header.type == EventType.FORMAT_DESCRIPTION:
        return parse_format_body(body, header)
    parser = PARSERS.get(header.type)
    if parser is None:
        return UnknownEvent(header.type, bytes(body))
    return parser(body, header, description)
