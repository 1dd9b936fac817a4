"""``extract --format sql``: transactions as statements that lead a server of the same kind to the same data.

Each is what it was: its GTID, its time, BEGIN and COMMIT around its row changes and statements; savepoints,
XA transactions and those that ended in ROLLBACK too. A statement gets the session that it ran in.

Two things differ on the server that runs the script. What it logs itself leaves out the table that
CREATE TABLE … SELECT made and changes of several rows in tables without transactions (MyISAM), as one GTID
cannot be given to several statements. And numbers and times within JSON documents are what JSON text says,
without MySQL's own types (DECIMAL, DATETIME) inside of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from binx.export.changes import Begin, Rendered, Selected, ordered_changes
from binx.export.output import Sink
from binx.export.sql_rows import SqlRows
from binx.export.sql_script import CHECKED_FACTS, FACTS, PreparedXa, SqlScript, refuse_statement
from binx.export.sql_sizes import StatementSizes
from binx.export.sql_tables import SqlDialect, refuse_table
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement

BUFFER_BYTES = 1024 * 1024
"""How much is collected before it is written."""


def check_sql(selected: Iterable[Selected], catalog: Catalog) -> list[str]:
    """Find out whether the transactions can be written as SQL, without writing a byte.

    Args:
        selected: as :func:`write_sql` will get them, from scans of their own.
        catalog: the tables known beforehand; left as it is.

    Returns:
        Warnings about tables and statements, in sentences.

    Raises:
        RefusedError: a table's columns have no names, or a statement cannot be written.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
    """

    def nothing(_: ChangeBatch, __: BinlogFile) -> Rendered:
        raise AssertionError("no rows are decoded")

    checked: set[int] = set()
    decoders: list[ChangeDecoder] = []
    items = ordered_changes(
        selected, catalog.copy(), nothing, resolve_only=True, decoders=decoders, facts=CHECKED_FACTS
    )
    prepared = PreparedXa()
    for item in items:
        prepared.take(item)
        if isinstance(item, Statement):
            refuse_statement(item)
    for decoder in decoders:
        for changes in decoder.tables:
            if id(changes) not in checked:
                checked.add(id(changes))
                refuse_table(changes.resolved)
    return [warning for decoder in decoders for warning in decoder.report.warnings]


def write_sql(
    selected: Iterable[Selected], output: Sink, catalog: Catalog, sizes: StatementSizes | None = None
) -> int:
    """Write transactions as SQL.

    Args:
        selected: the transactions, in the order in which they shall be run.
        output: where to; see :func:`~binx.export.output.open_output`.
        catalog: the tables known beforehand; moved on by the schema statements met.
        sizes: measures the statements.

    Returns:
        How many transactions were written.

    Raises:
        RefusedError: see :func:`check_sql`, which finds most reasons before the first byte.
        DamagedError, UnsupportedError: a transaction cannot be decoded.
        OutputError: the output cannot be written.
    """
    buffer = bytearray()
    transactions = 0
    for chunk in sql_chunks(selected, catalog, sizes):
        if isinstance(chunk, Begin):
            transactions += 1
            continue
        buffer += chunk
        if len(buffer) >= BUFFER_BYTES:
            output.write(buffer)
            buffer = bytearray()
    output.write(buffer)
    return transactions


def sql_chunks(
    selected: Iterable[Selected], catalog: Catalog, sizes: StatementSizes | None = None
) -> Iterator[bytes | memoryview | Begin]:
    """The SQL piece by piece, each transaction's :class:`~binx.export.changes.Begin` before its text."""
    writer: SqlScript | None = None
    rows: SqlRows | None = None

    def render(changes: ChangeBatch, file: BinlogFile) -> Rendered:
        nonlocal rows
        if rows is None or rows.dialect != SqlDialect.of(file.format):
            rows = SqlRows(SqlDialect.of(file.format))
        rendered = rows(changes, file)
        if sizes is not None:
            sizes.take(rendered.texts)
        return rendered

    for item in ordered_changes(selected, catalog, render, raw_text=True, undone=True, facts=FACTS):
        if isinstance(item, Begin):
            if writer is None:
                writer = SqlScript(item.file.format.flavour)
                yield writer.head()
            yield item
        assert writer is not None
        yield from writer.take(item)
    if writer is not None:
        yield writer.foot()


__all__ = ["check_sql", "sql_chunks", "write_sql"]
