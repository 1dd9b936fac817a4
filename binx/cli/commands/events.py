"""``binx events``: every event of the logs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from binx.cli.command import Example, command, option, parsed
from binx.cli.layout import GAP, ROOMY, UNKNOWN
from binx.cli.options import COUNT, FILES, LOOK, NO_CHECKSUMS, ON_DAMAGE, QUIET, ZONE
from binx.cli.progress import progress_bar
from binx.cli.terminal import has_colour, is_for_screen, say_warning, terminal_width, text_output
from binx.errors import ExitCode
from binx.log.chain.inputs import open_chain
from binx.log.scanning import OnDamage
from binx.log.selection.moments import Position, parse_position, place_of, zone_name
from binx.stats.event_list import PLAIN_EVENT_COLUMNS, EventListing, parse_types
from binx.stats.text import fit_text, number_text, pad_text, short_transaction

EXAMPLES = (
    Example("every event of a log", "binx events mysql-bin.000003"),
    Example(
        "the first ten events after an offset",
        "binx events --start-position 4711 --limit 10 mysql-bin.000003",
    ),
    Example("what was logged as statements", "binx events --type QUERY,XA_PREPARE mysql-bin.000003"),
    Example(
        "number of events by type, including those in compressed payloads",
        "binx events --inner --json mysql-bin.000003 | jq -r .type | sort | uniq -c",
    ),
)

_MEASURED = 200
_WITH_TIMES = 80
_HEAD, _FAINT, _BAD, _END = "\x1b[1m", "\x1b[2m", "\x1b[1;31m", "\x1b[0m"


@command("events", examples=EXAMPLES)
@option(
    "--type",
    "types",
    metavar="TYPE",
    multiple=True,
    type=parsed(parse_types),
    section="Which events",
    help="Of this type; * and ? match: '*_ROWS*'; separate several by commas.",
)
@option(
    "--start-position",
    "start",
    metavar="POS",
    type=parsed(parse_position),
    section="Which events",
    help="Ending after this position: POS, or FILE:POS with several files.",
)
@option(
    "--stop-position",
    "stop",
    metavar="POS",
    type=parsed(parse_position),
    section="Which events",
    help="Starting before this position.",
)
@option("--limit", type=COUNT, section="Which events", help="Only the first N that match.")
@option("--inner", is_flag=True, section="Which events", help="Include events inside compressed payloads.")
@ZONE
@LOOK
@option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@NO_CHECKSUMS
@ON_DAMAGE
@QUIET
@FILES
def events_command(
    types: tuple[frozenset[int], ...],
    start: Position | None,
    stop: Position | None,
    limit: int | None,
    inner: bool,
    zone: tzinfo,
    as_json: bool,
    no_checksums: bool,
    on_damage: str,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """List every event: offset, type, size, server, time, flags, checksum and transaction."""
    wanted = frozenset[int]().union(*types) if types else None
    with (
        text_output(plain=as_json) as output,
        progress_bar("events", quiet=quiet) as bar,
        open_chain(files, bar.advance, on_damage=OnDamage(on_damage)) as chain,
    ):
        names = [ends.file.name for ends in chain]
        first = 0 if start is None else place_of(start, names)
        last = len(chain) - 1 if stop is None else place_of(stop, names)
        logs = [ends.file for ends in chain]
        bar.expect(sum(log.own_size for log in logs[first : last + 1]))
        listing = EventListing(
            logs,
            first=first,
            last=last,
            types=wanted,
            inner=inner,
            start=start.offset if start is not None else 0,
            stop=None if stop is None else stop.offset,
            limit=limit,
            verify=not no_checksums,
            on_damage=OnDamage(on_damage),
            as_json=as_json,
            zone=zone,
        )
        try:
            if as_json or not is_for_screen():
                for text in listing.lines():
                    output.write_bytes(text)
            else:
                shown = _Shown(terminal_width(sys.stdout), zone, colour=has_colour(sys.stdout))
                for line in shown.lines(listing.lines()):
                    bar.hide()
                    output.line(line)
        finally:
            output.flush()
            for problem in listing.problems:
                say_warning(problem)
    return ExitCode.LOSSES if listing.problems else ExitCode.DONE


class _Shown:
    """Lines for a terminal, fitted to it.

    Args:
        width: of the terminal.
        zone: the time zone of moments.
        colour: whether the head stands out, times stand back and bad checksums are seen.
    """

    def __init__(self, width: int, zone: tzinfo, *, colour: bool) -> None:
        self._width = width
        self._zone = zone
        self._colour = colour
        self._file = ""
        self._widths: list[int] = []
        columns = ["position", "type", "size", "checksum", "gtid"]
        if width >= _WITH_TIMES:
            columns.insert(3, "timestamp")
        if width >= ROOMY:
            columns = [
                "position",
                "end",
                "type",
                "size",
                "server_id",
                "timestamp",
                "flags",
                "checksum",
                "gtid",
            ]
        self._places = [PLAIN_EVENT_COLUMNS.index(name) for name in columns]

    def lines(self, pieces: Iterable[bytes]) -> Iterator[str]:
        """The lines of all pieces, with a head for each file."""
        for piece in pieces:
            rows = [line.split("\t") for line in piece.decode().splitlines()]
            cells = [[self._cell(row, place) for place in self._places] for row in rows]
            for row, texts in zip(rows, cells, strict=True):
                if row[0] != self._file:
                    yield from self._head(row[0], cells[:_MEASURED])
                yield self._line(texts)

    def _cell(self, row: list[str], place: int) -> str:
        name, text = PLAIN_EVENT_COLUMNS[place], row[place]
        if name in ("size", "server_id") and text.isdecimal():
            return number_text(int(text)) if name == "size" else text
        if name == "timestamp":
            return text[:19].replace("T", " ")
        if name == "gtid":
            # Between transactions there is neither; a transaction without GTID is named by its start.
            text = row[PLAIN_EVENT_COLUMNS.index("transaction")] if text == UNKNOWN else text
            return text if self._width >= ROOMY else short_transaction(text)
        return text

    def _head(self, file: str, cells: list[list[str]]) -> Iterator[str]:
        named = {
            "timestamp": f"TIME ({zone_name(self._zone)})",
            "checksum": "CRC32",
            "server_id": "SERVER",
            "gtid": "TRANSACTION",
        }
        names = [PLAIN_EVENT_COLUMNS[place] for place in self._places]
        titles = [named.get(name, name.upper()) for name in names]
        self._widths = [max(map(len, texts)) for texts in zip(titles, *cells, strict=True)]
        if self._file:
            yield ""
        self._file = file
        for text in (fit_text(file, self._width), self._fitted(titles)):
            yield f"{_HEAD}{text}{_END}" if self._colour else text

    def _line(self, cells: list[str]) -> str:
        text = self._fitted(cells)
        if self._colour and "bad" in cells:
            return f"{_BAD}{text}{_END}"
        first = self._widths[0]
        return f"{_FAINT}{text[:first]}{_END}{text[first:]}" if self._colour else text

    def _fitted(self, cells: list[str]) -> str:
        numbers = ("position", "end", "size", "server_id")
        padded = (
            pad_text(cell, size, right=PLAIN_EVENT_COLUMNS[place] in numbers)
            for cell, size, place in zip(cells, self._widths, self._places, strict=True)
        )
        return fit_text(GAP.join(padded).rstrip(), self._width)
