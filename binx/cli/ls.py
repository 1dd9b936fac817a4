"""``binx ls``: a line a transaction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import click

from binx.cli.listing import listing_lines, plain_line
from binx.cli.options import (
    FILES,
    NO_CHECKSUMS,
    OUTPUT,
    QUIET,
    Example,
    command,
    option,
)
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.selecting import selection_options, understood
from binx.cli.terminal import (
    has_colour,
    is_terminal,
    missing_gtids,
    say_note,
    terminal_width,
    text_output,
)
from binx.event.gtid_set import GtidSet
from binx.log.inputs import open_chain
from binx.log.selection import Selection
from binx.stats.listing import Order, list_transactions
from binx.stats.transaction import ListedTransaction

EXAMPLES = (
    Example("what is in a log", "binx ls mysql-bin.000003"),
    Example("the five largest transactions of all logs", "binx ls --sort bytes --limit 5 mysql-bin.index"),
    Example(
        "who touched a table",
        "binx ls --table shop.orders --json mysql-bin.* | jq -r '[.gtid, .thread_id] | @tsv'",
    ),
)

DETAILS = (
    "On a terminal the columns are as wide as they must be, and what does not fit is left out. In a pipe each"
    " line has, with tabs between: commit time, GTID, kind, bytes, rows, file, start, and what was done to"
    " which table: + rows inserted, ~ updated, - deleted. What is not known is a hyphen. With --json each"
    " line is an object with the names of the data set's transactions; see binx-to-parquet(1).",
)


@command("ls", examples=EXAMPLES, details=DETAILS)
@selection_options
@option(
    "--sort",
    type=click.Choice([order.value for order in Order]),
    default=Order.LOG.value,
    show_default=True,
    section=OUTPUT,
    help="Largest, longest or earliest first, or as in the logs.",
)
@option("--reverse", is_flag=True, section=OUTPUT, help="Sort the other way round.")
@option("--quick", is_flag=True, section=OUTPUT, help="Read no rows: neither their number nor tables.")
@option("--json", "as_json", is_flag=True, section=OUTPUT, help="One JSON object a line.")
@NO_CHECKSUMS
@QUIET
@FILES
def ls_command(
    selection: Selection,
    sort: str,
    reverse: bool,
    quick: bool,
    as_json: bool,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> int:
    """List transactions, one a line: time, GTID, kind, size, rows and tables."""
    if not quiet:
        for line in understood(selection):
            say_note(line)
    found = _Found(selection.gtids)
    with (
        text_output() as output,
        progress_bar("ls", quiet=quiet) as bar,
        open_chain(files, bar.advance) as chain,
    ):
        bar.expect(sum(ends.file.size for ends in chain))
        transactions = found.watch(
            list_transactions(
                [ends.file for ends in chain],
                selection=replace(selection, limit=None),
                order=Order(sort),
                reverse=reverse,
                limit=selection.limit,
                quick=quick,
                verify=not no_checksums,
            )
        )
        for line in _lines(transactions, as_json, bar):
            output.line(line)
    return missing_gtids(found.missing)


def _lines(transactions: Iterator[ListedTransaction], as_json: bool, bar: ProgressBar) -> Iterator[str]:
    if as_json:
        yield from map(ListedTransaction.to_json, transactions)
    elif not is_terminal(sys.stdout):
        yield from map(plain_line, transactions)
    else:
        lines = listing_lines(transactions, terminal_width(sys.stdout), colour=has_colour(sys.stdout))
        for line in lines:
            bar.close()
            yield line


class _Found:
    """Which of the GTIDs asked for were listed."""

    def __init__(self, wanted: GtidSet | None) -> None:
        self.missing = wanted or GtidSet()

    def watch(self, transactions: Iterator[ListedTransaction]) -> Iterator[ListedTransaction]:
        for one in transactions:
            if self.missing and one.gtid is not None:
                self.missing -= GtidSet.parse(one.gtid)
            yield one
