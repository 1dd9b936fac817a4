"""``binx ls``: list transactions, one per line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING

from binx.cli.command import Example, command, flag, offered, option, parsed
from binx.cli.layout import screen_lines
from binx.cli.options import LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.selecting import WHERE, selection_options
from binx.cli.terminal import say_losses, screen, text_output
from binx.errors import ExitCode, UsageError
from binx.log.selection.selection import Selection
from binx.log.selection.times import zone_name
from binx.source.wording import did_you_mean
from binx.stats.lines import ALIASES, COLUMNS, LineWriter, parse_columns
from binx.stats.listing import Listing, Order

if TYPE_CHECKING:
    from binx.stats.sections import SectionColumn
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

_SCREEN_COLUMNS = ("commit_timestamp", "gtid", "kind", "bytes", "rows", "tables")
"""Default columns on a terminal."""

_SPARE = ("tables", "kind", "rows")
_TITLES = {
    "commit_timestamp": "COMMITTED",
    "original_commit_timestamp": "ORIGINAL COMMIT",
    "begin_timestamp": "BEGUN",
    "bytes": "SIZE",
    "uncompressed_bytes": "UNCOMPRESSED",
}
_SECOND = len("2026-11-21T09:48:53")
_MICROSECOND = len("2026-11-21T09:48:53.401966")
_LONG_COUNT = re.compile(r"(?<= [+~-])[0-9]{4,}(?=[ ,]|$)")

_SORT_ALIASES = {"size": Order.BYTES.value}
_DIRECTIONS = ("asc", "desc")


def _parse_sort(text: str) -> tuple[Order, bool]:
    """Parse the order, and whether it is reversed."""
    name, colon, direction = text.strip().lower().partition(":")
    name = _SORT_ALIASES.get(name, name)
    keys = [order.value for order in Order]
    if name not in keys or (colon and direction not in _DIRECTIONS):
        raise UsageError(
            f"expected one of {', '.join(keys)}, size, with :asc or :desc, found {text!r}"
            f"{did_you_mean(name, (*keys, *_SORT_ALIASES))}"
        )
    order = Order(name)
    if not colon:
        return order, False
    if order is Order.LOG and direction == "desc":
        raise UsageError("log order has no direction; use time:desc")
    return order, order is not Order.LOG and (direction == "asc") != (order is Order.TIME)


@command(
    "ls",
    examples=EXAMPLES,
    brief="gtid since until table db thread-id kind grep where limit sort columns tz quick json",
)
@selection_options
@WHERE
@option(
    "--sort KEY[:asc|:desc]",
    type=parsed(_parse_sort),
    shell_complete=offered([*(order.value for order in Order), *_SORT_ALIASES]),
    default=Order.LOG.value,
    help="Sort by size, rows, time, duration or log order.",
)
@flag("--reverse", "Reverse the sort order.")
@option(
    "--columns LIST",
    type=parsed(parse_columns),
    shell_complete=offered([*COLUMNS, *ALIASES]),
    help="Columns to show, separated by commas: time,gtid,size,thread and so on.",
)
@ZONE
@flag("--quick", "Do not read rows; row counts and tables are not shown.")
@LOOK
@as_json_option("Print one JSON object per line.")
@log_options(index=True, schema=True)
def ls_command(
    logs: Logs,
    selection: Selection,
    where: Condition | None,
    sort: tuple[Order, bool],
    reverse: bool,
    columns: tuple[str, ...] | None,
    zone: tzinfo,
    quick: bool,
    as_json: bool,
) -> ExitCode:
    """List transactions, one per line: time, GTID, kind, size, rows and tables."""
    order, turned = sort
    width, colour = (None, False) if as_json else screen()
    shown = columns if width is None else columns or _SCREEN_COLUMNS
    with text_output(plain=as_json) as output, logs.opened("ls", selection) as (chain, bar):
        listing = Listing(
            chain,
            LineWriter(shown, as_json=as_json, zone=zone),
            selection=selection._replace(limit=None),
            order=order,
            reverse=turned != reverse,
            limit=selection.limit,
            quick=quick,
            verify=logs.verify,
            on_damage=logs.on_damage,
            where=where,
            tables=logs.known_tables(chain),
        )
        is_empty = True
        texts: Iterable[bytes] = listing
        if width is not None and shown is not None:
            texts = _screen(listing, shown, zone, width, colour)
        for text in texts:
            is_empty = is_empty and not text
            if width is not None:
                bar.hide()
            output.write_bytes(text)
    if is_empty and listing.missing.is_empty:
        matching = "" if selection._replace(limit=None) == Selection() else " that matches"
        logs.notes([f"no transaction{matching} in these files"])
    logs.notes(listing.notes)
    return logs.ending(listing.missing, losses=say_losses(listing.damage))


def _screen(
    texts: Iterable[bytes], names: tuple[str, ...], zone: tzinfo, width: int, colour: bool
) -> Iterator[bytes]:
    """Yield lines for a terminal; tables come last and get the remaining width."""
    order = sorted(range(len(names)), key=lambda index: names[index] == "tables")
    columns = [_column(names[index], zone, chosen=names != _SCREEN_COLUMNS) for index in order]
    rows = (line.split("\t") for text in texts for line in text.decode().splitlines())
    lines = screen_lines(columns, ([row[index] for index in order] for row in rows), width, colour=colour)
    head = next(lines)
    for number, line in enumerate(lines):
        yield (line if number else f"{head}\n{line}").encode() + b"\n"


def _column(name: str, zone: tzinfo, *, chosen: bool) -> SectionColumn:
    """Return a column, whose values are fields of plain lines."""
    from binx.stats.sections import TEXTS, TIMES, Form, SectionColumn
    from binx.stats.text import bytes_text, short_transaction, transaction_duration_text

    def form(write: Callable[[int], str]) -> Form:
        return Form(lambda text: write(int(text)), str)

    title = _TITLES.get(name, name.replace("_", " ").upper())
    spare = 0 if chosen or name not in _SPARE else _SPARE.index(name)
    if name.endswith("_timestamp"):
        times = Form(_time, str, TIMES, lambda text: _time(text[:_SECOND]))
        return SectionColumn(f"{title} ({zone_name(zone)})", times)
    if name == "tables":
        return SectionColumn(title, Form(_with_separators, str, TEXTS), cut=True)
    if name in ("transaction", "gtid"):
        return SectionColumn(title, Form(str, str, TEXTS, short_transaction))
    if name in ("kind", "how", "file", "commit_time_source"):
        return SectionColumn(title, Form(str, str, TEXTS), spare=spare)
    if name in ("bytes", "uncompressed_bytes"):
        return SectionColumn(title, form(bytes_text))
    if name == "duration":
        return SectionColumn(title, form(transaction_duration_text))
    return SectionColumn(
        title, form("{:,}".format if name in ("rows", "events", "statements") else str), spare=spare
    )


def _time(text: str) -> str:
    """Return a time without its zone, which is in the header."""
    fraction = text[_SECOND:_MICROSECOND] if text[_SECOND : _SECOND + 1] == "." else ""
    return (text[:_SECOND] + fraction).replace("T", " ")


def _with_separators(text: str) -> str:
    """Add thousands separators to the numbers of changes."""
    return _LONG_COUNT.sub(lambda count: f"{int(count[0]):,}", text)
