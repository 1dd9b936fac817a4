"""``extract``: from files and a selection to one output.

A binary log needs no more than the places of the transactions: the files are walked only as far as the search
needs, and a file is passed over where the GTIDs before it and before the next one say that it holds nothing
wanted. SQL and JSON need the columns' names too, which DDL before the wanted transactions may tell: all files
up to the last of those are walked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import AbsentError, RefusedError
from binx.event.gtid_set import GtidSet
from binx.export.output import STANDARD_OUTPUT, OutputStream, open_output
from binx.export.search import Search
from binx.log.ends import FileEnds
from binx.log.on_damage import OnDamage
from binx.log.selection import Selection

if TYPE_CHECKING:
    from binx.export.changes import Selected
    from binx.export.where import Condition
    from binx.rows.catalog import Catalog


class SliceFormat(Enum):
    """What is written of the transactions."""

    BINLOG = "binlog"
    """A binary log that servers accept."""
    SQL = "sql"
    """Statements that servers accept."""
    JSON = "json"
    """One object a line."""
    THL = "thl"
    """As Tungsten Replicator's ``thl list`` prints it."""


class ExtractOptions(NamedTuple):
    """How a slice is written.

    Attributes:
        format: see SliceFormat.
        verbatim: a binary log's bytes are copied as they are.
        rows: of JSON, a line is a row change and not a transaction.
        reverse: of SQL, the statements that undo the transactions, newest first.
        by_key: of SQL that undoes, rows are found by their keys alone and not by all columns.
        fragment_bytes: of THL, bytes of events at which a fragment ends; None for Tungsten's default.
        where: a condition; only transactions are taken that change a row which fulfils it.
        verify: checksums are compared.
        on_damage: what is done where a file is damaged.
    """

    format: SliceFormat = SliceFormat.BINLOG
    verbatim: bool = False
    rows: bool = False
    reverse: bool = False
    by_key: bool = False
    fragment_bytes: int | None = None
    where: Condition | None = None
    verify: bool = True
    on_damage: OnDamage = OnDamage.STOP


