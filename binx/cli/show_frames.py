"""Usual transactions event by event, many at a time: for ``show`` where no line is cut or coloured."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from datetime import UTC
from functools import partial

from binx.cli.show_text import ShowText
from binx.event import FormatDescription, parse_event, parse_header
from binx.event.header import HEADER_SIZE, EventType, event_name
from binx.event.mariadb import MariadbGtidFlag
from binx.export.changes import Frame, Selected
from binx.export.event_fields import event_fields
from binx.export.pieces import Piece
from binx.kernels.eventtexts import PLACE_WIDTH
from binx.kernels.heads import whole_transactions
from binx.kernels.shown import ShownTexts
from binx.log.events import RawEvent
from binx.log.file import BinlogFile
from binx.log.identifiers import anonymous_id
from binx.log.scanning import TransactionScan
from binx.log.zones import zone_name, zone_offset
from binx.source.wording import encoded
from binx.stats.text import safe_text

_FRAMED = 4096
"""Transactions that are written at once; what is read of the log at once holds fewer in the end."""

_TYPE = 4
_CONNECTION_SIZE = 8
_MARIADB_FLAGS = HEADER_SIZE + 12
_COMMIT_ID_SIZE = 8


class ShowFrames:
    """What stands around the row changes of transactions.

    Args:
        text: says what events are, and is told of transactions that are written.
    """

    def __init__(self, text: ShowText) -> None:
        self._text = text
        zone = text.zone
        self._texts = ShownTexts(None if zone is UTC else zone_offset(zone), zone_name(zone).encode())
        self._scan: TransactionScan | None = None
        self._format: FormatDescription | None = None

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """As many as come; see :class:`~binx.export.changes.Frames`."""
        table, file = part.table, part.file
        runs, stop = (piece.versions, piece.marks, piece.ends), min(stop, run + _FRAMED)
        count = whole_transactions(table, taken, first, *runs, run, stop, False, 0, True)
        if not count:
            return None
        # One that stands alone is not read with what lies between it and the next.
        while taken[first + count - 1] - taken[first] >= count:
            count //= 2
        if self._scan is not part.scan or self._format is not table.format:
            self._scan, self._format = part.scan, table.format
            self._begin_file(file, table.format)
        start, end = table.value("start", taken[first]), table.value("end", taken[first + count - 1])
        window = file.events_window(start, end)
        count, ends, texts, events = self._texts.render(
            table, taken, first, count, window, start, self._text.begun
        )
        if not count:
            return None
        self._text.begun = True
        return Frame(count, ends, texts, b"", events)

    def _begin_file(self, file: BinlogFile, description: FormatDescription) -> None:
        self._texts.begin_file(
            encoded(safe_text(file.name)),
            description.checksum_size,
            description.post_header_lengths,
            lambda start: anonymous_id(file, start).encode(),
            partial(self._say, description),
        )

    def _say(
        self, description: FormatDescription, event: bytes, position: int, alike: bool
    ) -> tuple[bytes, int]:
        """What an event says; see the kernel."""
        number = event[_TYPE]
        if not alike or number not in _VARYING:
            return self._line(event, position, description), 0
        text = self._line(_VARYING[number](event), position, description)
        text = text.removeprefix(_NAMES[number])
        if number == EventType.QUERY:
            return text, 0
        # What the kernel writes itself stands first: the GTID.
        text = text[_field_end(text, text.index(b"gtid=")) :]
        return text, _field_end(text, 1) if text.startswith(b" flags=") else 0

    def _line(self, event: bytes, position: int, description: FormatDescription) -> bytes:
        data = memoryview(event)
        header = parse_header(data, position, origin=position)
        body = data[HEADER_SIZE : header.size - description.checksum_size]
        raw = RawEvent(header, data, body, None, parse_event(body, header, description))
        lines = self._text.event(raw, event_fields(raw.event, description))
        text = "".join(f"{line}\n" for line in lines)
        return encoded(text[max(len(str(position)), PLACE_WIDTH) :])


def _field_end(text: bytes, start: int) -> int:
    """Where a field of a line ends."""
    return min(place for place in (text.find(b" ", start), text.find(b"\n", start)) if place >= 0)


def _without_session(event: bytes) -> bytes:
    """A QUERY of no connection that took no time."""
    return event[:HEADER_SIZE] + bytes(_CONNECTION_SIZE) + event[HEADER_SIZE + _CONNECTION_SIZE :]


def _without_commit_id(event: bytes) -> bytes:
    """A GTID of MariaDB that says nothing of a group that it was committed in."""
    if not event[_MARIADB_FLAGS] & MariadbGtidFlag.GROUP_COMMIT_ID:
        return event
    return (
        event[: _MARIADB_FLAGS + 1] + bytes(_COMMIT_ID_SIZE) + event[_MARIADB_FLAGS + 1 + _COMMIT_ID_SIZE :]
    )


_VARYING: dict[int, Callable[[bytes], bytes]] = {
    EventType.QUERY: _without_session,
    EventType.MARIADB_GTID: _without_commit_id,
}
"""Events of which the kernel writes what differs from one to the next, and what makes them alike."""

_NAMES = {number: f"  {event_name(number)}".encode() for number in _VARYING}
"""How their text begins."""

__all__ = ["ShowFrames"]
