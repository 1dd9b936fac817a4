"""What a pass over a log's transactions gives, wherever it takes them from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from binx.event.header import EventType
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.kernels.walk.scan import Level

if TYPE_CHECKING:
    from binx.log.file import BinlogFile


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


class TransactionScan(Protocol):
    """What gives a file's transactions: a :class:`~binx.log.scan.Scan` over it, or its index file.

    Attributes:
        ending: how the file ends; known when the iteration is over.
        unfinished: bytes behind the last whole transaction of a file in use.
        left_out: transactions that were passed over so far.
    """

    ending: Ending | None
    unfinished: int
    left_out: int

    @property
    def file(self) -> BinlogFile:
        """The file."""

    @property
    def level(self) -> Level:
        """How much is known of the transactions."""

    @property
    def position(self) -> int:
        """How far in the file it has come."""

    @property
    def accounted(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""

    def totals(self) -> Totals:
        """Events and bytes by type."""

    def table_name(self, number: int) -> tuple[str, str]:
        """Database and table of a table number that the tables' counts speak of."""

    @property
    def table_count(self) -> int:
        """How many tables are known."""

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """Database and name of tables whose rows are not counted: a column's type is not known."""

    @property
    def map_count(self) -> int | None:
        """How many distinct table maps the transactions so far have; None where that is not known."""

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map: its table's number, its bytes behind table id and flags."""

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the file's order."""


def decoded_name(name: tuple[bytes, bytes]) -> tuple[str, str]:
    r"""Database and table, as logged, as text; what of them is not UTF-8 becomes ``\xNN``."""
    db, table = name
    return db.decode("utf-8", "backslashreplace"), table.decode("utf-8", "backslashreplace")


__all__ = [
    "COMMIT_TIME_SOURCES",
    "ENDINGS",
    "HOW_NAMES",
    "KIND_NAMES",
    "Ending",
    "Totals",
    "TransactionScan",
    "decoded_name",
]