class ExtractReport(NamedTuple):
    """What became of a request.

    Attributes:
        transactions: how many were written.
        bytes: size of the output.
        missing: GTIDs asked for that are in none of the files.
        notes: what a user should know of how the selection was understood.
        warnings: what the output lacks, in sentences.
        damage: what could not be read and was passed over, in sentences.
    """

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

    What was found is written even where some of the GTIDs asked for are missing; the report names them.

    Args:
        chain: the files in their order, with their ends read; see :func:`binx.log.inputs.open_chain`.
        selection: which transactions.
        output: a path, or ``-`` for standard output.
        options: how.
        catalog: tables known beforehand, for SQL, JSON and THL.

    Raises:
        AbsentError: no transaction passes; nothing was written.
        RefusedError: what was asked for cannot be written correctly; nothing was written.
        DamagedError, UnsupportedError: a file cannot be read as far as it must be.
        OutputError: the output cannot be written.
    """
    return _Extraction(chain, selection, options or ExtractOptions(), catalog).write(output)


class _Extraction:
    """One request on its way to its output."""

    def __init__(
        self,
        chain: Sequence[FileEnds],
        selection: Selection,
        options: ExtractOptions,
        catalog: Catalog | None,
    ) -> None:
        self._chain = chain
        self._selection = selection
        self._options = options
        self._catalog = catalog
        self._search = self._new_search()
        self._warnings: list[str] = []

    def write(self, output: str) -> ExtractReport:
        self._refuse_own_log(output)
        writers = {
            SliceFormat.BINLOG: self._write_binlog,
            SliceFormat.SQL: self._write_sql,
            SliceFormat.JSON: self._write_json,
            SliceFormat.THL: self._write_thl,
        }
        try:
            with open_output(output, binary=self._options.format is SliceFormat.BINLOG, plain=True) as stream:
                writers[self._options.format](stream)
                self._search.check_columns()
                if not self._search.taken:
                    raise AbsentError("none of the requested transactions found")
        except AbsentError as error:
            if self._search.taken:
                raise
            words, selector = [self._why_nothing(error)], self._search.selector
            if selector.missing():
                words.append(f"not in these files: {selector.missing()}")
            raise AbsentError("; ".join([*words, *self._search.damage])) from None
        selector = self._search.selector
        return ExtractReport(
            transactions=self._search.taken,
            bytes=stream.bytes_written,
            missing=selector.missing(),
            notes=(*selector.notes, *([] if self._options.format is SliceFormat.JSON else stream.notes)),
            warnings=(*self._search.warnings, *self._warnings),
            damage=tuple(self._search.damage),
        )

    def _refuse_own_log(self, output: str) -> None:
        """A slice must not take the place of what it is cut out of, of which it mostly is a small part."""
        if output == STANDARD_OUTPUT or not os.path.isfile(output):
            return
        for ends in self._chain:
            if os.path.exists(ends.file.path) and os.path.samefile(output, ends.file.path):
                raise RefusedError(
                    "is one of the input logs and would be overwritten; choose another output",
                    path=output,
                )

    def _why_nothing(self, error: AbsentError) -> str:
        """Why no transaction was taken: a condition that no table can fulfil tells more than that."""
        try:
            self._search.check_columns()
        except AbsentError as lacking:
            return str(lacking)
        return str(error)

    def _new_search(self, *, tells: bool = True) -> Search:
        options, where = self._options, self._options.where
        search = Search(
            self._chain,
            self._selection,
            verify=options.verify,
            where=where,
            tables=self._catalog,
            on_damage=options.on_damage,
            tells=tells,
        )
        decodes = where is not None or options.format is not SliceFormat.BINLOG
        if decodes and options.on_damage is OnDamage.SALVAGE:
            search.check_tables = self._known_tables()
        return search

    def _write_binlog(self, stream: OutputStream) -> None:
        from binx.export.binlog import write_binlog

        options = self._options
        write_binlog(self._search.runs(), stream, verbatim=options.verbatim, verify=options.verify)

    def _write_sql(self, stream: OutputStream) -> None:
        if self._options.reverse:
            self._write_undo(stream)
            return
        from binx.export.kept_parts import KeptParts
        from binx.export.sql import write_sql
        from binx.export.sql_check import check_sql
        from binx.export.sql_sizes import StatementSizes

        kept = KeptParts()
        self._warnings = check_sql(kept.over(self._search.selected(decoded=False)), self._known_tables())
        selected: Iterable[Selected] | None = kept.parts
        if selected is None:
            self._search = self._new_search(tells=False)
            selected = self._search.selected()
        sizes = StatementSizes()
        write_sql(selected, stream, self._known_tables(), sizes)
        self._warnings += sizes.warnings

    def _write_undo(self, stream: OutputStream) -> None:
        from binx.export.undo import write_undo

        report = write_undo(
            self._search.selected(), stream, self._known_tables(), by_key=self._options.by_key
        )
        self._warnings = list(report.warnings)
        if report.nothing:
            self._warnings.append(f"transactions without row changes (nothing to undo): {report.nothing:,}")

    def _write_json(self, stream: OutputStream) -> None:
        from binx.export.json_lines import write_json

        write_json(self._search.selected(), stream, self._known_tables(), rows=self._options.rows)

    def _write_thl(self, stream: OutputStream) -> None:
        from binx.export.thl import FRAGMENT_BYTES, write_thl

        self._warnings = write_thl(
            self._search.selected(),
            stream,
            self._known_tables(),
            fragment_bytes=self._options.fragment_bytes or FRAGMENT_BYTES,
        )

    def _known_tables(self) -> Catalog:
        from binx.rows.catalog import Catalog

        return Catalog() if self._catalog is None else self._catalog.copy()


__all__ = ["ExtractOptions", "ExtractReport", "SliceFormat", "extract"]
