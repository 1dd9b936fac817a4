"""``binx extract``: whole transactions, extracted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binx.cli.command import PATH, Example, command, option, parsed
from binx.cli.options import (
    FILES,
    NO_CHECKSUMS,
    ON_DAMAGE,
    QUIET,
    SCHEMA,
    SIZE,
    index_options,
    known_tables,
    schema_dump,
)
from binx.cli.progress import progress_bar
from binx.cli.selecting import WHERE, selection_options, tell_understood
from binx.cli.terminal import ending, say_note, say_warning
from binx.errors import ExitCode, UsageError
from binx.log.chain.chain import ProblemKind, ends_problems
from binx.log.chain.inputs import open_chain
from binx.log.index.lookup import IndexUse
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.slices.extract import OPERATIONS, ExtractOptions, SliceFormat, extract
from binx.slices.options import OnConflict

if TYPE_CHECKING:
    from binx.where.condition import Condition

_NAME_BYTES = 255
"""What a table map has room for; servers take 64 characters."""

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
    """Some of the operations, joined by commas, each once.

    Raises:
        UsageError: one of them is none.
    """
    names = frozenset(name.strip().lower() for name in text.split(","))
    if not names.issubset(OPERATIONS):
        raise UsageError(f"expected some of {','.join(OPERATIONS)}, found {text!r}")
    return names


def parse_renaming(text: str) -> tuple[str, str]:
    """A database's name and its new one.

    Raises:
        UsageError: there are no two, or one is longer than a table map has room for.
    """
    old, _, new = text.partition("=")
    if not old or not new or len(new.encode()) > _NAME_BYTES:
        raise UsageError(f"expected OLD=NEW, names of databases, found {text!r}")
    return old, new


@command("extract", examples=EXAMPLES)
@selection_options
@WHERE
@option(
    "--format",
    "form",
    type=click.Choice([*(one.value for one in SliceFormat)]),
    default=SliceFormat.BINLOG.value,
    show_default=True,
    help="Output format.",
)
@option("--verbatim", is_flag=True, help="binlog: copy the bytes unchanged, including positions.")
@option("--rows", is_flag=True, help="json: one line per row change instead of per transaction.")
@option(
    "--reverse",
    is_flag=True,
    help="sql, binlog: write what undoes the transactions, newest first; with the default, binlog, as a"
    " binary log, which cannot check itself.",
)
@option(
    "--on-conflict",
    type=click.Choice([*(one.value for one in OnConflict)]),
    default=OnConflict.STOP.value,
    show_default=True,
    help="reverse: rows changed since: undo nothing, leave them alone, or overwrite them.",
)
@option(
    "--only-matching",
    is_flag=True,
    help="sql, json: only rows that match --table, --db and --where, not whole transactions.",
)
@option(
    "--operations",
    metavar="LIST",
    type=parsed(parse_operations),
    help="sql, json: only these row changes: some of insert,update,delete.",
)
@option(
    "--rewrite-db",
    "renamed",
    metavar="OLD=NEW",
    type=parsed(parse_renaming),
    multiple=True,
    help="binlog, sql: write rows and statements of database OLD for NEW; repeatable.",
)
@option(
    "--statement-bytes",
    metavar="SIZE",
    type=SIZE,
    help="sql: maximum size of an INSERT of several rows.  [default: 1MiB]",
)
@option(
    "--fragment-bytes", metavar="SIZE", type=SIZE, help="thl: maximum size of a fragment.  [default: 1000000]"
)
@SCHEMA
@option(
    "-o",
    "--output",
    metavar="OUT",
    default="-",
    type=PATH,
    help="Output file; it appears once it is complete.  [default: standard output]",
)
@ON_DAMAGE
@NO_CHECKSUMS
@index_options
@QUIET
@FILES
def extract_command(
    selection: Selection,
    where: Condition | None,
    form: str,
    verbatim: bool,
    rows: bool,
    reverse: bool,
    on_conflict: str,
    only_matching: bool,
    operations: frozenset[str] | None,
    renamed: tuple[tuple[str, str], ...],
    statement_bytes: int | None,
    fragment_bytes: int | None,
    schema: str | None,
    output: str,
    on_damage: str,
    no_checksums: bool,
    index: IndexUse | None,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """Extract whole transactions as a binary log that replays with the same GTIDs, or as SQL, JSON or THL."""
    form_wanted = SliceFormat(form)
    options = ExtractOptions(
        format=form_wanted,
        verbatim=verbatim,
        rows=rows,
        reverse=reverse,
        on_conflict=OnConflict(on_conflict),
        statement_bytes=statement_bytes,
        fragment_bytes=fragment_bytes,
        where=where,
        only_matching=only_matching,
        operations=operations,
        databases=dict(renamed),
        verify=not no_checksums,
        on_damage=OnDamage(on_damage),
    )
    _refuse_idle_options(options, schema)
    _refuse_idle_choice(options, selection)
    dump = schema_dump(schema)
    tell_understood(selection, dump, quiet=quiet)
    with (
        progress_bar("extract", quiet=quiet) as bar,
        open_chain(files, bar.advance, index, options.on_damage) as chain,
    ):
        bar.expect(sum(ends.file.size for ends in chain))
        if not quiet:
            for problem in ends_problems(chain):
                # GTIDs that are not there are told by themselves.
                if problem.kind is ProblemKind.REPEATED or selection.gtids is None:
                    say_warning(f"{problem.before}, {problem.after}: {problem.message}")
        report = extract(chain, selection, output, options, known_tables(dump, chain))
    if not quiet:
        for note in report.notes:
            say_note(note)
        for warning in report.warnings:
            say_warning(warning)
        say_note(f"transactions written: {report.transactions:,} ({report.bytes:,} bytes)")
    for damage in report.damage:
        say_warning(damage)
    return ending(report.missing, losses=bool(report.damage))


def _refuse_idle_options(options: ExtractOptions, schema: str | None) -> None:
    """An option that says nothing about the format asked for is a misunderstanding."""
    form = options.format
    if options.verbatim and form is not SliceFormat.BINLOG:
        raise UsageError(f"--verbatim applies only to --format binlog, not {form.value}")
    if options.reverse and form not in {SliceFormat.SQL, SliceFormat.BINLOG}:
        raise UsageError(f"--reverse applies only to --format sql and binlog, not {form.value}")
    if options.on_conflict is not OnConflict.STOP and not (options.reverse and form is SliceFormat.SQL):
        raise UsageError(
            "--on-conflict applies only to --reverse --format sql: a binary log cannot check itself"
        )
    if options.reverse and form is SliceFormat.BINLOG and (options.verbatim or options.databases):
        raise UsageError("--verbatim and --rewrite-db do not apply to --reverse --format binlog")
    if options.statement_bytes is not None and form is not SliceFormat.SQL:
        raise UsageError(f"--statement-bytes applies only to --format sql, not {form.value}")
    if options.fragment_bytes is not None and form is not SliceFormat.THL:
        raise UsageError(f"--fragment-bytes applies only to --format thl, not {form.value}")
    if options.fragment_bytes == 0:
        raise UsageError("expected fragments of at least 1 byte, found --fragment-bytes 0")
    if options.rows and form is not SliceFormat.JSON:
        raise UsageError(f"--rows applies only to --format json, not {form.value}")
    if schema is not None and form is SliceFormat.BINLOG:
        raise UsageError(
            "--schema applies only to --format sql, json and thl; a binary log needs no column names"
        )


def _refuse_idle_choice(options: ExtractOptions, selection: Selection) -> None:
    """The same of options that choose rows, or rename databases."""
    form = options.format
    for name, given in (("only-matching", options.only_matching), ("operations", options.operations)):
        if given and form not in (SliceFormat.SQL, SliceFormat.JSON):
            raise UsageError(f"--{name} applies only to --format sql and json, not {form.value}")
    if options.only_matching and not (selection.databases or selection.tables or options.where):
        raise UsageError("--only-matching needs --table, --db or --where, which say what rows match")
    if options.databases and (options.verbatim or form not in (SliceFormat.BINLOG, SliceFormat.SQL)):
        found = "--verbatim" if options.verbatim else form.value
        raise UsageError(f"--rewrite-db applies only to --format binlog and sql, not {found}")
