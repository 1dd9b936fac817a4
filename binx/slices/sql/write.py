"""``extract --format sql``: transactions as statements that reproduce the data on a server of the same kind.

Each transaction keeps its GTID, its time, and BEGIN and COMMIT around its row changes and statements;
savepoints, XA transactions and transactions that ended in ROLLBACK are written too. A statement runs with its
original session settings.

Two things differ on the server that runs the script. Its binary log lacks tables created by CREATE TABLE …
SELECT and changes of several rows in non-transactional tables (MyISAM), because one GTID cannot be given to
several statements. And some values within JSON documents lose their types (BIT, BLOB); the affected tables
are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from binx.event.rows_events import unmapped_rows
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import DecoderOptions
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, every_table
from binx.slices.changes import ordered_changes, reading_in_pieces
from binx.slices.items import Begin, Frame, Run
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.rendering import StatementSizes, gathered
from binx.slices.row_choice import RowChoice
from binx.slices.search import Selected
from binx.slices.sql.change_rows import SqlRows
from binx.slices.sql.load_files import LoadFiles
from binx.slices.sql.refusals import PreparedXa, refuse_statement
from binx.slices.sql.transaction_script import FACTS, SqlScript
from binx.sql.tables import TableWarnings, refuse_table
from binx.storage.output import Sink


def check_sql(
    selected: Iterable[Selected],
    catalog: Catalog,
    choice: RowChoice | None = None,
    *,
    loads: bool = False,
) -> list[str]:
    """Check whether the transactions can be written as SQL, without writing anything.

    Args:
        loads: whether files of LOAD DATA statements are written too.

    Returns:
        Warnings about tables and statements.

    Raises:
        RefusedError: a table's columns have no names, or a statement cannot be written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """
    prepared, tables = PreparedXa(), TableWarnings()
    wanted = every_table if choice is None else choice.takes_table
    reading = Reading(catalog.copy(), wanted, DecoderOptions(markers=True), resolve_only=True, keeps=True)
    for part in selected:
        prepared.check(part)
        items = reading.items(
            part.file, part.table, part.mask, after_damage=part.behind_damage, payloads=part.payloads
        )
        for item in items:
            if isinstance(item, Statement) and (choice is None or choice.takes_statement(item)):
                refuse_statement(item, loads=loads)
    for changes in reading.tables:
        refuse_table(changes.resolved)
        tables.take_table(changes.resolved)
    warnings = [warning for decoder in reading.decoders for warning in decoder.report.warnings]
    return [*warnings, *tables.sentences()]


class SqlReport(NamedTuple):
    """The result of writing a script.

    Attributes:
        warnings: warnings for those who run the script.
        unknown: what the log does not tell, and the script does not change.
    """

    transactions: int
    warnings: tuple[str, ...]
    unknown: Sequence[str]


def write_sql(
    selected: Iterable[Selected],
    output: Sink,
    catalog: Catalog,
    statement_bytes: int = 0,
    choice: RowChoice | None = None,
    databases: DatabaseNames = SAME_NAMES,
    files: LoadFiles | None = None,
) -> SqlReport:
    """Write transactions as SQL.

    Args:
        statement_bytes: maximum bytes of a statement that inserts several rows; 0 for one row each.
        choice: selects the row changes; None for all, and for statements.
        files: writes the files of LOAD DATA statements.

    Raises:
        RefusedError: see :func:`check_sql`, which finds most reasons before the first byte.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    writing = _Writing(StatementSizes(statement_bytes), choice, databases, files)
    for chunk in gathered(writing.chunks(selected, catalog)):
        output.write(chunk)
    transactions = 0 if writing.script is None else writing.script.transactions
    tables = writing.rows.warnings
    losses = [*tables.losses(), *unmapped_rows(writing.unmapped)]
    return SqlReport(transactions, (*tables.sentences(), *writing.sizes.warnings), losses)


class _Writing:
    def __init__(
        self,
        sizes: StatementSizes,
        choice: RowChoice | None,
        databases: DatabaseNames,
        files: LoadFiles | None,
    ) -> None:
        self.sizes = sizes
        self.rows = SqlRows(databases)
        self.script: SqlScript | None = None
        self.unmapped = 0
        self._choice = choice
        self._databases = databases
        self._files = files

    def chunks(self, selected: Iterable[Selected], catalog: Catalog) -> Iterator[bytes]:
        reading = reading_in_pieces(
            catalog, choice=self._choice, raw_text=True, exact_values=True, undone=True
        )
        items = ordered_changes(
            selected,
            reading,
            self.rows,
            facts=FACTS,
            frames=self._frame,
            sizes=self.sizes,
            choice=self._choice,
        )
        for item in items:
            if self.script is None:
                assert isinstance(item, Begin)
                self.script = SqlScript(
                    item.file.format,
                    partial=self._choice is not None,
                    databases=self._databases,
                    files=self._files,
                )
                yield self.script.head()
            if isinstance(item, Statement):
                self.sizes.take_text(item.sql)
            yield from self.script.take(item)
        self.unmapped = reading.unmapped
        if self.script is not None:
            yield self.script.foot()

    def _frame(self, run: Run) -> Frame | None:
        """Frame ordinary transactions; the very first transaction is never framed."""
        return None if self.script is None else self.script.frame(run)
