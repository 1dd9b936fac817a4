"""What passes over logs and their index files have in common: words, endings, totals."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from binx.event.header import EventType
from binx.kernels.transactions.table import Kind

if TYPE_CHECKING:
    from binx.log.index.file import IndexFile
    from binx.log.scan import Scan

TransactionScan: TypeAlias = "Scan | IndexFile"
"""What gives a file's transactions: a pass over it, or its index file."""

KIND_NAMES = tuple(kind.name.removeprefix("KIND_").lower() for kind in Kind)
"""What a transaction's kind is called, by its number."""

HOW_NAMES = ("boundary", "length")
"""What told a transaction's end: the state machine, or the length in its GTID event."""

COMMIT_TIME_SOURCES = ("terminal_event", "gtid_event")
"""Where a commit time comes from: the event that ended the transaction, or its GTID event."""


class Ending(Enum):
    """How a file's last bytes were met."""

    CLOSED = "closed"
    """ROTATE or STOP is the last event."""
    IN_USE = "in use"
    """The server was writing the file, or died; what follows the last whole transaction is left alone."""
    OPEN = "open"
    """The last transaction is whole, and neither ROTATE nor STOP follows it."""
    DAMAGED = "damaged"
    """The last bytes are damage that a salvaging scan has listed."""


ENDINGS = (Ending.CLOSED, Ending.IN_USE, Ending.OPEN)
"""The endings by the numbers that index files give them."""


class Totals(NamedTuple):
    """What a whole scan has seen, by event type number.

    Attributes:
        events: how many events of each type.
        bytes: their sizes, headers and checksums included.
        inner: events within compressed payloads.
    """

    events: dict[int, int]
    bytes: dict[int, int]
    inner: dict[int, int]

    @property
    def unknown(self) -> dict[int, int]:
        """How many events of types that binx does not know were passed over, as they are marked ignorable."""
        numbers = (self.events.keys() | self.inner.keys()) - {number.value for number in EventType}
        return {number: self.events.get(number, 0) + self.inner.get(number, 0) for number in sorted(numbers)}


def decoded_name(name: tuple[bytes, bytes]) -> tuple[str, str]:
    r"""Database and table, as logged, as text; what of them is not UTF-8 becomes ``\xNN``."""
    db, table = name
    return db.decode("utf-8", "backslashreplace"), table.decode("utf-8", "backslashreplace")


class OnDamage(Enum):
    """What a reader does where a file is damaged."""

    STOP = "stop"
    """It raises the error."""
    SALVAGE = "salvage"
    """It reads on at the next transaction that is whole, and lists what it passed over."""
