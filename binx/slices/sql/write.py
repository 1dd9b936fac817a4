"""``extract --format sql``: transactions as statements that lead a server of the same kind to the same data.

Each is what it was: its GTID, its time, BEGIN and COMMIT around its row changes and statements; savepoints,
XA transactions and those that ended in ROLLBACK too. A statement gets the session that it ran in.

Two things differ on the server that runs the script. What it logs itself leaves out the table that
CREATE TABLE … SELECT made and changes of several rows in tables without transactions (MyISAM), as one GTID
cannot be given to several statements. And numbers and times within JSON documents are what JSON text says,
without MySQL's own types (DECIMAL, DATETIME) inside of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.statements import Statement
from binx.slices.changes import Begin, Frame, Selected, ordered_changes
from binx.slices.database_names import DatabaseNames
from binx.slices.pieces import Changes, Piece
from binx.slices.row_choice import RowChoice
from binx.slices.sql.change_rows import SqlRows
from binx.slices.sql.script import FACTS, SqlScript
from binx.slices.sql.sizes import StatementSizes
from binx.slices.sql.tables import SqlDialect
from binx.storage.output import Sink

BUFFER_BYTES = 1024 * 1024
"""How much is collected before it is written."""


def write_sql(
    selected: Iterable[Selected],
    output: Sink,
    catalog: Catalog,
    sizes: StatementSizes | None = None,
    choice: RowChoice | None = None,
    databases: DatabaseNames | None = None,
) -> int:
    """Write transactions as SQL.

    Returns:
        How many transactions were written.

    Raises:
        RefusedError: see :func:`~binx.slices.sql.check.check_sql`, which finds most reasons before the
            first byte.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    script = _Script(sizes, choice, databases or DatabaseNames({}))
    buffer = bytearray()
    for chunk in script.chunks(selected, catalog):
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            output.write(buffer)
            buffer = bytearray()
    output.write(buffer)
    return script.transactions


class _Script:
    """A script on its way to the output."""

    def __init__(
        self, sizes: StatementSizes | None, choice: RowChoice | None, databases: DatabaseNames
    ) -> None:
        self._sizes = sizes
        self._choice = choice
        self._databases = databases
        self._rows: SqlRows | None = None
        self._writer: SqlScript | None = None

    @property
    def transactions(self) -> int:
        """How many transactions were written."""
        return 0 if self._writer is None else self._writer.transactions

    def chunks(self, selected: Iterable[Selected], catalog: Catalog) -> Iterator[bytes]:
        """The SQL piece by piece."""
        items = ordered_changes(
            selected,
            catalog,
            self._render,
            raw_text=True,
            exact_members=True,
            undone=True,
            facts=FACTS,
            frames=self,
            sizes=self._sizes,
            choice=self._choice,
        )
        for item in items:
            if self._writer is None:
                assert isinstance(item, Begin)
                partial = self._choice is not None
                self._writer = SqlScript(item.file.format, partial=partial, databases=self._databases)
                yield self._writer.head()
            if isinstance(item, Statement) and self._sizes is not None:
                self._sizes.take_text(item.sql)
            yield from self._writer.take(item)
        if self._writer is not None:
            yield self._writer.foot()

    def frame(
        self, part: Selected, taken: array[int], first: int, piece: Piece, run: int, stop: int
    ) -> Frame | None:
        """What stands around usual transactions; the first of all is never one."""
        if self._writer is None:
            return None
        return self._writer.frame(part, taken, first, piece, run, stop)

    def _render(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        dialect = SqlDialect.of(file.format)
        if self._rows is None or self._rows.dialect != dialect:
            self._rows = SqlRows(dialect, self._databases)
        return self._rows(changes, file)
