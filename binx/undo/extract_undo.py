"""``extract --reverse``: write what undoes the transactions of a selection, newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.log.chain.chain import ChainLog
from binx.log.selection.selection import Selection
from binx.rows.reading import every_table
from binx.slices.extraction import Extraction, ExtractReport
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.rendering import STATEMENT_BYTES
from binx.slices.search import Search, Selected
from binx.storage.output import OutputStream
from binx.undo.arrived_rows import refuse_arrived_rows
from binx.undo.names_today import NamesToday
from binx.undo.obstacles import Obstacles
from binx.undo.options import OnConflict
from binx.undo.passes import lost_rows, without_rolled_back
from binx.undo.reversed_log import parts_of, write_reversed
from binx.undo.script import write_undo

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog


def extract_undo(
    chain: Sequence[ChainLog],
    selection: Selection,
    output: str,
    options: ExtractOptions | None = None,
    catalog: Catalog | None = None,
    *,
    on_conflict: OnConflict = OnConflict.STOP,
) -> ExtractReport:
    """Write what undoes the selected transactions: a binary log, or SQL that checks itself.

    Raises:
        AbsentError: no transaction is selected, or none with row changes; nothing was written.
        RefusedError: something cannot be undone; the message lists everything, and nothing was written.
        DamagedError, UnsupportedError: a required part of a file cannot be read.
        OutputError: the output or the temporary folder cannot be written.
    """
    return _Undo(chain, selection, options or ExtractOptions(), catalog, on_conflict).write(output)


class _Undo(Extraction):
    undone = True

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        options: ExtractOptions,
        catalog: Catalog | None,
        on_conflict: OnConflict,
    ) -> None:
        self._on_conflict = on_conflict
        super().__init__(chain, selection, options, catalog)

    def writer(self) -> Callable[[OutputStream], None]:
        return self._write_script if self.options.format is SliceFormat.SQL else self._write_log

    def _write_log(self, stream: OutputStream) -> None:
        today = NamesToday([log.file for log in self.chain], self.known_tables())

        def refuse_deletes(obstacles: Obstacles) -> None:
            every = without_rolled_back(self._every_transaction)
            selected = self.new_search(tells=False).selected
            refuse_arrived_rows(selected, every, self.known_tables(), today, obstacles)

        parts = parts_of(self.search, self.known_tables(), today)
        logs = [log.file.path for log in self.chain]
        takes_table = every_table if self.choice is None else self.choice.takes_table
        report = write_reversed(parts, stream, self.databases, refuse_deletes, takes_table, logs, today)
        self.warnings = [*report.warnings, *_without_changes(report.nothing)]
        self.unknown = report.lost
        if report.unlogged:
            selected = self.new_search(tells=False).selected()
            self.unknown += lost_rows(selected, self.known_tables(), today)

    def _write_script(self, stream: OutputStream) -> None:
        report = write_undo(
            self.search.selected(),
            stream,
            self.known_tables(),
            on_conflict=self._on_conflict,
            statement_bytes=self.options.statement_bytes or STATEMENT_BYTES,
            every=self._every_transaction,
            logs=[log.file for log in self.chain],
            on_damage=self.options.on_damage,
            choice=self.choice,
            databases=self.databases,
        )
        self.unknown = report.unknown
        self.warnings = [*report.warnings, *_without_changes(report.nothing)]

    def _every_transaction(self) -> Iterator[Selected]:
        options = self.options
        search = Search(
            self.chain, Selection(), verify=options.verify, on_damage=options.on_damage, tells=False
        )
        search.leave_out_undecodable(self.known_tables())
        return search.selected(rolled_back=False)


def _without_changes(count: int) -> list[str]:
    return [f"transactions without row changes (nothing to undo): {count:,}"] if count else []
