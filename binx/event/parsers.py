"""Dispatch events to the parser of their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.event import (
    mariadb,
    partial_rows,
    payload,
    query_event,
    replication,
    rows_events,
    statement,
    table_map,
)
from binx.event.format import FormatDescription, parse_format_body
from binx.event.gtid import mysql_events as gtids
from binx.event.gtid import previous
from binx.event.header import EventHeader, EventType


class UnknownEvent(NamedTuple):
    """An event of an unknown type: its type code, and its bytes without header and checksum."""

    type: int
    body: bytes


Event = (
    FormatDescription
    | UnknownEvent
    | gtids.Gtid
    | mariadb.BinlogCheckpoint
    | mariadb.MariadbGtid
    | mariadb.MariadbGtidList
    | partial_rows.PartialRows
    | payload.TransactionPayload
    | previous.PreviousGtids
    | query_event.DeleteFile
    | query_event.ExecuteLoadQuery
    | query_event.LoadBlock
    | query_event.Query
    | replication.Incident
    | replication.Rotate
    | replication.Stop
    | replication.ViewChange
    | rows_events.RowsHeader
    | statement.Intvar
    | statement.Rand
    | statement.RowsQuery
    | statement.UserVar
    | statement.XaPrepare
    | statement.Xid
    | table_map.TableMap
)
"""The result of :func:`parse_event`."""

Parser = Callable[[memoryview, EventHeader, FormatDescription], Event]

PARSERS: dict[int, Parser] = {
    EventType.QUERY: query_event.parse_query,
    EventType.STOP: replication.parse_stop,
    EventType.ROTATE: replication.parse_rotate,
    EventType.INTVAR: statement.parse_intvar,
    EventType.APPEND_BLOCK: query_event.parse_load_block,
    EventType.DELETE_FILE: query_event.parse_delete_file,
    EventType.RAND: statement.parse_rand,
    EventType.USER_VAR: statement.parse_user_var,
    EventType.XID: statement.parse_xid,
    EventType.BEGIN_LOAD_QUERY: query_event.parse_load_block,
    EventType.EXECUTE_LOAD_QUERY: query_event.parse_execute_load_query,
    EventType.TABLE_MAP: table_map.parse_table_map,
    EventType.INCIDENT: replication.parse_incident,
    EventType.ROWS_QUERY: statement.parse_rows_query,
    EventType.GTID: gtids.parse_gtid,
    EventType.ANONYMOUS_GTID: gtids.parse_gtid,
    EventType.PREVIOUS_GTIDS: previous.parse_previous_gtids,
    EventType.VIEW_CHANGE: replication.parse_view_change,
    EventType.XA_PREPARE: statement.parse_xa_prepare,
    EventType.TRANSACTION_PAYLOAD: payload.parse_transaction_payload,
    EventType.GTID_TAGGED: gtids.parse_gtid,
    EventType.MARIADB_ANNOTATE_ROWS: statement.parse_rows_query,
    EventType.MARIADB_BINLOG_CHECKPOINT: mariadb.parse_binlog_checkpoint,
    EventType.MARIADB_GTID: mariadb.parse_mariadb_gtid,
    EventType.MARIADB_GTID_LIST: mariadb.parse_mariadb_gtid_list,
    EventType.MARIADB_QUERY_COMPRESSED: query_event.parse_query,
    EventType.MARIADB_PARTIAL_ROW_DATA: partial_rows.parse_partial_rows,
    **dict.fromkeys(rows_events.ROWS_TYPES, rows_events.parse_rows_header),
}


def parse_event(body: memoryview, header: EventHeader, description: FormatDescription) -> Event:
    """Parse an event.

    For rows events, only the header is parsed;
    :func:`~binx.event.rows_events.row_images` returns the rows' bytes.

    Args:
        body: the event's bytes without header and checksum; for FORMAT_DESCRIPTION with its checksum.
        header: the event's header.
        description: the last FORMAT_DESCRIPTION before it.

    Raises:
        BinxError: the body cannot be parsed; the type's parser defines the error.
    """
    if header.type == EventType.FORMAT_DESCRIPTION:
        return parse_format_body(body, header)
    parser = PARSERS.get(header.type)
    return UnknownEvent(header.type, bytes(body)) if parser is None else parser(body, header, description)
