"""The events of one transaction, those within compressed payloads included.

For looking closely at few transactions; loops over all of them are in :mod:`binx.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator

from binx.errors import BinxError, DamagedError
from binx.event import Event, TransactionPayload, open_payload, parse_event, parse_header
from binx.event.header import HEADER_SIZE, EventHeader
from binx.log.file import BinlogFile


def transaction_events(file: BinlogFile, start: int, end: int) -> Iterator[tuple[EventHeader, Event]]:
    """Read the events of ``[start, end)``.

    A payload comes first as itself and then as what it holds; the headers of its inner events have the position of
    the payload. What an event refers to in the file is valid until the next one is asked for.

    Args:
        file: the log.
        start: offset of the transaction's first event.
        end: offset behind its last one.

    Raises:
        DamagedError, UnsupportedError: an event cannot be read.
    """
    window = file.source.window(start, end)
    checksum_size = file.format.checksum_size
    position = start
    try:
        while position < end:
            header = parse_header(window, position, origin=start)
            if header.end > end or header.size < HEADER_SIZE + checksum_size:
                raise DamagedError(
                    f"expected an event within the transaction, which ends at {end}, found {header.size} bytes",
                    offset=position,
                    event=header.name,
                )
            at = position - start
            body = window[at + HEADER_SIZE : at + header.size - checksum_size]
            event = parse_event(body, header, file.format)
            yield header, event
            if isinstance(event, TransactionPayload):
                yield from _inner_events(file, event)
            position = header.end
    except BinxError as error:
        raise error.at(path=file.path) from error.__cause__


def _inner_events(file: BinlogFile, payload: TransactionPayload) -> Iterator[tuple[EventHeader, Event]]:
    pending = bytearray()
    for chunk in open_payload(payload):
        pending += chunk
        at = 0
        while len(pending) - at >= HEADER_SIZE:
            header = parse_header(pending, payload.position, origin=payload.position - at)
            if header.size > len(pending) - at:
                break
            with memoryview(pending) as view, view[at + HEADER_SIZE : at + header.size] as part:
                body = memoryview(bytes(part))
            yield header, parse_event(body, header, file.format)
            at += header.size
        del pending[:at]
    if pending:
        raise DamagedError(
            f"expected whole events in the compressed payload, found {len(pending)} bytes behind the last one",
            offset=payload.position,
            event="TRANSACTION_PAYLOAD",
        )


__all__ = ["transaction_events"]
