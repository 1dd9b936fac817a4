"""The options that say which transactions, shared by all commands that take some out of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from binx.cli.options import COUNT, NUMBER, Parsed, combined, option
from binx.errors import UsageError
from binx.event.gtid_set import GtidSet
from binx.log.moments import format_time, parse_position, parse_time
from binx.log.selection import Selection
from binx.log.sizes import parse_size

if TYPE_CHECKING:
    from binx.export.where import Condition

SELECTION = "Which transactions"


def _completion(what: str) -> Callable[..., Any]:
    """Completes an option from the files on the command line; loaded when a shell asks."""

    def complete(*arguments: Any) -> Any:
        from binx.cli import completion

        return getattr(completion, f"complete_{what}")(*arguments)

    return complete


def gtid_set(text: str) -> GtidSet:
    """A set of GTIDs that asks for something.

    Raises:
        UsageError: the text is none, or is empty.
    """
    gtids = GtidSet.parse(text)
    if gtids.is_empty:
        raise UsageError("expected a set of GTIDs, found an empty text")
    return gtids


_SELECTION_OPTIONS = combined(
    option(
        "--gtid",
        "gtids",
        metavar="SET",
        multiple=True,
        type=Parsed("set", gtid_set),
        shell_complete=_completion("gtids"),
        section=SELECTION,
        help="These: uuid:1-5:7, uuid:tag:1-3, 0-1-100..200; several by commas.",
    ),
    option(
        "--exclude-gtid",
        "exclude_gtids",
        metavar="SET",
        multiple=True,
        type=Parsed("set", gtid_set),
        shell_complete=_completion("gtids"),
        section=SELECTION,
        help="Not these.",
    ),
    option(
        "--since",
        metavar="TIME",
        type=Parsed("time", parse_time),
        section=SELECTION,
        help="Committed then or later. UTC where no zone is given.",
    ),
    option(
        "--until",
        metavar="TIME",
        type=Parsed("time", parse_time),
        section=SELECTION,
        help="Committed before then.",
    ),
    option(
        "--start-position",
        "start",
        metavar="POS",
        type=Parsed("position", parse_position),
        section=SELECTION,
        help="From there on: POS, or FILE:POS where there are several files.",
    ),
    option(
        "--stop-position",
        "stop",
        metavar="POS",
        type=Parsed("position", parse_position),
        section=SELECTION,
        help="Up to there.",
    ),
    option(
        "--db",
        "databases",
        metavar="GLOB",
        multiple=True,
        shell_complete=_completion("databases"),
        section=SELECTION,
        help="Touching a table of such a database.",
    ),
    option(
        "--table",
        "tables",
        metavar="DB.TABLE",
        multiple=True,
        shell_complete=_completion("tables"),
        section=SELECTION,
        help="Touching such a table; * and ? match: 'shop.*'.",
    ),
    option(
        "--server-id",
        "server_ids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="Made on this server.",
    ),
    option(
        "--thread-id",
        "thread_ids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="Made by this connection.",
    ),
    option(
        "--xid",
        "xids",
        metavar="N",
        multiple=True,
        type=NUMBER,
        section=SELECTION,
        help="With this number of the storage engine's commit.",
    ),
    option(
        "--min-bytes",
        metavar="SIZE",
        type=Parsed("size", parse_size),
        section=SELECTION,
        help="Taking at least so much in the file: 4096, 64K, 10M.",
    ),
    option("--limit", metavar="N", type=COUNT, section=SELECTION, help="The first N of those."),
)


def _condition(text: str) -> Condition:
    from binx.export.where import Condition

    return Condition(text)


WHERE = option(
    "--where",
    metavar="CONDITION",
    type=Parsed("condition", _condition),
    section=SELECTION,
    help="Changing a row like this, before or after: \"status = 'paid'\".",
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

    def with_selection(**values: Any) -> Any:
        chosen = {name: values.pop(name) for name in _SELECTION_NAMES}
        for name in ("gtids", "exclude_gtids"):
            sets: tuple[GtidSet, ...] = chosen[name]
            chosen[name] = union(sets) if sets else None
        return function(selection=Selection(**chosen), **values)

    with_selection.__doc__ = function.__doc__
    with_selection.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined]
    decorated: Callable[..., Any] = _SELECTION_OPTIONS(with_selection)
    return decorated


def union(sets: Sequence[GtidSet]) -> GtidSet:
    """The GTIDs of all sets."""
    whole = GtidSet()
    for one in sets:
        whole |= one
    return whole


def understood(selection: Selection) -> list[str]:
    """How the times of a selection were understood."""
    since, until = selection.since, selection.until
    if since is None and until is None:
        return []
    first = "" if since is None else f" from {format_time(since)}"
    last = "" if until is None else f" to before {format_time(until)}"
    return [f"transactions committed{first}{last} (UTC)"]
