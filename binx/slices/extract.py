"""``extract``: write the transactions of a selection to one output.

A binary log only needs the positions of the transactions. Files are read only as far as the search needs, and
a file is skipped if the GTIDs before it and before the next file rule it out. SQL and JSON also need column
names, which DDL before the selected transactions may define: all files up to the last selected transaction
are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import AbsentError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.ends import FileEnds
from binx.log.selection.selection import Selection
from binx.slices.options import OPERATIONS, ExtractOptions, SliceFormat
from binx.slices.search import Search, Selected
from binx.storage.output import STANDARD_OUTPUT, OutputStream, open_output

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog
    from binx.rows.decoder import ChangeDecoder
    from binx.slices.row_choice import RowChoice


class ExtractReport(NamedTuple):
    """The result of :func:`extract`."""

    transactions: int
    bytes: int
    missing: GtidSet
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    damage: tuple[str, ...] = ()


def extract(
    chain: Sequence[FileEnds],
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
    return _Extraction(chain, selection, options or ExtractOptions(), catalog).write(output)


class _Extraction:
    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        options: ExtractOptions,
        catalog: Catalog | None,
    ) -> None:
        from binx.slices.renaming import DatabaseNames

        self._chain = chain
        self._selection = selection
        self._options = options
        self._catalog = catalog
        self._search = self._new_search()
        self._choice = self._new_choice()
        self._databases = DatabaseNames(options.databases)
        self._written: int | None = None
        self._warnings: list[str] = []
        self._unknown: Sequence[str] = ()

    def write(self, output: str) -> ExtractReport:
        self._refuse_own_log(output)
        write, options = self._writer(), self._options
        try:
            with open_output(output, binary=options.format is SliceFormat.BINLOG, plain=True) as stream:
                write(stream)
                self._search.check_columns()
                if not self._search.taken:
                    raise AbsentError("none of the requested transactions found")
        except AbsentError as error:
            if self._search.taken:
                raise
            raise AbsentError("; ".join(self._why_nothing(error))) from None
        search = self._search
        if self._choice is not None:
            self._warnings += self._choice.warnings
        return ExtractReport(
            transactions=search.taken if self._written is None else self._written,
            bytes=stream.bytes_written,
            missing=search.selector.missing(),
            notes=(*search.selector.notes, *([] if options.format is SliceFormat.JSON else stream.notes)),
            warnings=(*search.warnings, *self._warnings, *self._databases.warnings),
            damage=(*search.damage, *self._unknown),
        )

    def _refuse_own_log(self, output: str) -> None:
        """Refuse to overwrite an input log with a slice of it."""
        if output == STANDARD_OUTPUT or not os.path.isfile(output):
            return
        for ends in self._chain:
            if os.path.exists(ends.file.path) and os.path.samefile(output, ends.file.path):
                raise RefusedError(
                    "is one of the input logs and would be overwritten; choose another output",
                    path=output,
                )

    def _why_nothing(self, error: AbsentError) -> Iterator[str]:
        """Explain why nothing was selected, preferably by a condition that no table can match."""
        try:
            self._search.check_columns()
            yield str(error)
        except AbsentError as lacking:
            yield str(lacking)
        missing = self._search.selector.missing()
        if missing:
            yield f"not in these files: {missing}"
        yield from self._search.warnings
        yield from self._search.damage

    def _new_search(self, *, tells: bool = True) -> Search:
        options = self._options
        search = Search(
            self._chain,
            self._selection,
            verify=options.verify,
            where=options.where,
            tables=self._catalog,
            on_damage=options.on_damage,
            tells=tells,
        )
        if options.where is not None or options.format is not SliceFormat.BINLOG:
            search.leave_out_undecodable(self._known_tables(), intact=options.format is SliceFormat.JSON)
        return search

    def _new_choice(self) -> RowChoice | None:
        """Return which rows of the transactions are written; None for all."""
        options = self._options
        if not options.only_matching and options.operations is None:
            return None
        from binx.log.selection.table_filter import TableFilter
        from binx.slices.row_choice import RowChoice

        selection = self._selection if options.only_matching else Selection()
        return RowChoice(
            TableFilter(selection.databases, selection.tables),
            options.operations or frozenset(OPERATIONS),
            options.where if options.only_matching else None,
            undone=options.reverse,
        )

    def _known_tables(self) -> Catalog:
        from binx.rows.ddl.catalog import Catalog

        return Catalog() if self._catalog is None else self._catalog.copy()

    def _writer(self) -> Callable[[OutputStream], None]:
        """Return the format's writer."""
        reverse = self._options.reverse
        match self._options.format:
            case SliceFormat.BINLOG:
                return self._write_reversed if reverse else self._write_binlog
            case SliceFormat.SQL:
                return self._write_undo if reverse else self._write_sql
            case SliceFormat.JSON:
                return self._write_json
            case SliceFormat.THL:
                return self._write_thl

    def _write_binlog(self, stream: OutputStream) -> None:
        from binx.slices.binlog import write_binlog

        runs, options = self._search.runs(), self._options
        write_binlog(
            runs, stream, verbatim=options.verbatim, verify=options.verify, databases=self._databases
        )

    def _write_reversed(self, stream: OutputStream) -> None:
        from binx.slices.reverse_binlog import parts_of, write_reversed
        from binx.slices.sql.passes import lost_rows

        report = write_reversed(parts_of(self._search, self._known_tables()), stream, self._databases)
        self._warnings = [*report.warnings, *_without_changes(report.nothing)]
        if report.unlogged:
            selected = self._new_search(tells=False).selected()
            self._unknown = lost_rows(selected, self._known_tables())

    def _write_sql(self, stream: OutputStream) -> None:
        from binx.slices.rendering import STATEMENT_BYTES
        from binx.slices.sql.write import check_sql, write_sql

        checked = check_sql(self._search.selected(), self._known_tables(), self._new_choice())
        self._search = self._new_search(tells=False)
        report = write_sql(
            self._search.selected(),
            stream,
            self._known_tables(),
            self._options.statement_bytes or STATEMENT_BYTES,
            self._choice,
            self._databases,
        )
        self._written = report.transactions
        self._unknown = report.unknown
        self._warnings = [*checked, *report.warnings]

    def _write_undo(self, stream: OutputStream) -> None:
        from binx.slices.rendering import STATEMENT_BYTES
        from binx.slices.sql.undo import write_undo

        report = write_undo(
            self._search.selected(),
            stream,
            self._known_tables(),
            on_conflict=self._options.on_conflict,
            statement_bytes=self._options.statement_bytes or STATEMENT_BYTES,
            every=self._every_transaction,
            choice=self._choice,
            databases=self._databases,
        )
        self._unknown = report.unknown
        self._warnings = [*report.warnings, *_without_changes(report.nothing)]

    def _every_transaction(self) -> Iterator[Selected]:
        options = self._options
        search = Search(
            self._chain, Selection(), verify=options.verify, on_damage=options.on_damage, tells=False
        )
        search.leave_out_undecodable(self._known_tables())
        return search.selected(rolled_back=False)

    def _write_json(self, stream: OutputStream) -> None:
        from binx.rows.following import decoder_warnings
        from binx.slices.json_lines import write_json

        decoders: list[ChangeDecoder] = []
        write_json(
            self._search.selected(),
            stream,
            self._known_tables(),
            rows=self._options.rows,
            choice=self._choice,
            decoders=decoders,
        )
        self._warnings = decoder_warnings(decoders)

    def _write_thl(self, stream: OutputStream) -> None:
        from binx.slices.thl import FRAGMENT_BYTES, write_thl

        fragment_bytes = self._options.fragment_bytes or FRAGMENT_BYTES
        selected = self._search.selected()
        self._warnings = write_thl(selected, stream, self._known_tables(), fragment_bytes=fragment_bytes)


def _without_changes(count: int) -> list[str]:
    return [f"transactions without row changes (nothing to undo): {count:,}"] if count else []
