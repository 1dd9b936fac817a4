"""Read the events of one transaction, including those within compressed payloads.

For inspecting a few transactions; loops over all of them are in :mod:`binx.kernels`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from binx.errors import BinxError, DamagedError
from binx.event.format import FormatDescription, parse_format_body
from binx.event.header import HEADER_SIZE, EventHeader, EventType, event_size, parse_header
from binx.event.parsers import Event, Parser, UnknownEvent, parse_event
from binx.event.partial_rows import RowsPieces
from binx.event.payload import TransactionPayload, errors_at_event, whole_events
from binx.event.query_event import ExecuteLoadQuery, LoadBlock, Query
from binx.event.statement import RowsQuery
from binx.log.binlog_file import BinlogFile
from binx.log.stored_events import stored_payload


class RawEvent(NamedTuple):
    """An event and its bytes.

    Attributes:
        header: its header; for an event within a payload, with the payload's position.
        data: header, body and checksum; for a payload larger than the read buffer, its first bytes; without
            checksum for a rows event that was in pieces.
        body: the bytes between header and checksum; for such a payload the first of them.
        inner: for an event within a payload, which has no checksum, its offset there; None for all others.
    """

    header: EventHeader
    data: memoryview
    body: memoryview
    inner: int | None
    event: Event


def transaction_events(
    file: BinlogFile, start: int, end: int, description: FormatDescription
) -> Iterator[tuple[EventHeader, Event]]:
    """Yield the events of ``[start, end)``.

    A payload is yielded first, then its contents; the headers of inner events have the payload's position.

    Args:
        description: the format description in force, as in ``TransactionTable.format``.
    """
    for raw in raw_events(file, start, end, description):
        yield raw.header, raw.event


def statement_texts(file: BinlogFile, start: int, end: int, description: FormatDescription) -> Iterator[str]:
    """Yield the statement texts of ``[start, end)``, including those logged with row events."""
    for raw in raw_events(file, start, end, description, _parse_text):
        event = raw.event
        statement = event.query if isinstance(event, ExecuteLoadQuery) else event
        if isinstance(statement, Query | RowsQuery):
            yield statement.text


_TEXTS = frozenset(
    {
        EventType.QUERY,
        EventType.MARIADB_QUERY_COMPRESSED,
        EventType.EXECUTE_LOAD_QUERY,
        EventType.ROWS_QUERY,
        EventType.MARIADB_ANNOTATE_ROWS,
    }
)


def _parse_text(body: memoryview, header: EventHeader, description: FormatDescription) -> Event:
    """Parse an event that has a statement's text; the others are not needed."""
    return parse_event(body, header, description) if header.type in _TEXTS else UnknownEvent(header.type, b"")


def loaded_blocks(
    file: BinlogFile, start: int, end: int, description: FormatDescription, file_id: int
) -> Iterator[memoryview]:
    """Yield the bytes of a file that a LOAD DATA read, block by block.

    Args:
        start: offset of its BEGIN_LOAD_QUERY, or of the payload around it.
        end: where the transaction ends.
    """
    for raw in raw_events(file, start, end, description, _parse_load):
        event = raw.event
        if isinstance(event, LoadBlock) and event.file_id == file_id:
            yield event.data
        elif isinstance(event, ExecuteLoadQuery) and event.file_id == file_id:
            return


_LOADS = frozenset({EventType.BEGIN_LOAD_QUERY, EventType.APPEND_BLOCK, EventType.EXECUTE_LOAD_QUERY})


def _parse_load(body: memoryview, header: EventHeader, description: FormatDescription) -> Event:
    """Parse an event of a LOAD DATA; the others are not needed."""
    return parse_event(body, header, description) if header.type in _LOADS else UnknownEvent(header.type, b"")


_OF_TRANSACTIONS = re.compile(r"(?:BEGIN|SAVEPOINT|ROLLBACK|RELEASE|XA)\b")


def first_statement(file: BinlogFile, start: int, end: int, description: FormatDescription) -> str:
    """Return the text of the first statement of ``[start, end)``; empty without one.

    Those that servers write about the transaction itself, such as BEGIN, are none.
    """
    texts = statement_texts(file, start, end, description)
    return next((text for text in texts if not _OF_TRANSACTIONS.match(text)), "")


def raw_events(
    file: BinlogFile, start: int, end: int, description: FormatDescription, parse: Parser = parse_event
) -> Iterator[RawEvent]:
    """Yield the same with the events' bytes; a rows event in pieces is yielded whole, in place of the last.

    Args:
        parse: parses events, except payloads and format descriptions.
    """
    window, origin, position = memoryview(b""), start, start
    pieces = RowsPieces()
    try:
        while position < end:
            if not _holds_event(window, position - origin):
                del window
                window, origin = file.events_window(position, end), position
            header = parse_header(window, position, origin=origin)
            if header.end > end or header.size < HEADER_SIZE + description.checksum_size:
                raise DamagedError(
                    f"expected an event in its transaction, which ends at {end}, found {header.size} bytes",
                    offset=position,
                    event=header.name,
                )
            data = window[position - origin : header.end - origin]
            body = data[HEADER_SIZE : header.size - description.checksum_size]
            if header.type == EventType.FORMAT_DESCRIPTION:
                # From the next relay log, in which the transaction continues.
                body = data[HEADER_SIZE:]
                description = parse_format_body(body, header)
                yield RawEvent(header, data, body, None, description)
            elif header.type == EventType.TRANSACTION_PAYLOAD:
                payload = stored_payload(file.source, header, window, origin, description)
                yield RawEvent(header, data, body, None, payload)
                yield from _inner_events(payload, description, parse)
            elif header.type == EventType.MARIADB_PARTIAL_ROW_DATA:
                joined = pieces.take(body, header, description)
                if joined is not None:
                    event = parse(joined.body, joined.header, description)
                    yield RawEvent(joined.header, joined.data, joined.body, None, event)
            else:
                yield RawEvent(header, data, body, None, parse(body, header, description))
            position = header.end
    except BinxError as error:
        raise error.at(path=file.path) from error.__cause__


def _holds_event(window: memoryview, at: int) -> bool:
    """Return whether a window holds all of the event that begins ``at`` bytes into it."""
    if len(window) - at < HEADER_SIZE:
        return False
    return event_size(window[at : at + HEADER_SIZE]) <= len(window) - at


def _inner_events(
    payload: TransactionPayload, description: FormatDescription, parse: Parser
) -> Iterator[RawEvent]:
    offset = 0
    for events in whole_events(payload):
        at = 0
        while at < len(events):
            header = parse_header(events, payload.position, origin=payload.position - at)
            data = events[at : at + header.size]
            body = data[HEADER_SIZE:]
            with errors_at_event(payload.position):
                event = parse(body, header, description)
            yield RawEvent(header, data, body, offset, event)
            at += header.size
            offset += header.size
