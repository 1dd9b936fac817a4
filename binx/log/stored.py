"""The transactions of a log out of its index file, given as a scan of the log gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING

from binx.errors import DamagedError, UnsupportedError
from binx.kernels.layouts import unknown_column
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import ENDINGS, Ending, Totals, decoded_name

if TYPE_CHECKING:
    from binx.log.sidecar import Sidecar
    from binx.log.sidecar_layout import Block


class StoredScan:
    """What a scan at ``LEVEL_TABLES`` has found, out of an index file that is true of the log.

    Attributes:
        file: the log.
        level: ``LEVEL_TABLES``, which is what index files hold.
        ending: how the log ends.
        unfinished: bytes behind the last whole transaction.
        position: how far the iteration has come in the log.
        left_out: transactions of blocks that were passed over so far.
    """

    def __init__(
        self,
        file: BinlogFile,
        sidecar: Sidecar,
        wanted: Set[int],
        still: Callable[[Sidecar, Block], bool] | None = None,
    ) -> None:
        """Begin a reading.

        Args:
            file: the log.
            sidecar: its index file.
            wanted: the numbers of the blocks to read.
            still: asked of each of these when its turn comes, by what was learnt from those before.
        """
        self.file = file
        self.level = Level.LEVEL_TABLES
        self.position = file.first_position
        self._log = sidecar.directory.log
        self._directory = sidecar.directory
        self._sidecar = sidecar
        self._wanted = wanted
        self._still = still
        self.left_out = 0
        self.ending: Ending | None = ENDINGS[self._log.ending]
        self.unfinished = self._log.size - self._log.covered

    @property
    def accounted(self) -> int:
        """Offset behind the last whole transaction, or the last event between transactions."""
        return self._log.covered

    @property
    def control_events(self) -> list[tuple[int, int, int]]:
        """Type, position and size of the events about the file itself; not FORMAT_DESCRIPTION."""
        return list(self._directory.controls)

    def totals(self) -> Totals:
        """Events and bytes by type, of the whole log."""
        totals = self._directory.totals
        return Totals(
            {number: events for number, events, _, _ in totals if events},
            {number: size for number, events, size, _ in totals if events},
            {number: inner for number, _, _, inner in totals if inner},
        )

    def table_name(self, number: int) -> tuple[str, str]:
        """Database and table of a table number that the tables' counts speak of."""
        return decoded_name(self._directory.tables[number])

    @property
    def table_count(self) -> int:
        """How many tables the log changes."""
        return len(self._directory.tables)

    def uncounted_tables(self) -> list[tuple[str, str]]:
        """As :class:`~binx.log.scanning.TransactionScan` says."""
        maps = self._directory.maps
        numbers = dict.fromkeys(number for number, body in maps if number >= 0 and _has_unknown(body))
        return [self.table_name(number) for number in numbers]

    @property
    def map_count(self) -> int | None:
        """Not known: an index file tells the maps of the whole log at once."""
        return None

    def table_maps(self) -> Iterator[tuple[int, bytes]]:
        """Each distinct table map of the log: its table's number, its bytes behind table id and flags."""
        return iter(self._directory.maps)

    def __iter__(self) -> Iterator[TransactionTable]:
        """Yield tables of transactions, in the log's order.

        Raises:
            DamagedError: the index file was changed by someone who knows its checksums.
        """
        for number, block in enumerate(self._directory.blocks):
            if number not in self._wanted or not (self._still is None or self._still(self._sidecar, block)):
                self.left_out += block.records
                continue
            table = self._sidecar.table(block)
            self._reach(block.end)
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


__all__ = ["StoredScan"]
