"""``binx extract``: whole transactions, extracted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binx.cli.declaration import OUTPUT, Choice, Example, FilePath, Parsed, command, option
from binx.cli.indexing import index_options
from binx.cli.options import FILES, NO_CHECKSUMS, ON_DAMAGE, QUIET, SCHEMA, known_tables
from binx.cli.progress import progress_bar
from binx.cli.selecting import WHERE, selection_options, understood
from binx.cli.terminal import missing_gtids, say_note, say_warning
from binx.errors import ExitCode, UsageError
from binx.export.extract import ExtractOptions, SliceFormat, extract
from binx.log.chain import ProblemKind, ends_problems
from binx.log.index_use import IndexUse
from binx.log.inputs import open_chain
from binx.log.on_damage import OnDamage
from binx.log.selection import Selection
from binx.log.sizes import parse_size

if TYPE_CHECKING:
    from binx.export.where import Condition

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
        "SQL that undoes a mistake (read it before running it)",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --format sql --reverse \\\n"
        "    mysql-bin.* -o undo.sql",
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

DETAILS = (
    "The output contains whole transactions only. A position inside a transaction means the start of that"
    " transaction. Notes on standard error say how times and positions were interpreted. Different options"
    " must all match; of a repeated option, one match is enough.",
    "Files are processed in chain order, regardless of the order on the command line. The search ends once"
    " all requested GTIDs are found, and files ruled out by PREVIOUS_GTIDS are not read. If some GTIDs are"
    " not in any file, the others are written, the missing ones are listed, and the exit status is 4.",
    "With --format sql, each row change is one statement with column names, GTID_NEXT and TIMESTAMP;"
    " running the statements on a server produces the same rows and the same GTIDs. Unlike with a binary"
    " log, triggers fire: drop them first, since the log already contains their changes. Numbers and times"
    " inside JSON documents become plain JSON and lose MySQL's internal types. If a statement exceeds the"
    " default client limit of 16 MiB, the required max_allowed_packet is reported. Generated columns are"
    " left out, because servers reject values for them; they are known only from CREATE TABLE or --schema,"
    " and a warning names tables for which neither is available. With --format json, each line is a"
    " transaction, or with --rows a row change. Column names come from the log, from DDL earlier in the"
    " logs, or from --schema.",
    "With --reverse, the statements undo the transactions, newest first: inserted rows are deleted, deleted"
    " rows inserted, updated rows set back. Rows are matched by all columns, so a row that has changed"
    " since is left alone; with --by-key, by key only. If anything cannot be undone (DDL, changes logged as"
    " statements, row images without the old values), everything that cannot be undone is listed and"
    " nothing is written.",
    "With --where, a transaction is selected if it changes a row whose image before or after the change"
    " matches the condition; before.COLUMN and after.COLUMN refer to one of the two. A condition consists"
    " of columns and literals, the operators = <> < <= > >= <=>, IN, BETWEEN, LIKE, REGEXP and IS NULL, and"
    " AND, OR, XOR and NOT. Text is compared exactly with text, and with numbers by the number it starts"
    " with, as servers do. TIMESTAMP literals are in UTC unless they have an offset such as +02:00, which IN"
    " and BETWEEN do not take; DATETIME has no time zone, and its literals take no offset. Tables without the"
    " columns do not match; use --table to select tables. If a column has, or once had, a type for which"
    " the literal is not valid ('zz' for an INT), rows of those tables do not match, and a warning says so;"
    " if that is so for all tables, it is an error.",
    "If a log is damaged in a part that has to be read, nothing is written. With --on-damage salvage,"
    " intact transactions are written, the lost byte ranges are listed, and the exit status is 3.",
    "With --format thl, the output has the format of Tungsten Replicator's thl list. SEQ# counts the"
    " transactions of the chain from 1, EPOCH# counts server starts, EVENTID is the file, the end offset of"
    " the fragment and the connection, SOURCEID is the server id. COL is a value after the change, KEY one"
    " before it. Transactions larger than --fragment-bytes are split between statements.",
    "A binary log that is written has new positions and checksums and an empty PREVIOUS_GTIDS. The logical"
    " clock is kept if the transactions are one contiguous run of one file, and made serial otherwise. A"
    " binary log is never written to a terminal.",
)


@command("extract", examples=EXAMPLES, details=DETAILS)
@selection_options
@WHERE
@option(
    "--format",
    name="form",
    value=Choice(*(one.value for one in SliceFormat)),
    default=SliceFormat.BINLOG.value,
    show_default=True,
    section=OUTPUT,
    help="Output format.",
)
@option(
    "--verbatim", is_flag=True, section=OUTPUT, help="binlog: copy the bytes unchanged, including positions."
)
@option(
    "--rows", is_flag=True, section=OUTPUT, help="json: one line per row change instead of per transaction."
)
@option(
    "--reverse",
    is_flag=True,
    section=OUTPUT,
    help="sql: write SQL that undoes the transactions, newest first.",
)
@option("--by-key", is_flag=True, section=OUTPUT, help="reverse: match rows by key only, not by all columns.")
@option(
    "--fragment-bytes",
    metavar="SIZE",
    value=Parsed("size", parse_size),
    section=OUTPUT,
    help="thl: maximum size of a fragment.  [default: 1000000]",
)
@SCHEMA
@option(
    "-o",
    "--output",
    metavar="OUT",
    default="-",
    section=OUTPUT,
    value=FilePath(),
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
    by_key: bool,
    fragment_bytes: int | None,
    schema: str | None,
    output: str,
    on_damage: str,
    no_checksums: bool,
    index: IndexUse | None,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """Extract whole transactions as a binary log that replays with the same GTIDs, or as SQL, JSON or THL."""
    form_wanted = SliceFormat(form)
    options = ExtractOptions(
        format=form_wanted,
        verbatim=verbatim,
        rows=rows,
        reverse=reverse,
        by_key=by_key,
        fragment_bytes=fragment_bytes,
        where=where,
        verify=not no_checksums,
        on_damage=OnDamage(on_damage),
    )
    _refuse_idle_options(options, schema)
    catalog, unclear = known_tables(schema)
    if not quiet:
        for line in [*understood(selection), *unclear]:
            say_note(line)
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
        report = extract(chain, selection, output, options, catalog)
    if not quiet:
        for note in report.notes:
            say_note(note)
        for warning in report.warnings:
            say_warning(warning)
        say_note(f"transactions written: {report.transactions:,} ({report.bytes:,} bytes)")
    for damage in report.damage:
        say_warning(damage)
    absent = missing_gtids(report.missing)
    return ExitCode.LOSSES if report.damage and absent is ExitCode.DONE else absent


def _refuse_idle_options(options: ExtractOptions, schema: str | None) -> None:
    """An option that says nothing about the format asked for is a misunderstanding."""
    form = options.format
    if options.verbatim and form is not SliceFormat.BINLOG:
        raise UsageError(f"--verbatim applies only to --format binlog, not {form.value}")
    if options.reverse and form is not SliceFormat.SQL:
        raise UsageError(f"--reverse applies only to --format sql, not {form.value}")
    if options.by_key and not options.reverse:
        raise UsageError("--by-key applies only to --reverse")
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
