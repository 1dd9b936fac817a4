"""Events: from the bytes of one to a record of what it says.

:func:`parse_header` reads the 19 bytes before each event, :func:`parse_format`
the event that rules how the others are read, and :func:`parse_event` any other.
This is for events that are few or looked at singly; loops over all events and
row images are in :mod:`binx.kernels`.

Names are loaded from their modules on first use: a command that reads GTIDs
alone does not wait for the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binx.event.column import Column, ColumnType
    from binx.event.format import (
        MAGIC,
        ChecksumAlgorithm,
        Flavour,
        FormatDescription,
        Magic,
        parse_format,
        read_magic,
        verify_format_checksum,
    )
    from binx.event.gtid import Gtid
    from binx.event.gtid_set import GtidSet
    from binx.event.gtid_source import DomainSource, GtidSource, UuidSource
    from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType, event_name, parse_header
    from binx.event.load_data import DeleteFile, ExecuteLoadQuery, LoadBlock
    from binx.event.mariadb import BinlogCheckpoint, MariadbGtid, MariadbGtidList, StartEncryption
    from binx.event.parse import Event, UnknownEvent, parse_event
    from binx.event.payload import TransactionPayload, open_payload, whole_events
    from binx.event.previous_gtids import PreviousGtids, encode_previous_gtids
    from binx.event.query import Query
    from binx.event.replication import Heartbeat, Ignorable, Incident, TransactionContext, ViewChange
    from binx.event.rotate import Rotate, Stop
    from binx.event.rows import ROWS_TYPES, RowsHeader, row_images
    from binx.event.session import session_options
    from binx.event.statement import Intvar, Rand, RowsQuery, XaPrepare, Xid
    from binx.event.table_map import TableMap
    from binx.event.user_var import UserVar

__all__ = [
    "HEADER_SIZE",
    "MAGIC",
    "ROWS_TYPES",
    "BinlogCheckpoint",
    "ChecksumAlgorithm",
    "Column",
    "ColumnType",
    "DeleteFile",
    "DomainSource",
    "Event",
    "EventFlag",
    "EventHeader",
    "EventType",
    "ExecuteLoadQuery",
    "Flavour",
    "FormatDescription",
    "Gtid",
    "GtidSet",
    "GtidSource",
    "Heartbeat",
    "Ignorable",
    "Incident",
    "Intvar",
    "LoadBlock",
    "Magic",
    "MariadbGtid",
    "MariadbGtidList",
    "PreviousGtids",
    "Query",
    "Rand",
    "Rotate",
    "RowsHeader",
    "RowsQuery",
    "StartEncryption",
    "Stop",
    "TableMap",
    "TransactionContext",
    "TransactionPayload",
    "UnknownEvent",
    "UserVar",
    "UuidSource",
    "ViewChange",
    "XaPrepare",
    "Xid",
    "encode_previous_gtids",
    "event_name",
    "open_payload",
    "parse_event",
    "parse_format",
    "parse_header",
    "read_magic",
    "row_images",
    "session_options",
    "verify_format_checksum",
    "whole_events",
]

_HOMES = {
    "column": "Column ColumnType",
    "format": "ChecksumAlgorithm Flavour FormatDescription MAGIC Magic parse_format read_magic "
    "verify_format_checksum",
    "gtid": "Gtid",
    "gtid_set": "GtidSet",
    "gtid_source": "DomainSource GtidSource UuidSource",
    "header": "EventFlag EventHeader EventType HEADER_SIZE event_name parse_header",
    "load_data": "DeleteFile ExecuteLoadQuery LoadBlock",
    "mariadb": "BinlogCheckpoint MariadbGtid MariadbGtidList StartEncryption",
    "parse": "Event UnknownEvent parse_event",
    "payload": "TransactionPayload open_payload whole_events",
    "previous_gtids": "PreviousGtids encode_previous_gtids",
    "query": "Query",
    "replication": "Heartbeat Ignorable Incident TransactionContext ViewChange",
    "rotate": "Rotate Stop",
    "rows": "ROWS_TYPES RowsHeader row_images",
    "session": "session_options",
    "statement": "Intvar Rand RowsQuery XaPrepare Xid",
    "table_map": "TableMap",
    "user_var": "UserVar",
}
"""The module of each name above."""

_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
