"""``binx query``: answer SQL about logs, a data set or loaded tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, flag, option
from binx.cli.layout import screen_lines
from binx.cli.options import LOOK, Logs, as_json_option, format_of, log_options
from binx.cli.selecting import WHERE, selection_options
from binx.cli.terminal import say_losses, screen, text_output
from binx.errors import ExitCode, UsageError
from binx.log.selection.selection import Selection
from binx.source.json_text import safe_chunks
from binx.source.wording import encoded
from binx.stats.text import pad_text, safe_text, text_width
from binx.storage.output import open_output
from binx.storage.output_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from binx.api.query import Database
    from binx.stats.sections import SectionColumn
    from binx.where.condition import Condition

EXAMPLES = (
    Example(
        "orders by what happened to them",
        'binx query "SELECT _change_type, count(*) FROM shop.orders GROUP BY ALL" mysql-bin.*',
    ),
    Example(
        "the largest transactions of a connection, as CSV",
        'binx query --format csv "SELECT gtid, bytes FROM transactions WHERE thread_id = 38'
        ' ORDER BY bytes DESC LIMIT 10" mysql-bin.*',
    ),
    Example(
        "what a customer's row was at a moment",
        "binx query \"FROM state('shop.customers', '2026-11-21 09:50') WHERE id = 17\" lake",
    ),
    Example("which tables and columns there are", 'binx query "SHOW ALL TABLES" mysql-bin.*'),
)

TABLE, CSV, JSON, PARQUET = "table", "csv", "json", "parquet"
_FORMATS = (TABLE, CSV, JSON, PARQUET)
_NARROW = 8
"""Characters that a column needs on a terminal; with less, each value gets a line."""


@command(
    "query",
    examples=EXAMPLES,
    brief="gtid since until table thread-id where limit tz format output isolated schema json",
)
@click.argument("sql", metavar="SQL")
@selection_options
@WHERE
@option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Format of the result.  [default: by the ending of the output, a table without one]",
)
@option(
    "-o",
    "--output OUT",
    type=PATH,
    default=STANDARD_OUTPUT,
    show_default=False,
    help="Output; - is standard output.",
)
@flag("--isolated", "SQL can read nothing but FILE...: no other files, no network.")
@LOOK
@as_json_option("Print one JSON object per row, as --format json.")
@log_options(schema=True, damage=False)
def query_command(
    logs: Logs,
    sql: str,
    selection: Selection,
    where: Condition | None,
    form: str | None,
    output: str,
    isolated: bool,
    as_json: bool,
) -> ExitCode:
    """Answer SQL by DuckDB, about row changes, transactions and statements.

    FILE... are binary logs, or the folder of a data set of to-parquet or of loaded tables. Row changes of
    shop.orders are the view shop.orders; state('shop.orders', 'TIME') is the table at a moment.
    """
    if as_json and form not in (None, JSON):
        raise UsageError(f"--json and --format {form} cannot be combined")
    form = JSON if as_json else form or format_of(output, _FORMATS, TABLE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        missing = _answer(logs, sql, selection, where, form, output, isolated)
    return logs.ending(missing, losses=say_losses(dict.fromkeys(str(one.message) for one in caught)))


def _answer(
    logs: Logs,
    sql: str,
    selection: Selection,
    where: Condition | None,
    form: str,
    output: str,
    is_isolated: bool,
) -> str:
    """Write the result; return the GTIDs of the selection that are not there."""
    # DuckDB and Arrow are loaded for queries, not for the help.
    from binx.api.logs import Binlogs, OpenedLogs, SelectedTransactions
    from binx.api.query import Database, has_tables

    chosen = selection != Selection() or where is not None
    if len(logs.paths) == 1 and has_tables(logs.paths[0]):
        if chosen or logs.schema is not None:
            raise UsageError("options that select transactions, and --schema, are for logs: use SQL")
        _write(Database(logs.paths[0], is_isolated=is_isolated), sql, form, output)
        return ""
    with logs.opened("query", selection) as (logs_in_order, _):
        known = logs.known_tables(logs_in_order)
        selected = SelectedTransactions(OpenedLogs(tuple(logs_in_order), known), selection, where)
        source = selected if chosen else Binlogs(logs_in_order, known)
        _write(Database(source, is_isolated=is_isolated), sql, form, output)
        return selected.missing_gtids() if chosen else ""


def _write(database: Database, sql: str, form: str, output: str) -> None:
    if form == PARQUET:
        import pyarrow.parquet as pq

        batches = database.batches(sql)
        with (
            open_output(output) as out,
            pq.ParquetWriter(out, batches.schema, compression="zstd") as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
        return
    with text_output(output, plain=form != TABLE) as text:
        if form == JSON:
            text.write_chunks(safe_chunks(encoded(f"{row}\n") for row in database.json(sql)))
            return
        numeric, names, rows = database.texts(sql)
        # An error should come before the names of the columns.
        rows = chain(list(islice(rows, 1)), rows)
        width, colour = screen()
        lines: Iterable[str]
        if form == CSV:
            lines = (",".join(map(_quoted, row)) for row in chain([names], rows))
        elif width is None or output != STANDARD_OUTPUT:
            lines = ("\t".join(map(_plain, row)) for row in chain([names], rows))
        elif len(names) * _NARROW > width:
            lines = _records(names, rows)
        else:
            columns = [_column(name, is_number) for name, is_number in zip(names, numeric, strict=True)]
            lines = screen_lines(columns, (list(map(_plain, row)) for row in rows), width, colour=colour)
        for line in lines:
            text.line(line)


def _column(name: str, is_number: bool) -> SectionColumn:
    from binx.stats.sections import NUMBERS, TEXTS, Form, SectionColumn

    return SectionColumn(safe_text(name), Form(str, str, NUMBERS if is_number else TEXTS), cut=not is_number)


def _records(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Iterator[str]:
    """Yield rows with a line for each value."""
    wide = max(map(text_width, names))
    for number, row in enumerate(rows, 1):
        yield f"row {number:,}"
        yield from (
            f"  {pad_text(name, wide)}  {_plain(value)}" for name, value in zip(names, row, strict=True)
        )


def _plain(value: str | None) -> str:
    return "NULL" if value is None else safe_text(value)


def _quoted(value: str | None) -> str:
    """Return a field of CSV: NULL is empty, an empty text is quoted."""
    return "" if value is None else '"' + value.replace('"', '""') + '"'
