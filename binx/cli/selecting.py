"""The options that say which transactions, shared by all commands that take some out of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from binx.cli.command import combined, option, parsed
from binx.cli.options import COUNT, NUMBER, SIZE
from binx.cli.terminal import say_note
from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.scanning import KIND_NAMES
from binx.log.selection.gtid_names import has_short_uuids, position_of, with_whole_uuids
from binx.log.selection.moments import format_time, parse_position, parse_zoned_time
from binx.log.selection.selection import Selection, wanted_gtids

if TYPE_CHECKING:
    from binx.rows.ddl.schema_dump import SchemaDump
    from binx.where.condition import Condition

SELECTION = "Which transactions"


class ShortGtids(str):
    """A GTID set with UUIDs of which only the first digits are given."""


def gtid_set(text: str) -> GtidSet | ShortGtids:
    """A GTID set; with short UUIDs, which the logs complete, its text."""
    return ShortGtids(text) if has_short_uuids(text) else wanted_gtids(text)


def resolved(given: GtidSet | ShortGtids, paths: Sequence[str]) -> GtidSet:
    """A set whose UUIDs are whole; the logs complete those that are not."""
    return with_whole_uuids(given, paths) if isinstance(given, ShortGtids) else given


def _time_text(text: str) -> str:
    """A text that is a time in any zone; which one it is in, another option may say."""
    parse_zoned_time(text)
    return text


def parse_kinds(text: str) -> tuple[int, ...]:
    """Kinds of transactions by name, ``xa`` for all steps of XA; their numbers.

    Raises:
        UsageError: one of them is none.
    """
    names = [name.strip().lower() for name in text.split(",")]
    numbers = [
        [number for number, kind in enumerate(KIND_NAMES) if kind == name or kind.startswith(f"{name}_")]
        for name in names
    ]
    if not all(numbers):
        raise UsageError(f"expected kinds such as {', '.join(KIND_NAMES)} or xa, found {text!r}")
    return tuple(number for found in numbers for number in found)


def _answered(name: str, meant: str) -> Callable[[Any], Any]:
    """An option of mysqlbinlog that means something else here, and is answered with the right one."""

    def callback(_: click.Context, __: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise click.UsageError(
                f"No such option: {name}. Use {meant}: times without a zone mean UTC there, and local time"
                f" in mysqlbinlog; {meant} '{value} local' is in this machine's zone"
            )

    return option(name, hidden=True, expose_value=False, callback=callback)


_SELECTION_OPTIONS = combined(
    option(
        "--gtid",
        "gtids",
        aliases=["--include-gtids"],
        metavar="SET",
        multiple=True,
        type=parsed(gtid_set),
        section=SELECTION,
        help="GTID in this set: uuid:1-5:7, uuid:100-, uuid:tag:1-3, 0-1-100..200; separate several by"
        " commas. The first digits of a UUID are enough.",
    ),
    option(
        "--exclude-gtid",
        "exclude_gtids",
        aliases=["--exclude-gtids"],
        metavar="SET",
        multiple=True,
        type=parsed(gtid_set),
        section=SELECTION,
        help="GTID not in this set.",
    ),
    option(
        "--from-gtid",
        metavar="GTID",
        type=parsed(gtid_set),
        section=SELECTION,
        help="From this transaction on, in the order of the logs.",
    ),
    option(
        "--until-gtid",
        metavar="GTID",
        type=parsed(gtid_set),
        section=SELECTION,
        help="Up to this transaction, itself included.",
    ),
    option(
        "--since",
        metavar="TIME",
        type=parsed(_time_text),
        section=SELECTION,
        help="Committed at or after this time: 11:50, today, yesterday, '20 minutes ago',"
        " '2026-11-21 02:10 Europe/Berlin'. Without a zone: that of --tz, or UTC.",
    ),
    option(
        "--until",
        metavar="TIME",
        type=parsed(_time_text),
        section=SELECTION,
        help="Committed before this time.",
    ),
    _answered("--start-datetime", "--since"),
    _answered("--stop-datetime", "--until"),
    option(
        "--start-position",
        "start",
        metavar="POS",
        type=parsed(parse_position),
        section=SELECTION,
        help="Starting at or after this position: POS, or FILE:POS with several files.",
    ),
    option(
        "--stop-position",
        "stop",
        metavar="POS",
        type=parsed(parse_position),
        section=SELECTION,
        help="Ending at or before this position.",
    ),
    option(
        "--db",
        "databases",
        aliases=["--database"],
        metavar="GLOB",
        multiple=True,
        section=SELECTION,
        help="Touching a table in this database; * and ? match.",
    ),
    option(
        "--table",
        "tables",
        metavar="DB.TABLE",
        multiple=True,
        section=SELECTION,
        help="Touching this table; * and ? match: 'shop.*'.",
    ),
    option(
        "--server-id",
        "server_ids",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="First executed on this server.",
    ),
    option(
        "--thread-id",
        "thread_ids",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="Executed by this connection.",
    ),
    option(
        "--xid", "xids", multiple=True, type=NUMBER, section=SELECTION, help="With this storage engine XID."
    ),
    option(
        "--kind",
        "kinds",
        metavar="LIST",
        multiple=True,
        type=parsed(parse_kinds),
        section=SELECTION,
        help="Of this kind: ddl, dml, xa, rollback and so on; separate several by commas.",
    ),
    option(
        "--grep",
        "texts",
        metavar="TEXT",
        multiple=True,
        section=SELECTION,
        help="With this text in a statement, in upper or lower case; also in those logged with rows.",
    ),
    option(
        "--min-bytes",
        metavar="SIZE",
        type=SIZE,
        section=SELECTION,
        help="At least this size in the file: 4096, 64K, 10M.",
    ),
    option("--limit", type=COUNT, section=SELECTION, help="Only the first N that match."),
)


def parse_condition(text: str) -> Condition:
    """The condition of a text; what reads it is loaded only where a condition is given."""
    from binx.where.condition import Condition

    return Condition(text)


WHERE = option(
    "--where",
    metavar="CONDITION",
    type=parsed(parse_condition),
    section=SELECTION,
    help="Changing a row that matches, before or after the change: \"status = 'paid'\".",
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which transactions; the function gets them as one ``selection``."""

    @wraps(function)
    def with_selection(**values: Any) -> Any:
        chosen = {name: values.pop(name) for name in Selection._fields}
        paths = values["files"] if "files" in values else [values["left"], values["right"]]
        for name in ("gtids", "exclude_gtids"):
            sets: tuple[GtidSet | ShortGtids, ...] = chosen[name]
            chosen[name] = GtidSet().union(*(resolved(one, paths) for one in sets)) if sets else None
        for name, place, behind in (("from_gtid", "start", False), ("until_gtid", "stop", True)):
            gtid = values.pop(name)
            if gtid is None:
                continue
            if chosen[place] is not None or "files" not in values:
                raise UsageError(
                    f"--{name.replace('_', '-')} cannot be used with a position, nor for two servers"
                )
            chosen[place] = position_of(resolved(gtid, paths), paths, behind=behind)
        chosen["kinds"] = tuple(kind for kinds in chosen["kinds"] for kind in kinds)
        zone = values.get("zone", UTC)
        for name in ("since", "until"):
            if chosen[name] is not None:
                chosen[name] = parse_zoned_time(chosen[name], zone)
        selection = Selection(**chosen)
        selection.check()
        return function(selection=selection, **values)

    decorated: Callable[..., Any] = _SELECTION_OPTIONS(with_selection)
    return decorated


def tell_understood(selection: Selection, dump: SchemaDump | None = None, *, quiet: bool) -> None:
    """Tell how the times of a selection were interpreted, and what is unclear about a dump."""
    if quiet:
        return
    since, until = selection.since, selection.until
    if since is not None or until is not None:
        first = "" if since is None else f" from {format_time(since)}"
        last = "" if until is None else f"{' to' if first else ''} before {format_time(until)}"
        say_note(f"transactions committed{first}{last} (UTC)")
    for line in dump.unclear if dump else ():
        say_note(line)
