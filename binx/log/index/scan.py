"""The transactions of a log out of its index file, given as a scan of the log gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.rows.layouts import unknown_column
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.scanning import ENDINGS, Ending, Totals, decoded_name

if TYPE_CHECKING:
    from binx.log.file import BinlogFile
    from binx.log.index.file import IndexFile


class IndexScan:
    """What a scan at ``LEVEL_TABLES`` has found, out of an index file that is true of the log.

    Args:
        file: the log.
        index: its index file.

    Attributes:
        file: the log.
        level: ``LEVEL_TABLES``, which is what index files hold.
        ending: how the log ends.
        unfinished: bytes behind the last whole transaction.
        position: how far the iteration has come in the log.
        left_out: none: transactions that a scan for GTIDs passed over.
    """

    def __init__(self, file: BinlogFile, index: IndexFile) -> None:
        self.file = file
        self.level = Level.LEVEL_TABLES
        self.position = file.first_position
        self.left_out = 0
        self._index = index
        self._facts = index.facts
        self.ending: Ending | None = ENDINGS[self._facts.ending]
        self.unfinished = self._facts.size - self._facts.covered

    @property
    def accounted(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""
        return self._facts.covered

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""
        return list(self._facts.controls)

    def totals(self) -> Totals:
        """Events and bytes by type, of the whole log."""
        totals = self._facts.totals
        return Totals(
            {number: events for number, events, _, _ in totals if events},
            {number: size for number, events, size, _ in totals if events},
            {number: inner for number, _, _, inner in totals if inner},
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Database and table of a table number that the tables' counts speak of."""
        return decoded_name(self._facts.tables[number])

    @property
    def table_count(self) -> int:
        """How many tables the log changes."""
        return len(self._facts.tables)

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """As :class:`~binx.log.scanning.TransactionScan` says."""
        maps = self._facts.maps
        numbers = dict.fromkeys(number for number, body in maps if number >= 0 and _has_unknown(body))
        return [self.table_name(number) for number in numbers]

    @property
    def map_count(self) -> int | None:
        """Not known: an index file tells the maps of the whole log at once."""
        return None

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map of the log: its table's number, its bytes behind table id and flags."""
        return iter(self._facts.maps)

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the log's order.

        Raises:
            DamagedError: the index file was changed by someone who knows its checksums.
        """
        for table in self._index.tables():
            self._reach(table.value("end", len(table) - 1))
            yield table
        self._reach(self.file.size)

    def _reach(self, position: int) -> None:
        """Tell whoever watches the log's source how far the work has come."""
        self.file.source.release(self.position, position)
        self.position = position


def _has_unknown(body: bytes) -> bool:
    """Whether a column of a table map has a type that binx does not know."""
    try:
        return unknown_column(body) is not None
    except (DamagedError, UnsupportedError):
        return False  # Its rows could be counted.


__all__ = ["IndexScan"]
