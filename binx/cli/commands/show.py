"""``binx show``: show the events of transactions, with names and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from binx.cli.command import COUNT, Example, command, option, parsed
from binx.cli.options import CHANGED_ONLY, CREATE_TABLE, LOOK, ZONE, Logs, as_json_option, log_options
from binx.cli.selecting import SELECTION, selection_options
from binx.cli.show_text import ShowText
from binx.cli.terminal import say_losses, screen, text_output
from binx.errors import AbsentError, ExitCode, UsageError
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position, format_in_zone, parse_position
from binx.report.document import json_line
from binx.source.json_text import safe_chunks
from binx.source.wording import encoded
from binx.stats.event_list import flag_names

if TYPE_CHECKING:
    from binx.inspect.event_details import Showing, ShownEvent, ShownTransaction

_HEX_BYTES = 64 * 1024

EXAMPLES = (
    Example(
        "what one transaction did", "binx show --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 mysql-bin.*"
    ),
    Example("the transaction around an offset", "binx show --position mysql-bin.000003:4711 mysql-bin.*"),
    Example("every byte of the first transaction", "binx show --limit 1 --hex mysql-bin.000003"),
    Example(
        "the rows of a transaction, for programs",
        "binx show --gtid 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --json mysql-bin.* |\n"
        "    jq -c '.changes // empty | .[] | [.table, .type, .after]'",
    ),
)


@command(
    "show",
    examples=EXAMPLES,
    brief="gtid position since until table thread-id grep limit rows changed-only create-table hex tz"
    " schema json",
)
@selection_options
@option(
    "--position POS",
    type=parsed(parse_position),
    section=SELECTION,
    help="The transaction at this position, or else the next one: POS, or FILE:POS.",
)
@option("--rows", "most_rows", type=COUNT, help="Show at most N rows of each transaction.")
@CHANGED_ONLY
@CREATE_TABLE
@option("--hex", "--hexdump", "-H", "with_bytes", is_flag=True, help="Also show the bytes of each event.")
@ZONE
@LOOK
@as_json_option("Print one JSON object per event.")
@log_options(schema=True)
def show_command(
    logs: Logs,
    selection: Selection,
    position: Position | None,
    most_rows: int | None,
    changed_only: bool,
    create_table: bool,
    with_bytes: bool,
    as_json: bool,
    zone: tzinfo,
) -> ExitCode:
    """Show the events of transactions: statements with session variables, rows with names and values."""
    from binx.inspect.event_details import Showing

    if as_json and changed_only:
        raise UsageError("--changed-only is for people, and cannot be combined with --json")
    if position is not None:
        if selection.start is not None:
            raise UsageError("--position and --start-position cannot be combined")
        selection = selection._replace(start=position, limit=selection.limit or 1)
    width, colour = (None, False) if as_json else screen()
    writer: ShowText | _JsonEvents = _JsonEvents(
        zone, with_bytes=with_bytes, create_table=create_table, most_rows=most_rows
    )
    if not as_json:
        writer = ShowText(
            colour=colour,
            zone=zone,
            with_bytes=with_bytes,
            create_table=create_table,
            most_rows=most_rows,
            changed_only=changed_only,
            width=width,
        )
    with text_output(plain=as_json) as output, logs.opened("show", selection) as (chain, bar):
        showing = Showing(
            chain,
            selection,
            catalog=logs.known_tables(chain),
            readable=not as_json,
            definitions=create_table,
            verify=logs.verify,
            on_damage=logs.on_damage,
        )
        for chunks in _texts(showing, writer):
            if width is not None:
                bar.hide()
            output.write_chunks(chunks)
    logs.notes([*showing.search.selector.notes, *showing.warnings])
    losses = say_losses(showing.search.damage)
    missing = showing.search.selector.missing()
    if not showing.search.taken and missing.is_empty:
        if position is not None:
            raise AbsentError(f"no transaction at or after {position}")
        matching = "" if selection.is_everything else " that matches"
        logs.notes([f"no transaction{matching} in these files"])
    return logs.ending(missing, losses=losses)


def _texts(showing: Showing, writer: ShowText | _JsonEvents) -> Iterator[Iterable[bytes]]:
    from binx.inspect.event_details import ShownEvent

    for item in showing:
        yield writer.event(item) if isinstance(item, ShownEvent) else writer.begin(item)
    yield writer.end()


class _JsonEvents:
    """Formats events as JSON objects."""

    def __init__(self, zone: tzinfo, *, with_bytes: bool, create_table: bool, most_rows: int | None) -> None:
        self._zone = zone
        self._with_bytes = with_bytes
        self._create_table = create_table
        self._most_rows = most_rows
        self._transaction: dict[str, Any] = {}
        self._rows = 0

    def begin(self, shown: ShownTransaction) -> Iterable[bytes]:
        """Write nothing: each event names its transaction."""
        self._transaction = {name: shown.facts[name] for name in ("file", "start", "transaction")}
        self._rows = 0
        return ()

    def end(self) -> Iterable[bytes]:
        """Write nothing."""
        return ()

    def event(self, shown: ShownEvent) -> Iterable[bytes]:
        """Write one event, in chunks."""
        return safe_chunks(self._event(shown))

    def _event(self, shown: ShownEvent) -> Iterator[bytes]:
        header = shown.raw.header
        facts = {
            **self._transaction,
            "position": header.position,
            "inner": shown.raw.inner,
            "event_type": header.name,
            "bytes": header.size,
            "server_id": header.server_id,
            "event_timestamp": format_in_zone(header.timestamp * 1_000_000, self._zone),
            "flags": flag_names(int(header.flags)),
            "fields": shown.fields,
            "rows": shown.row_count,
        }
        if self._create_table and (tables := shown.tables):
            facts["tables_then"] = tables
        yield encoded(json_line("event_of_transaction", facts)[:-1])
        if shown.row_count is not None:
            yield b', "changes": ['
            room = None if self._most_rows is None else max(self._most_rows - self._rows, 0)
            yield from shown.rows_text(room)
            self._rows += shown.row_count
            yield b"]"
        if self._with_bytes:
            yield b', "hex": "'
            data = shown.raw.data
            for start in range(0, len(data), _HEX_BYTES):
                yield data[start : start + _HEX_BYTES].hex().encode()
            yield b'"'
        yield b"}\n"
