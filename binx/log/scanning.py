"""What scans and index files have in common: names, endings and totals."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventType
from binx.kernels.transactions.table import Kind

KIND_NAMES = tuple(kind.name.removeprefix("KIND_").lower() for kind in Kind)
"""Names of transaction kinds, by number."""

HOW_NAMES = ("boundary", "length")
"""How a transaction's end was found: by the state machine, or by the length in its GTID event."""

COMMIT_TIME_SOURCES = ("terminal_event", "gtid_event")
"""Where a commit time comes from: the event that ends the transaction, or its GTID event."""


class Ending(Enum):
    """How a file ends."""

    CLOSED = "closed"
    """ROTATE or STOP is the last event."""
    IN_USE = "in use"
    """The server was writing the file, or crashed; bytes after the last whole transaction are ignored."""
    OPEN = "open"
    """The last transaction is whole, and neither ROTATE nor STOP follows it."""
    DAMAGED = "damaged"
    """The last bytes are damage listed by a salvaging scan."""


ENDINGS = (Ending.CLOSED, Ending.IN_USE, Ending.OPEN)
"""The endings by their numbers in index files."""


class Totals(NamedTuple):
    """Totals of a whole scan, by event type number.

    Attributes:
        events: how many events of each type.
        bytes: their sizes, including headers and checksums.
        inner: events within compressed payloads.
    """

    events: dict[int, int]
    bytes: dict[int, int]
    inner: dict[int, int]

    @property
    def unknown(self) -> dict[int, int]:
        """Number of skipped events of unknown types, which are marked ignorable."""
        numbers = (self.events.keys() | self.inner.keys()) - {number.value for number in EventType}
        return {number: self.events.get(number, 0) + self.inner.get(number, 0) for number in sorted(numbers)}


def decoded_name(name: tuple[bytes, bytes]) -> tuple[str, str]:
    r"""Return database and table as text; bytes that are not UTF-8 become ``\xNN``."""
    db, table = name
    return db.decode("utf-8", "backslashreplace"), table.decode("utf-8", "backslashreplace")


class OnDamage(Enum):
    """What a reader does at damage."""

    STOP = "stop"
    """Raise the error."""
    SALVAGE = "salvage"
    """Continue at the next whole transaction, and list what was skipped."""


class Resumption(NamedTuple):
    """Where a scan of part of a file begins.

    The first events may belong to a transaction of the previous file, or are read by another scan.

    Attributes:
        position: offset of the first event that is read.
        format: the format description in force there.
        stop: where the scan ends: the end of a transaction or a slice; None for the file's end. How the file
            ends is determined only there.
    """

    position: int
    format: FormatDescription
    stop: int | None = None
