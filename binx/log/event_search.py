"""The search for an event among bytes that are damaged.

What looks like an event must prove it. An event *in its place* has the drift (see
:mod:`binx.kernels.walk.headers`) of the events before the damage. Together with the checksum this cannot
happen by chance, nor with the events of another log that some row holds. Where events have no checksums,
three more of the same drift must follow.

An event that was *moved*, as bytes before it were cut out or put in, is believed only if it may begin a
transaction and the headers from it on lead exactly to the file's end.

Time is linear in the file's size, whatever the bytes: looks and proofs are drawn from a budget.
"""

from __future__ import annotations

from binx.event.header import HEADER_SIZE, parse_header
from binx.kernels.crc32 import checksum
from binx.kernels.walk.headers import find_header, follow_headers
from binx.source import READ_BYTES, Source

_WITNESSES = 3
_BUDGET_FACTOR = 32
_BUDGET_FLOOR = 1 << 24
_LOOK_COST = 4096
"""What a look elsewhere in the file costs, in bytes that are read one behind the other."""
_SIZE_BITS = 0xFFFFFFFF


class EventSearch:
    """A search through one file, resumable anywhere.

    Args:
        source: the file's bytes.

    Attributes:
        budget: bytes that may still be looked at.
    """

    def __init__(self, source: Source) -> None:
        self.budget = _BUDGET_FACTOR * source.size + _BUDGET_FLOOR
        self._source = source

    def find(self, position: int, drift: int, checksum_size: int) -> int | None:
        """The offset of the first event at or behind a position; None where there is none, or no budget.

        Args:
            position: where to begin.
            drift: of the events before the damage.
            checksum_size: bytes of the checksum that each event ends in: 4 or 0.

        Raises:
            SourceError: the file cannot be read.
        """
        for expected in dict.fromkeys((drift, 0)):
            found = self._find(position, checksum_size, expected, moved=False)
            if found is not None:
                return found
        return self._find(position, checksum_size, 0, moved=True)

    def _find(self, position: int, checksum_size: int, drift: int, *, moved: bool) -> int | None:
        source, size = self._source, self._source.size
        while position + HEADER_SIZE <= size:
            origin = position
            window = source.window(origin, min(origin + READ_BYTES, size))
            while self.budget > 0:
                found = find_header(window, origin, position, size, checksum_size, drift, moved)
                if found < 0:
                    break
                if self._is_proved(window, origin, found, checksum_size, moved=moved):
                    return found
                position = found + 1
            position = origin + len(window) - HEADER_SIZE + 1
            self.budget -= len(window)
            if self.budget <= 0:
                return None
        return None

    def _is_proved(
        self, window: memoryview, origin: int, position: int, checksum_size: int, *, moved: bool
    ) -> bool:
        header = parse_header(window, position, origin=origin)
        drift = (header.next_position - header.end) & _SIZE_BITS
        if checksum_size and not self.is_whole(position, header.size, checksum_size):
            return False
        if moved or not checksum_size:
            return self._leads_on(
                header.end, drift, checksum_size, self._source.size if moved else _WITNESSES
            )
        return True

    def is_whole(self, position: int, size: int, checksum_size: int) -> bool:
        """Whether an event's bytes are those that its checksum was made of; they are read piece by piece."""
        at, end, found = position, position + size - checksum_size, 0
        self.budget -= size + _LOOK_COST
        while at < end:
            if self.budget <= 0:
                return False
            piece = self._source.window(at, min(at + READ_BYTES, end))
            found = checksum(piece, found)
            at += len(piece)
        stored = self._source.window(end, end + checksum_size)
        return found == int.from_bytes(stored, "little")

    def _leads_on(self, position: int, drift: int, checksum_size: int, events: int) -> bool:
        """Whether so many more events of one drift follow, or fewer and then the file's end."""
        source, size = self._source, self._source.size
        while events > 0 and position < size and self.budget > 0:
            window = source.window(position, min(position + READ_BYTES, size))
            self.budget -= len(window) + _LOOK_COST
            position, events = follow_headers(window, position, position, size, checksum_size, drift, events)
        return events == 0 or (events > 0 and position == size)
