"""``binx extract``: whole transactions, cut out."""

from __future__ import annotations

import click

from binx.cli.options import (
    FILES,
    NO_CHECKSUMS,
    OUTPUT,
    QUIET,
    Example,
    command,
    option,
    selection_options,
    understood,
)
from binx.cli.progress import progress_bar
from binx.cli.terminal import missing_gtids, say_note
from binx.export.extract import ExtractOptions, SliceFormat, extract
from binx.log.inputs import open_chain
from binx.log.selection import Selection

EXAMPLES = (
    Example(
        "one transaction, as a binary log that mysqlbinlog and servers take",
        "binx extract --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.* -o one.binlog",
    ),
    Example(
        "what was done to a table within some minutes",
        "binx extract --since '2026-11-21 09:30' --until '2026-11-21 09:45' --table shop.orders \\\n"
        "    mysql-bin.index -o minutes.binlog",
    ),
    Example(
        "all but one transaction, for another server",
        "binx extract --exclude-gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.000003 |\n"
        "    mysqlbinlog - > replay.sql",
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
    "A binary log that is written has positions and checksums of its own, and an empty PREVIOUS_GTIDS. The"
    " logical clock is kept where the transactions are one contiguous run of one file, and made serial"
    " otherwise. A binary log is never written to a terminal.",
)


@command("extract", examples=EXAMPLES, details=DETAILS)
@selection_options
@option(
    "--format",
    "form",
    type=click.Choice([one.value for one in SliceFormat]),
    default=SliceFormat.BINLOG.value,
    show_default=True,
    section=OUTPUT,
    help="What to write of them.",
)
@option("--verbatim", is_flag=True, section=OUTPUT, help="binlog: copy the bytes as they are, positions too.")
@option(
    "-o",
    "--output",
    metavar="OUT",
    default="-",
    section=OUTPUT,
    type=click.Path(readable=False, allow_dash=True),
    help="Write to this file, which appears when it is whole.",
)
@NO_CHECKSUMS
@QUIET
@FILES
def extract_command(
    selection: Selection,
    form: str,
    verbatim: bool,
    output: str,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """Cut out whole transactions, as a binary log that servers take and that replays with the same GTIDs."""
    options = ExtractOptions(format=SliceFormat(form), verbatim=verbatim, verify=not no_checksums)
    if not quiet:
        for line in understood(selection):
            say_note(line)
    with progress_bar("extract", quiet=quiet) as bar, open_chain(files, bar.advance) as chain:
        bar.expect(sum(ends.file.size for ends in chain))
        report = extract(chain, selection, output, options)
    if not quiet:
        for note in report.notes:
            say_note(note)
        say_note(f"{report.transactions:,} transactions, {report.bytes:,} bytes written")
    return missing_gtids(report.missing)
