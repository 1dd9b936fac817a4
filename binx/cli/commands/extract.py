"""``binx extract``: extract whole transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, flag, option, parsed
from binx.cli.options import Logs, format_of, log_options
from binx.cli.selecting import WHERE, selection_options
from binx.cli.terminal import say_losses
from binx.errors import ExitCode, UsageError
from binx.log.selection.selection import Selection
from binx.log.selection.times import parse_size
from binx.slices.extraction import extract
from binx.slices.options import OPERATIONS, ExtractOptions, SliceFormat
from binx.undo.options import OnConflict

if TYPE_CHECKING:
    from binx.where.condition import Condition

_NAME_BYTES = 255
"""Maximum length in a table map; servers allow 64 characters."""

_FORMATS = tuple(choice.value for choice in SliceFormat)

EXAMPLES = (
    Example(
        "one transaction, as a binary log for mysqlbinlog or a server",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.* -o one.binlog",
    ),
    Example(
        "changes to a table within some minutes, as SQL to read",
        "binx extract --since '2026-11-21 09:30' --until '2026-11-21 09:45' --table shop.orders \\\n"
        "    --format sql mysql-bin.index | less",
    ),
    Example(
        "all but one transaction, to replay on another server",
        "binx extract --exclude-gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.000003 |\n"
        "    mysqlbinlog - > replay.sql",
    ),
    Example(
        "the same as a binary log, where triggers must not fire",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --reverse mysql-bin.* |\n"
        "    mysqlbinlog --skip-gtids - | mysql",
    ),
    Example(
        "SQL that undoes a mistake (read it before running it)",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --format sql --reverse \\\n"
        "    mysql-bin.* -o undo.sql",
    ),
    Example(
        "SQL that undoes the deletes in one table, and nothing else, in a copy of the database",
        "binx extract --since '2026-11-21 09:30' --table shop.orders --only-matching --operations delete \\\n"
        "    --rewrite-db shop=shop_copy --format sql --reverse mysql-bin.* -o undo.sql",
    ),
    Example(
        "transactions that changed certain rows",
        "binx extract --table shop.orders --where \"status = 'paid' AND total > 100\" --format json \\\n"
        "    mysql-bin.*",
    ),
    Example(
        "one transaction in the format of Tungsten Replicator's thl list",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --format thl mysql-bin.*",
    ),
    Example(
        "the new values of rows, for programs",
        "binx extract --table shop.orders --format json --rows mysql-bin.000003 |\n"
        "    jq -c 'select(.table == \"orders\") | .after'",
    ),
)


def parse_operations(text: str) -> frozenset[str]:
    """Parse comma-separated operations, each once."""
    names = frozenset(name.strip().lower() for name in text.split(","))
    if not names.issubset(OPERATIONS):
        raise UsageError(f"expected some of {','.join(OPERATIONS)}, found {text!r}")
    return names


def parse_renaming(text: str) -> tuple[str, str]:
    """Parse a database's name and its new one.

    Raises:
        UsageError: there are not two names, or one is longer than a table map allows.
    """
    old, _, new = text.partition("->" if "->" in text else "=")
    if not old or not new or len(new.encode()) > _NAME_BYTES:
        raise UsageError(f"expected OLD=NEW, names of databases, found {text!r}")
    return old, new


@command(
    "extract",
    examples=EXAMPLES,
    brief="gtid since until table where limit thread-id"
    " format reverse on-conflict only-matching rows output force schema",
)
@selection_options
@WHERE
@option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Output format.  [default: by the ending of the output: .sql, .json, .jsonl, .ndjson, .thl; else"
    " binlog]",
)
@flag("--verbatim", "binlog: copy the bytes unchanged, including positions.")
@flag("--rows", "json: one line per row change instead of per transaction.")
@option(
    "--reverse",
    "--flashback",
    "-B",
    "reverse",
    is_flag=True,
    help="sql, binlog: write what undoes the transactions, newest first; with the default, binlog, as a"
    " binary log, which cannot check itself.",
)
@option(
    "--on-conflict",
    type=click.Choice([*(choice.value for choice in OnConflict)]),
    default=OnConflict.STOP.value,
    help="reverse: rows changed since: undo nothing, leave them alone, or overwrite them.",
)
@flag("--only-matching", "sql, json: only rows that match --table, --db and --where, not whole transactions.")
@option(
    "--operations LIST",
    type=parsed(parse_operations),
    help="sql, json: only these row changes: some of insert,update,delete.",
)
@option(
    "--rewrite-db OLD=NEW",
    "renamed",
    type=parsed(parse_renaming),
    multiple=True,
    help="binlog, sql: write rows and statements of database OLD for NEW; repeatable.",
)
@option(
    "--statement-bytes SIZE",
    type=parsed(parse_size),
    help="sql: maximum size of an INSERT of several rows.  [default: 1MiB]",
)
@option(
    "-l",
    "--local-load DIR",
    type=PATH,
    help="sql: write LOAD DATA statements, and the files that they read into this folder.",
)
@option(
    "--fragment-bytes SIZE",
    type=parsed(parse_size),
    help="thl: maximum size of a fragment.  [default: 1000000]",
)
@flag("--force", "Overwrite an existing output.")
@option(
    "-o",
    "-r",
    "--output OUT",
    "--result-file",
    "output",
    default="-",
    show_default=False,
    type=PATH,
    help="Output file; it appears once it is complete.  [default: standard output]",
)
@log_options(index=True, schema=True)
def extract_command(
    logs: Logs,
    selection: Selection,
    where: Condition | None,
    form: str | None,
    verbatim: bool,
    rows: bool,
    reverse: bool,
    on_conflict: str,
    only_matching: bool,
    operations: frozenset[str] | None,
    renamed: tuple[tuple[str, str], ...],
    statement_bytes: int | None,
    local_load: str | None,
    fragment_bytes: int | None,
    force: bool,
    output: str,
) -> ExitCode:
    """Extract whole transactions as a binary log that replays with the same GTIDs, or as SQL, JSON or THL."""
    form = form or format_of(output, _FORMATS, SliceFormat.BINLOG.value, ends_in_any_way=True)
    options = ExtractOptions(
        format=SliceFormat(form),
        verbatim=verbatim,
        rows=rows,
        statement_bytes=statement_bytes,
        local_load=local_load,
        fragment_bytes=fragment_bytes,
        where=where,
        only_matching=only_matching,
        operations=operations,
        databases=dict(renamed),
        verify=logs.verify,
        overwrites=force,
        on_damage=logs.on_damage,
    )
    conflict = OnConflict(on_conflict)
    _refuse_idle_options(options, selection, reverse, conflict, has_schema=logs.schema is not None)
    with logs.opened("extract", selection) as (chain, _):
        known = logs.known_tables(chain)
        if reverse:
            from binx.undo.extract_undo import extract_undo

            report = extract_undo(chain, selection, output, options, known, on_conflict=conflict)
        else:
            report = extract(chain, selection, output, options, known)
    logs.notes(report.notes)
    if not logs.quiet:
        say_losses(report.warnings)
    logs.notes([f"transactions written: {report.transactions:,} ({report.bytes:,} bytes)"])
    return logs.ending(report.absent_gtids, losses=say_losses(report.damage))


def _refuse_idle_options(
    options: ExtractOptions, selection: Selection, reverse: bool, on_conflict: OnConflict, *, has_schema: bool
) -> None:
    """Reject options that have no meaning for the requested format."""
    form = options.format
    sql, json, thl, binlog = SliceFormat.SQL, SliceFormat.JSON, SliceFormat.THL, SliceFormat.BINLOG
    for name, is_given, forms in (
        ("verbatim", options.verbatim, [binlog]),
        ("reverse", reverse, [sql, binlog]),
        ("statement-bytes", options.statement_bytes is not None, [sql]),
        ("local-load", options.local_load is not None, [sql]),
        ("fragment-bytes", options.fragment_bytes is not None, [thl]),
        ("rows", options.rows, [json]),
        ("schema", has_schema and not (reverse or options.where), [sql, json, thl]),
        ("only-matching", options.only_matching, [sql, json]),
        ("exclude-table", selection.exclude_tables, [binlog, sql] if reverse else [sql, json]),
        ("operations", options.operations, [sql, json]),
        ("rewrite-db", options.databases, [binlog, sql]),
    ):
        if is_given and form not in forms:
            *others, last = (choice.value for choice in forms)
            applies = f"{', '.join(others)} and {last}" if others else last
            raise UsageError(f"--{name} applies only to --format {applies}, not {form.value}")
    if on_conflict is not OnConflict.STOP and not (reverse and form is sql):
        raise UsageError(
            "--on-conflict applies only to --reverse --format sql: a binary log cannot check itself"
        )
    if reverse and form is binlog and (options.verbatim or options.databases):
        raise UsageError("--verbatim and --rewrite-db do not apply to --reverse --format binlog")
    if reverse and options.local_load is not None:
        raise UsageError("--local-load does not apply to --reverse: a LOAD DATA cannot be undone")
    if options.verbatim and options.databases:
        raise UsageError("--rewrite-db and --verbatim cannot be combined")
    if options.fragment_bytes == 0:
        raise UsageError("expected fragments of at least 1 byte, found --fragment-bytes 0")
    if options.only_matching and not (selection.databases or selection.tables or options.where):
        raise UsageError("--only-matching needs --table, --db or --where, which say what rows match")
