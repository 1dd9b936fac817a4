"""Options that select transactions, shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from binx.cli.command import combined, offered, option, parsed
from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.options import OPTIONS, parse_gtids, selection_of
from binx.log.selection.times import Position, parse_position, parse_zone, zone_names

if TYPE_CHECKING:
    from binx.log.backup_position import BackupPosition
    from binx.where.condition import Condition

SELECTION = "Which transactions"


def _selecting(*names: str, help_text: str, **settings: Any) -> Callable[[Any], Any]:
    return option(*names, section=SELECTION, help=help_text, **settings)


_SELECTION_OPTIONS = combined(
    *(
        _selecting(
            f"--{option.name.replace('_', '-')}",
            *option.aliases,
            option.name,
            metavar=option.metavar,
            multiple=option.several,
            type=parsed(option.parse),
            help_text=option.help,
            shell_complete=offered(option.words) if option.words else None,
        )
        for option in OPTIONS
    )
)

_ZONE = _selecting(
    "--tz ZONE",
    "zone",
    type=parsed(parse_zone),
    shell_complete=offered(zone_names),
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
        chosen = {option.name: values.pop(option.name) for option in OPTIONS}
        paths = values.get("files") or (values["left"], values["right"])
        selection = selection_of(chosen, paths, zone, one_server="files" in values)
        return function(selection=selection, **values)

    options = _SELECTION_OPTIONS if shows_times else combined(_SELECTION_OPTIONS, _ZONE)
    decorated: Callable[..., Any] = options(with_selection)
    return decorated


def backup_options(section: str) -> Callable[[Any], Any]:
    """Add the options for a backup's position: ``from_gtid`` and ``from_position``."""
    return combined(
        option(
            "--from-gtid SET",
            type=parsed(parse_gtids),
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
