"""``binx ls``: one line per transaction."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from binx.cli.command import Example, command, offered, option, parsed
from binx.cli.layout import ROOMY
from binx.cli.options import (
    FILES,
    LOOK,
    NO_CHECKSUMS,
    ON_DAMAGE,
    QUIET,
    SCHEMA,
    ZONE,
    index_options,
    known_tables,
    schema_dump,
)
from binx.cli.progress import ProgressBar, progress_bar
from binx.cli.selecting import WHERE, selection_options, tell_understood
from binx.cli.terminal import (
    TextOutput,
    ending,
    has_colour,
    is_for_screen,
    say_damage,
    say_note,
    say_warning,
    terminal_width,
    text_output,
)
from binx.errors import ExitCode, UsageError
from binx.log.chain.chain import ends_problems
from binx.log.chain.inputs import open_chain
from binx.log.index.lookup import IndexUse
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection
from binx.stats.lines import LineWriter, parse_columns
from binx.stats.listing import Listing, Order
from binx.stats.text import short_source
from binx.stats.transaction import ListedTransaction

if TYPE_CHECKING:
    from binx.where.condition import Condition

EXAMPLES = (
    Example("what is in a log", "binx ls mysql-bin.000003"),
    Example("the five largest transactions of all logs", "binx ls --sort size --limit 5 mysql-bin.index"),
    Example(
        "the last ten transactions: commit time in Berlin, and connection",
        "binx ls --sort time:desc --limit 10 --tz Europe/Berlin --columns time,gtid,thread,tables \\\n"
        "    mysql-bin.*",
    ),
    Example(
        "who touched a table",
        "binx ls --table shop.orders --json mysql-bin.* | jq -r '[.gtid, .thread_id] | @tsv'",
    ),
)

_SOURCES_TOLD = 4
"""Servers whose UUIDs are told in full, at most."""

_SORT_ALIASES = {"size": Order.BYTES.value}
_DIRECTIONS = ("asc", "desc")


def _parse_sort(text: str) -> tuple[Order, bool]:
    """The order, and whether it is the other way round than it is by itself."""
    name, colon, direction = text.strip().lower().partition(":")
    name = _SORT_ALIASES.get(name, name)
    keys = [order.value for order in Order]
    if name not in keys or (colon and direction not in _DIRECTIONS):
        raise UsageError(f"expected one of {', '.join(keys)}, size, with :asc or :desc, found {text!r}")
    order = Order(name)
    if not colon:
        return order, False
    if order is Order.LOG and direction == "desc":
        raise UsageError("log order has no direction; use time:desc")
    return order, order is not Order.LOG and (direction == "asc") != (order is Order.TIME)


@command("ls", examples=EXAMPLES)
@selection_options
@WHERE
@option(
    "--sort",
    metavar="KEY[:asc|:desc]",
    type=parsed(_parse_sort),
    shell_complete=offered([order.value for order in Order]),
    default=Order.LOG.value,
    show_default=True,
    help="Sort by size, rows, time, duration or log order.",
)
@option("--reverse", is_flag=True, help="Reverse the sort order.")
@option(
    "--columns",
    metavar="LIST",
    type=parsed(parse_columns),
    help="Columns to show, separated by commas: time,gtid,size,thread and so on.",
)
@SCHEMA
@ZONE
@option("--quick", is_flag=True, help="Do not read rows; row counts and tables are not shown.")
@LOOK
@option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@NO_CHECKSUMS
@ON_DAMAGE
@index_options
@QUIET
@FILES
def ls_command(
    selection: Selection,
    where: Condition | None,
    schema: str | None,
    sort: tuple[Order, bool],
    reverse: bool,
    columns: tuple[str, ...] | None,
    zone: tzinfo,
    quick: bool,
    as_json: bool,
    no_checksums: bool,
    on_damage: str,
    index: IndexUse | None,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """List transactions, one per line: time, GTID, kind, size, rows and tables."""
    dump = schema_dump(schema)
    tell_understood(selection, dump, quiet=quiet)
    order, turned = sort
    notes: list[str] = []
    with (
        text_output(plain=as_json) as output,
        progress_bar("ls", quiet=quiet) as bar,
        open_chain(files, bar.advance, index, OnDamage(on_damage)) as chain,
    ):
        bar.expect(sum(ends.file.size for ends in chain))
        if not quiet:
            for problem in ends_problems(chain):
                say_warning(f"{problem.before}, {problem.after}: {problem.message}")
        listing = Listing(
            chain,
            selection=selection._replace(limit=None),
            order=order,
            reverse=turned != reverse,
            limit=selection.limit,
            quick=quick,
            verify=not no_checksums,
            on_damage=OnDamage(on_damage),
            where=where,
            tables=known_tables(dump, chain),
        )
        if as_json or not is_for_screen():
            listed = False
            for text in listing.lines(LineWriter(columns, as_json=as_json, zone=zone)):
                listed = listed or bool(len(text))
                output.write_bytes(text)
        else:
            shown = _Shown(listing)
            _show(shown, columns, zone, output, bar)
            listed = shown.any
            named = columns is None or not {"gtid", "transaction"}.isdisjoint(columns)
            notes = shown.shortened() if named and terminal_width(sys.stdout) < ROOMY else []
    if not quiet:
        for note in notes:
            say_note(note)
        if not listed and listing.missing.is_empty:
            asked = "" if selection._replace(limit=None) == Selection() else " that was asked for"
            say_note(f"there is no transaction{asked} in these files")
        for note in listing.notes:
            say_note(note)
    return ending(listing.missing, losses=say_damage(listing.damage))


class _Shown:
    """Transactions on their way to a terminal, which may have no room for the UUIDs of their GTIDs."""

    def __init__(self, listing: Listing) -> None:
        self.any = False
        self._listing = listing
        self._sources: dict[str, None] = {}

    def __iter__(self) -> Iterator[ListedTransaction]:
        for one in self._listing:
            self.any = True
            source, colon, _ = (one.gtid or "").partition(":")
            if colon and len(self._sources) <= _SOURCES_TOLD:
                self._sources[source] = None
            yield one

    def shortened(self) -> list[str]:
        """What the shortened UUIDs stand for, which options want in full; nothing where they are many."""
        told = [f"{short_source(source)} is {source}" for source in self._sources]
        return told if len(told) <= _SOURCES_TOLD else []


def _show(
    listing: Iterable[ListedTransaction],
    columns: tuple[str, ...] | None,
    zone: tzinfo,
    output: TextOutput,
    bar: ProgressBar,
) -> None:
    from binx.cli.listing import TERMINAL_COLUMNS, listing_lines

    lines = listing_lines(
        listing,
        terminal_width(sys.stdout),
        colour=has_colour(sys.stdout),
        columns=columns or TERMINAL_COLUMNS,
        zone=zone,
    )
    for line in lines:
        bar.hide()
        output.line(line)
