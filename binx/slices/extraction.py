"""``extract``: write the transactions of a selection to one output.

A binary log only needs the positions of the transactions. Files are read only as far as the search needs, and
a file is skipped if the GTIDs before it and before the next file rule it out. SQL and JSON also need column
names, which DDL before the selected transactions may define: all files up to the last selected transaction
are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import AbsentError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import ChainLog
from binx.log.selection.selection import Selection
from binx.slices.options import OPERATIONS, ExtractOptions, SliceFormat
from binx.slices.search import Search
from binx.storage.output import OutputStream, open_output
from binx.storage.output_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog
    from binx.slices.row_choice import RowChoice


class ExtractReport(NamedTuple):
    """The result of :func:`extract`."""

    transactions: int
    bytes: int
    absent_gtids: GtidSet
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    damage: tuple[str, ...] = ()


def extract(
    chain: Sequence[ChainLog],
    selection: Selection,
    output: str,
    options: ExtractOptions | None = None,
    catalog: Catalog | None = None,
) -> ExtractReport:
    """Write the selected transactions.

    If some of the requested GTIDs are missing, the others are still written; the report names the missing
    ones.

    Raises:
        AbsentError: no transaction is selected; nothing was written.
        RefusedError: the request cannot be written correctly; nothing was written.
        DamagedError, UnsupportedError: a required part of a file cannot be read.
        OutputError: the output cannot be written.
    """
    return Extraction(chain, selection, options or ExtractOptions(), catalog).write(output)


class Extraction:
    """An extraction, with what its writers share: the search, the choice of rows, and what they report.

    Attributes:
        undone: whether the output undoes the transactions.
    """

    undone = False

    def __init__(
        self,
        chain: Sequence[ChainLog],
        selection: Selection,
        options: ExtractOptions,
        catalog: Catalog | None,
    ) -> None:
        from binx.slices.renaming import DatabaseNames

        self.chain = chain
        self.selection = selection
        self.options = options
        self.catalog = catalog
        self.search = self.new_search()
        self.choice = self.new_choice()
        self.databases = DatabaseNames(options.databases)
        self.written: int | None = None
        self.warnings: list[str] = []
        self.unknown: Sequence[str] = ()

    def write(self, output: str) -> ExtractReport:
        """Write the output; see :func:`extract`."""
        self._check_output(output)
        write, options = self.writer(), self.options
        try:
            with open_output(output, binary=options.format is SliceFormat.BINLOG, plain=True) as stream:
                write(stream)
                self.search.check_columns()
                if not self.search.taken:
                    raise AbsentError("none of the requested transactions found")
        except AbsentError as error:
            if self.search.taken:
                raise
            raise AbsentError("; ".join(self._why_nothing(error))) from None
        search = self.search
        if self.choice is not None:
            self.warnings += self.choice.warnings
        return ExtractReport(
            transactions=search.taken if self.written is None else self.written,
            bytes=stream.bytes_written,
            absent_gtids=search.selector.missing(),
            notes=(*search.selector.notes, *([] if options.format is SliceFormat.JSON else stream.notes)),
            warnings=(*search.warnings, *self.warnings, *self.databases.warnings),
            damage=(*search.damage, *self.unknown),
        )

    def _check_output(self, output: str) -> None:
        """Refuse to overwrite an input log with a slice of it, and other files if not wanted."""
        if output == STANDARD_OUTPUT or not os.path.isfile(output):
            return
        for ends in self.chain:
            if os.path.exists(ends.file.path) and os.path.samefile(output, ends.file.path):
                raise RefusedError(
                    "is one of the input logs and would be overwritten; choose another output",
                    path=output,
                )
        if os.path.getsize(output) and not self.options.overwrites:
            raise RefusedError("exists; overwrite it with --force, or choose another output", path=output)

    def _why_nothing(self, error: AbsentError) -> Iterator[str]:
        """Explain why nothing was selected, preferably by a condition that no table can match."""
        try:
            self.search.check_columns()
            yield str(error)
        except AbsentError as lacking:
            yield str(lacking)
        if self.search.selector.names is not None:
            yield from self.search.selector.names.sentences("these files")
        missing = self.search.selector.missing()
        if missing:
            yield f"not in these files: {missing}"
        yield from self.search.warnings
        yield from self.search.damage

    def new_search(self, *, tells: bool = True) -> Search:
        """Return a search for the selected transactions; ``tells`` if none reports the files yet."""
        options = self.options
        search = Search(
            self.chain,
            self.selection,
            verify=options.verify,
            where=options.where,
            tables=self.catalog,
            on_damage=options.on_damage,
            tells=tells,
        )
        if options.where is not None or options.format is not SliceFormat.BINLOG:
            search.leave_out_undecodable(self.known_tables(), intact=options.format is SliceFormat.JSON)
        return search

    def new_choice(self) -> RowChoice | None:
        """Return which rows of the transactions are written; None for all."""
        options = self.options
        excluded = self.selection.exclude_tables
        only_rows = options.only_matching or options.operations is not None
        if not only_rows and not excluded:
            return None
        from binx.log.selection.table_filter import TableFilter
        from binx.slices.row_choice import RowChoice

        selection = self.selection if options.only_matching else Selection()
        return RowChoice(
            TableFilter(selection.databases, selection.tables, excluded),
            options.operations or frozenset(OPERATIONS),
            options.where if options.only_matching else None,
            TableFilter((), excluded) if excluded else None,
            only_rows=only_rows,
            undone=self.undone,
        )

    def known_tables(self) -> Catalog:
        """Return a copy of the tables known before the first log."""
        from binx.rows.ddl.catalog import Catalog

        return Catalog() if self.catalog is None else self.catalog.copy()

    def writer(self) -> Callable[[OutputStream], None]:
        """Return the format's writer."""
        match self.options.format:
            case SliceFormat.BINLOG:
                return self._write_binlog
            case SliceFormat.SQL:
                return self._write_sql
            case SliceFormat.JSON:
                return self._write_json
            case SliceFormat.THL:
                return self._write_thl

    def _write_binlog(self, stream: OutputStream) -> None:
        from binx.slices.binlog import write_binlog

        runs, options = self.search.runs(), self.options
        write_binlog(runs, stream, verbatim=options.verbatim, verify=options.verify, databases=self.databases)

    def _write_sql(self, stream: OutputStream) -> None:
        from binx.slices.rendering import STATEMENT_BYTES
        from binx.slices.sql.load_files import LoadFiles
        from binx.slices.sql.write import check_sql, write_sql

        folder, choice = self.options.local_load, self.new_choice()
        files = None if folder is None else LoadFiles(folder)
        checked = check_sql(self.search.selected(), self.known_tables(), choice, loads=folder is not None)
        self.search = self.new_search(tells=False)
        with files or nullcontext():
            report = write_sql(
                self.search.selected(),
                stream,
                self.known_tables(),
                self.options.statement_bytes or STATEMENT_BYTES,
                self.choice,
                self.databases,
                files,
            )
        self.written = report.transactions
        self.unknown = report.unknown
        self.warnings = [*checked, *report.warnings]

    def _write_json(self, stream: OutputStream) -> None:
        from binx.slices.json_lines import write_json

        self.warnings = write_json(
            self.search.selected(),
            stream,
            self.known_tables(),
            rows=self.options.rows,
            choice=self.choice,
        )

    def _write_thl(self, stream: OutputStream) -> None:
        from binx.slices.thl import FRAGMENT_BYTES, write_thl

        fragment_bytes = self.options.fragment_bytes or FRAGMENT_BYTES
        selected = self.search.selected()
        self.warnings = write_thl(selected, stream, self.known_tables(), fragment_bytes=fragment_bytes)
