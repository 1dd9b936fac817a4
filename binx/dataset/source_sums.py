"""What became of a log's row changes: the sums of its manifest, and the sentences that tell of losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from binx.dataset.source_report import SourceReport
from binx.log.file import BinlogFile
from binx.rows.marks import LOST, TAKE, WITHOUT_ROWS
from binx.rows.statements import Statement

_INSERT, _UPDATE, _DELETE = range(3)

_ROLLED_BACK_ALONE_SINCE = (5, 5, 2)
"""Since then (WL#2687; MariaDB 5.5) changes of tables without transactions are logged by themselves."""


class Counted(NamedTuple):
    """Row changes of a table that the scan counted in transactions with the same mark."""

    name: tuple[str, str]
    mark: int
    inserts: int
    updates: int
    deletes: int


class SourceSums:
    """Counts what becomes of a log's row changes."""

    def __init__(
        self, file: BinlogFile, takes_table: Callable[[str, str], bool], report: SourceReport
    ) -> None:
        self._report = report
        self._takes_table = takes_table
        self._logs_undone_changes = file.format.version < _ROLLED_BACK_ALONE_SINCE

    def take_counted(self, counts: Iterable[Counted]) -> None:
        """Take in what the scan counted."""
        report = self._report
        for name, mark, inserts, updates, deletes in counts:
            sums = report.sums.of(name)
            images = inserts + 2 * updates + deletes
            sums.images += images
            if mark == LOST and self._takes_table(*name):
                sums.undecodable += images
            elif mark != TAKE:
                sums.filtered += images
                if mark == WITHOUT_ROWS and self._logs_undone_changes:
                    report.doubtful[name] += inserts + updates + deletes
            elif self._takes_table(*name):
                changes = report.sums.changes.setdefault(name, [0, 0, 0])
                changes[_INSERT] += inserts
                changes[_UPDATE] += updates
                changes[_DELETE] += deletes

    def filter_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Count inserts, updates and deletes of a table as filtered that counted as taken before."""
        inserts, updates, deletes = counts
        self._report.sums.of(name).filtered += inserts + 2 * updates + deletes
        taken = self._report.sums.changes[name]
        for place, count in enumerate(counts):
            taken[place] -= count

    def take_statement(self, statement: Statement) -> None:
        """Tell of what a statement read that is not in the data set."""
        if statement.file_bytes:
            self._report.losses.append(
                f"{statement.transaction}: the {statement.file_bytes} bytes read by LOAD DATA are in"
                " the binary log, but not in this data set"
            )
