"""``binx extract``: whole transactions, cut out."""

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
        "one transaction, as a binary log that mysqlbinlog and servers take",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.* -o one.binlog",
    ),
    Example(
        "what was done to a table within some minutes, to read",
        "binx extract --since '2026-11-21 09:30' --until '2026-11-21 09:45' --table shop.orders \\\n"
        "    --format sql mysql-bin.index | less",
    ),
    Example(
        "all but one transaction, for another server",
        "binx extract --exclude-gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.000003 |\n"
        "    mysqlbinlog - > replay.sql",
    ),
    Example(
        "the SQL that undoes a mistake, to be read before it is run",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --format sql --reverse \\\n"
        "    mysql-bin.* -o undo.sql",
    ),
    Example(
        "whole transactions by what a row holds, before or after",
        "binx extract --table shop.orders --where \"status = 'paid' AND total > 100\" --format json \\\n"
        "    mysql-bin.*",
    ),
    Example(
        "one transaction as Tungsten Replicator's thl list prints it",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --format thl mysql-bin.*",
    ),
    Example(
        "what rows became, for programs; other rows of the same transactions come along",
        "binx extract --table shop.orders --format json --rows mysql-bin.000003 |\n"
        "    jq -c 'select(.table == \"orders\") | .after'",
    ),
)

DETAILS = (
    "The output holds whole transactions only. A position inside of one means its start; how times and"
    " positions were understood is told on standard error. Options of different names must all be met, of a"
    " repeated option one is enough.",
    "Files are taken in the order of their chain, whatever the order in which they are named. The search ends"
    " when all GTIDs asked for are found, and files whose PREVIOUS_GTIDS rule them out are not read. Where"
    " some GTIDs are in none of the files, the others are written, the missing ones are listed, and the exit"
    " status is 4.",
    "With --format sql each row change is a statement of its own, with columns by name, GTID_NEXT and"
    " TIMESTAMP, and a server that is fed with them has the same rows and the same GTIDs afterwards."
    " Triggers run on them, as they do not on a binary log: drop them first, as what they changed is there"
    " too. Numbers and times within JSON documents are what JSON text says, without MySQL's own types"
    " inside. Where a statement is longer than the 16 MiB that clients take by default, the"
    " max_allowed_packet that it needs is told. With --format json a line is a transaction, or with --rows"
    " a row change. Columns' names come from the log, from DDL in the logs before, or from --schema."
    " SQL leaves generated columns out, which only a CREATE TABLE or --schema tells: where neither is there,"
    " a warning names the tables, as a server refuses values for such columns.",
    "With --reverse the statements take the transactions back, the newest first: what was inserted is"
    " deleted, what was deleted inserted, what was updated set back. A row is found by all its columns, so"
    " one that was changed again since stays as it is; with --by-key by its key alone. If anything cannot be"
    " undone (DDL, changes logged as statements, images that lack what was there before) all of it is"
    " listed and nothing is written.",
    "With --where a transaction passes when it changes a row whose image before or after fulfils the"
    " condition; before.COLUMN and after.COLUMN ask one of the two. It takes columns and literals, compared"
    " by = <> < <= > >= <=>, IN, BETWEEN, LIKE, REGEXP or IS NULL, joined by AND, OR, XOR and NOT. Texts are"
    " compared exactly. A TIMESTAMP is in UTC where the literal has no offset such as +02:00; a DATETIME has"
    " no zone and takes none. Tables without such columns do not pass; choose tables by --table. Where a"
    " column has, or once had, a type that the literal is no value of ('zz' for an INT), rows of those tables"
    " do not pass, and a warning tells of them; where that is so of all tables, it is an error.",
    "Nothing is written where a log is damaged as far as it must be read. With --on-damage salvage the"
    " transactions that are whole are written, what was passed over is listed, and the exit status is 3.",
    "With --format thl the text is that of Tungsten Replicator's thl list: SEQ# counts the transactions of"
    " the chain from 1, EPOCH# the starts of the server, EVENTID is the file and the offset behind the"
    " fragment, with the connection; SOURCEID is the server id. COL is a value after, KEY one before the"
    " change. A transaction of more than --fragment-bytes is cut between statements.",
    "A binary log that is written has positions and checksums of its own, and an empty PREVIOUS_GTIDS. The"
    " logical clock is kept where the transactions are one contiguous run of one file, and made serial"
    " otherwise. A binary log is never written to a terminal.",
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
    help="What to write of them.",
)
@option("--verbatim", is_flag=True, section=OUTPUT, help="binlog: copy the bytes as they are, positions too.")
@option("--rows", is_flag=True, section=OUTPUT, help="json: a line for each row change, not transaction.")
@option(
    "--reverse", is_flag=True, section=OUTPUT, help="sql: what undoes the transactions, the newest first."
)
@option("--by-key", is_flag=True, section=OUTPUT, help="reverse: find rows by key alone, not all columns.")
@option(
    "--fragment-bytes",
    metavar="SIZE",
    value=Parsed("size", parse_size),
    section=OUTPUT,
    help="thl: cut transactions into fragments of such a size.  [default: 1000000]",
)
@SCHEMA
@option(
    "-o",
    "--output",
    metavar="OUT",
    default="-",
    section=OUTPUT,
    value=FilePath(),
    help="Write to this file, which appears when it is whole.  [default: standard output]",
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
    """Cut out whole transactions: as a binary log that replays with the same GTIDs, as SQL, JSON or THL."""
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
        raise UsageError(f"--verbatim is about --format binlog, not {form.value}")
    if options.reverse and form is not SliceFormat.SQL:
        raise UsageError(f"--reverse is about --format sql, not {form.value}")
    if options.by_key and not options.reverse:
        raise UsageError("--by-key is about --reverse")
    if options.fragment_bytes is not None and form is not SliceFormat.THL:
        raise UsageError(f"--fragment-bytes is about --format thl, not {form.value}")
    if options.fragment_bytes == 0:
        raise UsageError("expected fragments of at least 1 byte, found --fragment-bytes 0")
    if options.rows and form is not SliceFormat.JSON:
        raise UsageError(f"--rows is about --format json, not {form.value}")
    if schema is not None and form is SliceFormat.BINLOG:
        raise UsageError(
            "--schema is about --format sql, json and thl; a binary log needs no names of columns"
        )
