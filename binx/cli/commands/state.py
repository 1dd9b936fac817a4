"""``binx state``: write a table as of a point in time."""

from __future__ import annotations

from pathlib import PurePath

import click

from binx.cli.command import PATH, Example, command, flag, option
from binx.cli.options import QUIET, as_json_option
from binx.cli.terminal import say_note, say_warning, text_output
from binx.errors import AbsentError, ExitCode, UsageError
from binx.lake.options import FILE_FORMATS, PARQUET, SQL
from binx.source.json_text import json_text
from binx.source.wording import counted
from binx.storage.output import STANDARD_OUTPUT, open_output

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
)


@command("state", examples=EXAMPLES)
@option("--table DB.TABLE", required=True, help="The table, as it was called then.")
@option(
    "--at TIME|GTID|FILE:POS",
    help="The moment: a time (UTC unless it has a zone), behind a transaction, or where a transaction ends."
    "  [default: the end of the logs]",
)
@option("--pk VALUE,...", help="Only the row of this primary key.")
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
@QUIET
@click.argument("folder", metavar="DIR", type=PATH)
def state_command(
    folder: str,
    table: str,
    at: str | None,
    pk: str | None,
    key: str | None,
    form: str | None,
    no_create: bool,
    output: str,
    as_json: bool,
    quiet: bool,
) -> ExitCode:
    """Write a table as it was at a moment, from a data set of to-parquet: its rows, or SQL to restore it."""
    # Arrow is loaded when rows are read, not for the help.
    from binx.lake.at_moment import table_at
    from binx.lake.restore import is_versioned, write_table

    if "." not in table:
        raise UsageError(f"expected --table DB.TABLE, found {table!r}")
    if as_json and output == STANDARD_OUTPUT:
        raise UsageError("--json prints to standard output: give the table a file with --output")
    if form is None:
        ending = PurePath(output).suffix
        form = ending.removeprefix(".").lower() or PARQUET
        if form not in FILE_FORMATS:
            known = ", ".join(f".{name}" for name in FILE_FORMATS)
            raise UsageError(
                f"expected an --output that ends in one of {known}, found {ending}; or choose its --format"
            )
    if no_create and form != SQL:
        raise UsageError(f"--no-create is for --format {SQL}")
    state = table_at(folder, table, at, [name.strip() for name in key.split(",")] if key else ())
    if pk is not None:
        state = state.row(pk.split(","))
        if not state.rows.num_rows:
            raise AbsentError(f"as of {state.moment} {table} has no row with the key {pk}")
    if form == SQL and is_versioned(state):
        state.missing.append(
            "rows that ended (WITH SYSTEM VERSIONING) are not written, only the current ones"
        )
    with open_output(output, binary=form == PARQUET) as out:
        write_table(state, out, form, create=not no_create)
    for text in state.missing:
        say_warning(f"{table} is incomplete: {text}")
    ended = ExitCode.LOSSES if state.missing else ExitCode.DONE
    if as_json:
        document = {
            "table": table,
            "moment": state.moment,
            "rows": state.rows.num_rows,
            "complete": not state.missing,
            "reasons": state.missing,
            "key": state.key,
            "output": output,
            "format": form,
            "exit_code": int(ended),
        }
        with text_output(plain=True) as printed:
            printed.line(json_text(document))
    elif not quiet:
        say_note(f"{table} as of {state.moment}: {counted(state.rows.num_rows, 'row')}")
    return ended
