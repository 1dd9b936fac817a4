"""``binx events``: list every event of the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import groupby
from operator import itemgetter

from binx.cli.command import COUNT, Example, command, flag, option, parsed
from binx.cli.layout import UNKNOWN, screen_lines
from binx.cli.options import LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.terminal import say_losses, screen, text_output
from binx.errors import ExitCode
from binx.log.selection.times import Position, index_of_file, parse_position, zone_name
from binx.stats.event_list import PLAIN_EVENT_COLUMNS, EventListing, parse_types
from binx.stats.text import fit_text, short_transaction

EXAMPLES = (
    Example("every event of a log", "binx events mysql-bin.000003"),
    Example(
        "the first ten events after an offset",
        "binx events --start-position 4711 --limit 10 mysql-bin.000003",
    ),
    Example("what was logged as statements", "binx events --type QUERY,XA_PREPARE mysql-bin.000003"),
    Example(
        "number of events by type, including those in compressed payloads",
        "binx events --inner --json mysql-bin.000003 | jq -r .event_type | sort | uniq -c",
    ),
)

_SECTION = "Which events"
_TRANSACTION = PLAIN_EVENT_COLUMNS.index("start")


@command(
    "events",
    examples=EXAMPLES,
    brief="type start-position stop-position limit inner tz json no-checksums on-damage",
)
@option(
    "--type TYPE",
    "types",
    multiple=True,
    type=parsed(parse_types),
    section=_SECTION,
    help="Of this type; * and ? match: '*_ROWS*'; separate several by commas.",
)
@option(
    "--start-position POS",
    "start",
    type=parsed(parse_position),
    section=_SECTION,
    help="Ending after this position: POS, or FILE:POS with several files.",
)
@option(
    "--stop-position POS",
    "stop",
    type=parsed(parse_position),
    section=_SECTION,
    help="Starting before this position.",
)
@option("--limit", type=COUNT, section=_SECTION, help="Only the first N that match.")
@flag("--inner", "Include events inside compressed payloads.", section=_SECTION)
@ZONE
@LOOK
@as_json_option("Print one JSON object per line.")
@log_options()
def events_command(
    logs: Logs,
    types: tuple[frozenset[int], ...],
    start: Position | None,
    stop: Position | None,
    limit: int | None,
    inner: bool,
    zone: tzinfo,
    as_json: bool,
) -> ExitCode:
    """List every event: offset, type, size, server, time, flags, checksum and transaction."""
    width, colour = (None, False) if as_json else screen()
    with text_output(plain=as_json) as output, logs.opened("events") as (chain, bar):
        files = [ends.file for ends in chain]
        names = [file.name for file in files]
        first = 0 if start is None else index_of_file(start, names)
        last = len(chain) - 1 if stop is None else index_of_file(stop, names)
        bar.expect(sum(file.own_size for file in files[first : last + 1]))
        listing = EventListing(
            files,
            first=first,
            last=last,
            types=frozenset[int]().union(*types) if types else None,
            inner=inner,
            start=start.offset if start is not None else 0,
            stop=None if stop is None else stop.offset,
            limit=limit,
            verify=logs.verify,
            on_damage=logs.on_damage,
            as_json=as_json,
            zone=zone,
        )
        texts = listing.lines()
        try:
            for text in texts if width is None else _screen(texts, zone, width, colour):
                if width is not None:
                    bar.hide()
                output.write_bytes(text)
        finally:
            output.flush()
            logs.notes(listing.notes)
            say_losses(listing.problems)
    return logs.ending("", losses=bool(listing.problems))


def _screen(texts: Iterable[bytes], zone: tzinfo, width: int, colour: bool) -> Iterator[bytes]:
    """Yield lines for a terminal, with a header for each file."""
    from binx.stats.sections import TEXTS, TIMES, Form, SectionColumn

    plain, number = Form(str, str, TEXTS), Form(str, str)
    columns = {
        "position": SectionColumn("POSITION", number),
        "end": SectionColumn("END", number, spare=6),
        "event_type": SectionColumn("TYPE", plain),
        "bytes": SectionColumn("SIZE", Form(lambda text: f"{int(text):,}", str)),
        "server_id": SectionColumn("SERVER", number, spare=5),
        "event_timestamp": SectionColumn(
            f"TIME ({zone_name(zone)})", Form(lambda text: text[:19].replace("T", " "), str, TIMES), spare=4
        ),
        "flags": SectionColumn("FLAGS", plain, spare=7),
        "checksum": SectionColumn("CRC32", plain),
        "gtid": SectionColumn("TRANSACTION", Form(str, str, TEXTS, short_transaction)),
    }
    indexes = [PLAIN_EVENT_COLUMNS.index(name) for name in columns]
    rows = (line.split("\t") for text in texts for line in text.decode().splitlines())
    for number_of_file, (file, events) in enumerate(groupby(rows, key=itemgetter(0))):
        yield f"{'' if not number_of_file else chr(10)}{fit_text(file, width)}\n".encode()
        for line in screen_lines(
            list(columns.values()), (_cells(row, indexes) for row in events), width, colour=colour
        ):
            yield f"{line}\n".encode()


def _cells(row: list[str], indexes: list[int]) -> list[str]:
    """Return the cells of a line; a transaction without GTID is named by its start."""
    cells = [row[index] for index in indexes]
    return cells if cells[-1] != UNKNOWN else [*cells[:-1], row[_TRANSACTION]]
