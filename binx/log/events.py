"""The events of one transaction, those within compressed payloads included.

For looking closely at few transactions; loops over all of them are in :mod:`binx.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator

from binx.errors import BinxError, DamagedError
from binx.event import (
    Event,
    FormatDescription,
    TransactionPayload,
    open_payload,
    parse_event,
    parse_header,
)
from binx.event.header import HEADER_SIZE, EventHeader
from binx.log.file import BinlogFile


def transaction_events(
    file: BinlogFile, start: int, end: int, description: FormatDescription
) -> Iterator[tuple[EventHeader, Event]]:
    """Read the events of ``[start, end)``.

    A payload comes first as itself and then as what it holds; the headers of its inner events have the
    position of the payload.

    Args:
        file: the log.
        start: offset of the transaction's first event.
        end: offset behind its last one.
        description: the format description that rules them, as its ``TransactionTable.format`` says.

    Raises:
        DamagedError, UnsupportedError: an event cannot be read.
    """
    window = file.source.window(start, end)
    position = start
    try:
        while position < end:
            header = parse_header(window, position, origin=start)
            if header.end > end or header.size < HEADER_SIZE + description.checksum_size:
                raise DamagedError(
                    f"expected an event in its transaction, which ends at {end}, found {header.size} bytes",
                    offset=position,
                    event=header.name,
                )
            at = position - start
            body = window[at + HEADER_SIZE : at + header.size - description.checksum_size]
            event = parse_event(body, header, description)
            yield header, event
            if isinstance(event, TransactionPayload):
                yield from _inner_events(event, description)
            position = header.end
    except BinxError as error:
        raise error.at(path=file.path) from error.__cause__


def _inner_events(
    payload: TransactionPayload, description: FormatDescription
) -> Iterator[tuple[EventHeader, Event]]:
    pending = b""
    for chunk in open_payload(payload):
        pending += chunk
        at = 0
        while len(pending) - at >= HEADER_SIZE:
            header = parse_header(pending, payload.position, origin=payload.position - at)
            if header.size > len(pending) - at:
                break
            body = memoryview(pending)[at + HEADER_SIZE : at + header.size]
            yield header, parse_event(body, header, description)
            at += header.size
        pending = pending[at:]
    if pending:
        raise DamagedError(
            f"expected whole events in the compressed payload, found {len(pending)} bytes behind the last",
            offset=payload.position,
            event="TRANSACTION_PAYLOAD",
        )


__all__ = ["transaction_events"]
