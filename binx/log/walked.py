"""What a walk over a file's events has met: events by type, tables and their maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binx.event.format import MAGIC_SIZE
from binx.event.header import EventType
from binx.kernels.walk.scan import Scanner
from binx.log.scanning import Totals, decoded_name

if TYPE_CHECKING:
    from binx.log.file import BinlogFile


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

    @property
    def map_count(self) -> int | None:
        """How many distinct table maps there are."""
        return self._scanner.maps.count

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


__all__ = ["Walked"]
