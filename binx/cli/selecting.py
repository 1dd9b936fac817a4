"""Options that select transactions, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from binx.cli.command import COUNT, NUMBER, combined, option, parsed
from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.scanning import KIND_NAMES
from binx.log.selection.gtid_names import has_short_uuids, position_of, with_whole_uuids
from binx.log.selection.moments import (
    Position,
    parse_position,
    parse_size,
    parse_zone,
    parse_zoned_time,
)
from binx.log.selection.selection import Selection, wanted_gtids

if TYPE_CHECKING:
    from binx.log.backup_position import BackupPosition
    from binx.where.condition import Condition

SELECTION = "Which transactions"


class ShortGtids(str):
    """A GTID set with abbreviated UUIDs."""


def gtid_set(text: str) -> GtidSet | ShortGtids:
    """Parse a GTID set; with abbreviated UUIDs, to be completed from the logs, keep the text."""
    return ShortGtids(text) if has_short_uuids(text) else wanted_gtids(text)


def resolved(gtids: GtidSet | ShortGtids, paths: Sequence[str]) -> GtidSet:
    """Return a set with whole UUIDs; abbreviated ones are completed from the logs."""
    return with_whole_uuids(gtids, paths) if isinstance(gtids, ShortGtids) else gtids


def _time_text(text: str) -> str:
    """Check that a text is a time; its zone may come from another option."""
    parse_zoned_time(text)
    return text


def parse_kinds(text: str) -> tuple[int, ...]:
    """Parse names of transaction kinds, ``xa`` for all XA steps, into their numbers."""
    names = [name.strip().lower() for name in text.split(",")]
    numbers = [
        [number for number, kind in enumerate(KIND_NAMES) if kind == name or kind.startswith(f"{name}_")]
        for name in names
    ]
    if not all(numbers):
        raise UsageError(f"expected kinds such as {', '.join(KIND_NAMES)} or xa, found {text!r}")
    return tuple(number for matching in numbers for number in matching)


def _selecting(*names: str, help_text: str, **settings: Any) -> Callable[[Any], Any]:
    return option(*names, section=SELECTION, help=help_text, **settings)


_GTIDS: dict[str, Any] = {"metavar": "SET", "multiple": True, "type": parsed(gtid_set)}
_GTID: dict[str, Any] = {"metavar": "GTID", "type": parsed(gtid_set)}
_TIME: dict[str, Any] = {"metavar": "TIME", "type": parsed(_time_text)}
_POSITION: dict[str, Any] = {"metavar": "POS", "type": parsed(parse_position)}
_NUMBERS: dict[str, Any] = {"multiple": True, "type": NUMBER}

_SELECTION_OPTIONS = combined(
    _selecting(
        "--gtid",
        "--include-gtids",
        "gtids",
        **_GTIDS,
        help_text="GTID in this set: uuid:1-5:7, uuid:100-, uuid:tag:1-3, 0-1-100..200; separate several by"
        " commas. The first four digits of a UUID, or more, are enough.",
    ),
    _selecting(
        "--exclude-gtid", "--exclude-gtids", "exclude_gtids", **_GTIDS, help_text="GTID not in this set."
    ),
    _selecting("--from-gtid", **_GTID, help_text="From this transaction on, in the order of the logs."),
    _selecting("--until-gtid", **_GTID, help_text="Up to this transaction, itself included."),
    _selecting(
        "--since",
        "--start-datetime",
        "since",
        **_TIME,
        help_text="Committed at or after this time: 11:50, today, yesterday, '20 minutes ago',"
        " '2026-11-21 02:10 Europe/Berlin'. Without a zone: that of --tz.",
    ),
    _selecting("--until", "--stop-datetime", "until", **_TIME, help_text="Committed before this time."),
    _selecting(
        "-j",
        "--start-position",
        "start",
        **_POSITION,
        help_text="Starting at or after this position: POS, or FILE:POS with several files.",
    ),
    _selecting("--stop-position", "stop", **_POSITION, help_text="Ending at or before this position."),
    _selecting(
        "-d",
        "--db",
        "--database",
        "databases",
        metavar="GLOB",
        multiple=True,
        help_text="Touching a table in this database; * and ? match.",
    ),
    _selecting(
        "--table",
        "tables",
        metavar="DB.TABLE",
        multiple=True,
        help_text="Touching this table; * and ? match: 'shop.*'.",
    ),
    _selecting("--server-id", "server_ids", **_NUMBERS, help_text="First executed on this server."),
    _selecting("--thread-id", "thread_ids", **_NUMBERS, help_text="Executed by this connection."),
    _selecting("--xid", "xids", **_NUMBERS, help_text="With this storage engine XID."),
    _selecting(
        "--kind",
        "kinds",
        metavar="LIST",
        multiple=True,
        type=parsed(parse_kinds),
        help_text="Of this kind: ddl, dml, xa, rollback and so on; separate several by commas.",
    ),
    _selecting(
        "--grep",
        "texts",
        metavar="TEXT",
        multiple=True,
        help_text="With this text in a statement, in upper or lower case; also in those logged with rows.",
    ),
    _selecting(
        "--min-bytes",
        metavar="SIZE",
        type=parsed(parse_size),
        help_text="At least this size in the file: 4096, 64K, 10M.",
    ),
    _selecting("--limit", type=COUNT, help_text="Only the first N that match."),
)


_ZONE = _selecting(
    "--tz ZONE",
    "zone",
    type=parsed(parse_zone),
    default="UTC",
    help_text="Time zone of the times of --since and --until: Europe/Berlin, +02:00, local.",
)


def parse_condition(text: str) -> Condition:
    """Parse a condition; the parser is loaded only if one is given."""
    from binx.where.condition import Condition

    return Condition(text)


WHERE = _selecting(
    "--where",
    metavar="CONDITION",
    type=parsed(parse_condition),
    help_text="Changing a row that matches, before or after the change: \"status = 'paid'\".",
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select transactions; the function gets them as a single ``selection``."""
    shows_times = "zone" in signature(function).parameters

    @wraps(function)
    def with_selection(**values: Any) -> Any:
        zone = values["zone"] if shows_times else values.pop("zone")
        chosen = {name: values.pop(name) for name in Selection._fields}
        paths = values["files"] if "files" in values else (values["left"], values["right"])
        for name in ("gtids", "exclude_gtids"):
            sets: tuple[GtidSet | ShortGtids, ...] = chosen[name]
            chosen[name] = GtidSet().union(*(resolved(text, paths) for text in sets)) if sets else None
        for name, bound, after in (("from_gtid", "start", False), ("until_gtid", "stop", True)):
            gtid = values.pop(name)
            if gtid is None:
                continue
            if chosen[bound] is not None or "files" not in values:
                raise UsageError(
                    f"--{name.replace('_', '-')} cannot be used with a position, nor for two servers"
                )
            chosen[bound] = position_of(resolved(gtid, paths), paths, after=after)
        chosen["kinds"] = tuple(kind for kinds in chosen["kinds"] for kind in kinds)
        for name in ("since", "until"):
            if chosen[name] is not None:
                chosen[name] = parse_zoned_time(chosen[name], zone)
        selection = Selection(**chosen)
        selection.check()
        return function(selection=selection, **values)

    options = _SELECTION_OPTIONS if shows_times else combined(_SELECTION_OPTIONS, _ZONE)
    decorated: Callable[..., Any] = options(with_selection)
    return decorated


def backup_options(section: str) -> Callable[[Any], Any]:
    """Add the options for a backup's position: ``from_gtid`` and ``from_position``."""
    return combined(
        option(
            "--from-gtid SET",
            type=parsed(gtid_set),
            section=section,
            help="The GTIDs that the backup holds: its gtid_executed, of MariaDB its gtid_binlog_pos.",
        ),
        option(
            "--from FILE:POS",
            "from_position",
            type=parsed(parse_position),
            section=section,
            help="The position of the backup in the logs.",
        ),
    )


def backup_position(gtids: GtidSet | None, position: Position | None) -> BackupPosition | None:
    """Return the backup's position from the user's options; None without any."""
    from binx.log.backup_position import BackupPosition

    if position is not None and position.file is None:
        raise UsageError(f"expected --from FILE:POS, found the position {position} without a file")
    if gtids is None and position is None:
        return None
    file, offset = ("", 0) if position is None else (position.file or "", position.offset)
    return BackupPosition(file, offset, gtids or GtidSet())
