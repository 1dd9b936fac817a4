"""The options that say which transactions, shared by all commands that take some out of their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from binx.cli.declaration import Parsed, combined, option
from binx.cli.options import COUNT, NUMBER
from binx.event.gtid_set import GtidSet
from binx.log.moments import format_time, parse_position, parse_zoned_time
from binx.log.selection import Selection, wanted_gtids
from binx.log.sizes import parse_size

if TYPE_CHECKING:
    from binx.export.where import Condition

SELECTION = "Which transactions"


_SELECTION_OPTIONS = combined(
    option(
        "--gtid",
        name="gtids",
        metavar="SET",
        multiple=True,
        value=Parsed("set", wanted_gtids),
        completes="gtids",
        section=SELECTION,
        help="GTID in this set: uuid:1-5:7, uuid:tag:1-3, 0-1-100..200; separate several by commas.",
    ),
    option(
        "--exclude-gtid",
        name="exclude_gtids",
        metavar="SET",
        multiple=True,
        value=Parsed("set", wanted_gtids),
        completes="gtids",
        section=SELECTION,
        help="GTID not in this set.",
    ),
    option(
        "--since",
        metavar="TIME",
        value=Parsed("time", parse_zoned_time),
        section=SELECTION,
        help="Committed at or after this time: UTC, or as in '2026-11-21 02:10 Europe/Berlin'.",
    ),
    option(
        "--until",
        metavar="TIME",
        value=Parsed("time", parse_zoned_time),
        section=SELECTION,
        help="Committed before this time.",
    ),
    option(
        "--start-position",
        name="start",
        metavar="POS",
        value=Parsed("position", parse_position),
        section=SELECTION,
        help="Starting at or after this position: POS, or FILE:POS with several files.",
    ),
    option(
        "--stop-position",
        name="stop",
        metavar="POS",
        value=Parsed("position", parse_position),
        section=SELECTION,
        help="Ending at or before this position.",
    ),
    option(
        "--db",
        name="databases",
        metavar="GLOB",
        multiple=True,
        completes="databases",
        section=SELECTION,
        help="Touching a table in this database; * and ? match.",
    ),
    option(
        "--table",
        name="tables",
        metavar="DB.TABLE",
        multiple=True,
        completes="tables",
        section=SELECTION,
        help="Touching this table; * and ? match: 'shop.*'.",
    ),
    option(
        "--server-id",
        name="server_ids",
        metavar="N",
        multiple=True,
        value=NUMBER,
        section=SELECTION,
        help="First executed on this server.",
    ),
    option(
        "--thread-id",
        name="thread_ids",
        metavar="N",
        multiple=True,
        value=NUMBER,
        section=SELECTION,
        help="Executed by this connection.",
    ),
    option(
        "--xid",
        name="xids",
        metavar="N",
        multiple=True,
        value=NUMBER,
        section=SELECTION,
        help="With this storage engine XID.",
    ),
    option(
        "--min-bytes",
        metavar="SIZE",
        value=Parsed("size", parse_size),
        section=SELECTION,
        help="At least this size in the file: 4096, 64K, 10M.",
    ),
    option("--limit", metavar="N", value=COUNT, section=SELECTION, help="Only the first N that match."),
)


def _condition(text: str) -> Condition:
    from binx.export.where import Condition

    return Condition(text)


WHERE = option(
    "--where",
    metavar="CONDITION",
    value=Parsed("condition", _condition),
    section=SELECTION,
    help="Changing a row that matches, before or after the change: \"status = 'paid'\".",
)

_SELECTION_NAMES = (
    "gtids",
    "exclude_gtids",
    "since",
    "until",
    "start",
    "stop",
    "databases",
    "tables",
    "server_ids",
    "thread_ids",
    "xids",
    "min_bytes",
    "limit",
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which transactions; the function gets them as one ``selection``."""

    @wraps(function)
    def with_selection(**values: Any) -> Any:
        chosen = {name: values.pop(name) for name in _SELECTION_NAMES}
        for name in ("gtids", "exclude_gtids"):
            sets: tuple[GtidSet, ...] = chosen[name]
            chosen[name] = GtidSet().union(*sets) if sets else None
        selection = Selection(**chosen)
        selection.check()
        return function(selection=selection, **values)

    decorated: Callable[..., Any] = _SELECTION_OPTIONS(with_selection)
    return decorated


def understood(selection: Selection) -> list[str]:
    """How the times of a selection were interpreted, as notes for the user."""
    since, until = selection.since, selection.until
    if since is None and until is None:
        return []
    first = "" if since is None else f" from {format_time(since)}"
    last = "" if until is None else f"{' to' if first else ''} before {format_time(until)}"
    return [f"transactions committed{first}{last} (UTC)"]
