"""``binx state``: write a table as of a point in time."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.options import ZONE_OF_MOMENT, Logs, as_json_option, format_of, log_options
from binx.cli.selecting import parse_condition
from binx.cli.terminal import say_warning, text_output
from binx.errors import AbsentError, ExitCode, SourceError, UsageError
from binx.lake.options import FILE_FORMATS, PARQUET, SQL
from binx.log.selection.times import moment_in_utc
from binx.report.document import json_line
from binx.source.wording import counted
from binx.storage.output import open_output
from binx.storage.output_errors import STANDARD_OUTPUT

if TYPE_CHECKING:
    from binx.where.condition import Condition

EXAMPLES = (
    Example(
        "what restores a table that a DROP TABLE at position 4711 removed",
        "binx state lake --table shop.orders --at mysql-bin.000003:4711 -o orders.sql",
    ),
    Example(
        "a table as it was in the evening, as Parquet",
        "binx state lake --table shop.orders --at '2026-11-21 18:00' -o orders.parquet",
    ),
    Example(
        "one row, as CSV on the screen",
        "binx state lake --table shop.customers --pk 17 --format csv",
    ),
    Example(
        "an order as it was before a transaction, from last night's dump and the logs since",
        "binx state mysql-bin.0* --base shop.sql --table shop.orders --at mysql-bin.000003:4711"
        " --where 'id = 7' --format sql --no-create",
    ),
)


@command(
    "state", examples=EXAMPLES, brief="table at pk keys where base key format no-create output schema json"
)
@option("--table DB.TABLE", required=True, help="The table, as it was called then.")
@option(
    "--at TIME|GTID|FILE:POS",
    help="The moment: a time, after a transaction, or where a transaction ends."
    "  [default: the end of the logs]",
)
@ZONE_OF_MOMENT
@option("--pk VALUE,...", help="Only the row of this primary key.")
@option(
    "--keys FILE", "keys_file", type=PATH, help="Only the rows of these primary keys: CSV, one key per line."
)
@option(
    "--where",
    metavar="CONDITION",
    type=parsed(parse_condition),
    help='Only rows that match: "order_id = 7".',
)
@option(
    "--base FILE",
    "bases",
    type=PATH,
    multiple=True,
    help="With logs: a backup that has the rows before them, as for binx base. May be repeated.",
)
@option("--key COLUMN,...", help="Key columns of a table that has no primary key.")
@option(
    "--format",
    "form",
    type=click.Choice(FILE_FORMATS),
    help="Format.  [default: by the ending of the output, parquet without one]",
)
@flag("--no-create", "SQL: only the rows, for a table that is there.")
@option(
    "-o",
    "--output OUT",
    type=PATH,
    default=STANDARD_OUTPUT,
    show_default=False,
    help="Output; - is standard output.",
)
@as_json_option("Print what was found as one JSON object; needs --output.")
@log_options(schema=True)
def state_command(
    logs: Logs,
    table: str,
    at: str | None,
    zone: tzinfo,
    pk: str | None,
    keys_file: str | None,
    where: Condition | None,
    bases: tuple[str, ...],
    key: str | None,
    form: str | None,
    no_create: bool,
    output: str,
    as_json: bool,
) -> ExitCode:
    """Write a table as it was at a moment, from logs or a data set: its rows, or SQL to restore it.

    FILE... are binary logs, or the folder of a data set of to-parquet. Logs are read into a temporary data
    set (TMPDIR) of the table and of those that its foreign keys refer to.
    """
    # Arrow is loaded when rows are read, not for the help.
    from binx.lake.at_moment import table_at
    from binx.lake.table_at_moment import is_versioned, write_table
    from binx.lake.table_name import TableName

    if "." not in table:
        raise UsageError(f"expected --table DB.TABLE, found {table!r}")
    if as_json and output == STANDARD_OUTPUT:
        raise UsageError("--json prints to standard output: give the table a file with --output")
    form = form or format_of(output, FILE_FORMATS, PARQUET)
    if no_create and form != SQL:
        raise UsageError(f"--no-create is for --format {SQL}")
    at = None if at is None else moment_in_utc(at, zone)
    key_columns = [name.strip() for name in key.split(",")] if key else ()
    with _data_set(logs, table, bases, exact=form == SQL) as folder:
        state = table_at(folder, table, at, key_columns, where)
    if pk is not None or keys_file is not None:
        keys = [pk.split(",")] if pk is not None else []
        state = state.with_keys([*keys, *_keys_in(keys_file)])
        if pk is not None and not state.rows.num_rows:
            raise AbsentError(f"as of {state.moment} {table} has no row with the key {pk}")
    if form == SQL and is_versioned(state):
        state.missing.append(
            "rows that ended (WITH SYSTEM VERSIONING) are not written, only the current ones"
        )
    if form == SQL and state.typed:
        state.missing.append(
            "JSON documents had values of SQL types (DECIMAL, DATE and so on) that a data set does not tell:"
            " SQL of the logs themselves has them"
        )
    with open_output(output, binary=form == PARQUET) as out:
        write_table(state, out, form, create=not no_create)
    for text in state.missing:
        say_warning(f"{table} is incomplete: {text}")
    ended = ExitCode.LOSSES if state.missing else ExitCode.DONE
    if as_json:
        name = TableName.parse(table)
        facts = {
            "db": name.db,
            "table": name.table,
            "at": state.moment,
            "rows": state.rows.num_rows,
            "complete": not state.missing,
            "reasons": state.missing,
            "key": state.key,
            "output": output,
            "format": form,
            "exit_code": int(ended),
        }
        with text_output(plain=True) as printed:
            printed.line(json_line("state", facts))
    else:
        logs.notes([f"{table} as of {state.moment}: {counted(state.rows.num_rows, 'row')}"])
    return ended


def _keys_in(path: str | None) -> list[list[str]]:
    """Return the keys in a file of CSV.

    Raises:
        SourceError: it cannot be read.
    """
    if path is None:
        return []
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return [row for row in csv.reader(file) if row]
    except (OSError, UnicodeError, csv.Error) as error:
        raise SourceError(f"cannot be read: {error}", path=path) from error


@contextmanager
def _data_set(logs: Logs, table: str, bases: Sequence[str], *, exact: bool) -> Iterator[str]:
    """Return the data set that was given, or one made from logs while it is needed."""
    from binx.lake.dataset.manifests import is_data_set
    from binx.lake.from_logs import data_set_of_logs
    from binx.lake.table_name import TableName

    if len(logs.paths) == 1 and is_data_set(logs.paths[0]):
        if bases or logs.schema is not None:
            raise UsageError("--base and --schema are for logs; a data set takes a backup by binx base")
        yield logs.paths[0]
        return
    with (
        logs.opened("state", watched=False) as (chain, bar),
        data_set_of_logs(
            [ends.file for ends in chain],
            [TableName.parse(table)],
            logs.known_tables(chain),
            exact=exact,
            verify=logs.verify,
            on_damage=logs.on_damage,
            bases=bases,
            progress=bar.reach,
        ) as folder,
    ):
        yield folder
