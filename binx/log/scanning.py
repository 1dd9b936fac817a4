"""What a pass over a log's transactions gives, wherever it takes them from, and what a walk has met."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from binx.event.format import MAGIC_SIZE
from binx.event.header import EventType
from binx.kernels.transactions.table import Kind, TransactionTable
from binx.kernels.walk.scan import Level, Scanner

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
    """

    ending: Ending | None
    unfinished: int

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

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map: its table's number, its bytes behind table id and flags."""

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the file's order."""


def decoded_name(name: tuple[bytes, bytes]) -> tuple[str, str]:
    r"""Database and table, as logged, as text; what of them is not UTF-8 becomes ``\xNN``."""
    db, table = name
    return db.decode("utf-8", "backslashreplace"), table.decode("utf-8", "backslashreplace")


class Walked:
    """What can be asked of a scan while it goes on; all of it is of what was walked so far.

    Args:
        file: the file.
        scanner: the walk over it.

    Attributes:
        file: the file.
    """

    def __init__(self, file: BinlogFile, scanner: Scanner) -> None:
        self.file = file
        self._scanner = scanner
        self._names: list[tuple[str, str]] = []

    @property
    def scanner(self) -> Scanner:
        """The walk, which knows how headers' positions were and whether there were GTIDs."""
        return self._scanner

    @property
    def position(self) -> int:
        """Offset of the next event: how far the scan has come."""
        return self._scanner.position

    @property
    def accounted(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""
        begun: int | None = self._scanner.open_transaction
        return self._scanner.position if begun is None else begun

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""
        return self._scanner.control_events

    def totals(self) -> Totals:
        """Events and bytes by type; at ``LEVEL_INDEX`` only a part of the events is met."""
        by_type = self._scanner.type_totals()
        first_size = self.file.first_position - MAGIC_SIZE
        fde = int(EventType.FORMAT_DESCRIPTION)
        events, size = by_type.get(fde, (0, 0))
        by_type[fde] = (events + 1, size + first_size)
        return Totals(
            {number: count for number, (count, _) in by_type.items()},
            {number: size for number, (_, size) in by_type.items()},
            self._scanner.inner_type_totals(),
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Database and table of a table number that the tables' counts speak of."""
        names, maps = self._names, self._scanner.maps
        while len(names) <= number:
            names.append(decoded_name(maps.name(len(names))))
        return names[number]

    def table_keys(self) -> tuple[tuple[bytes, bytes], ...]:
        """Database and table of every table number, as logged."""
        maps = self._scanner.maps
        return tuple(maps.name(number) for number in range(maps.tables))

    @property
    def table_count(self) -> int:
        """How many tables there are."""
        return self._scanner.maps.tables

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map: its table's number, its bytes behind table id and flags."""
        maps = self._scanner.maps
        for number in range(maps.count):
            yield maps.table_of(number), maps.body(number)

    def uncounted(self) -> dict[tuple[str, str], int]:
        """How many rows events are not counted, by (db, table): a column's type is not known."""
        counts = ((number, self._scanner.uncounted_events(number)) for number in range(self.table_count))
        return {self.table_name(number): count for number, count in counts if count}

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """As :class:`~binx.log.scanning.TransactionScan` says."""
        return list(self.uncounted())


class OnDamage(Enum):
    """What a reader does where a file is damaged."""

    STOP = "stop"
    """It raises the error."""
    SALVAGE = "salvage"
    """It reads on at the next transaction that is whole, and lists what it passed over."""
