"""As of when a dump of definitions is: what the user says of it, or the dump's own comments."""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.event.gtid.sources import DomainSource
from binx.log.backup_position import position_in_dump
from binx.log.selection.moments import parse_time

_HEAD = 65_536
"""Characters of a dump that may say as of when it is: they stand before its first table."""


@unique
class MomentKind(Enum):
    """How a moment is told."""

    START = "start"
    END = "end"
    POSITION = "position"
    GTIDS = "gtids"
    TIME = "time"
    UNKNOWN = "unknown"


class Moment(NamedTuple):
    """A moment in a server's logs.

    Attributes:
        kind: how it is told.
        text: the same in words, as in "as of …".
        file: POSITION: the log's name.
        position: POSITION: the offset in it.
        gtids: what was committed by then, where it is known; of a GTID alone, it and those before it of the
            same source.
        time: TIME: µs since 1970.
    """

    kind: MomentKind
    text: str
    file: str = ""
    position: int = 0
    gtids: GtidSet = GtidSet()
    time: int = 0


START = Moment(MomentKind.START, "the start of the logs")
END = Moment(MomentKind.END, "the end of the logs")
UNKNOWN = Moment(MomentKind.UNKNOWN, "an unknown moment")


def given_moment(text: str) -> Moment:
    """What stands behind the ``@`` of ``--schema FILE@…``.

    Raises:
        UsageError: it is neither ``start`` nor ``end``, and no GTID and no time.
    """
    word = text.strip().lower()
    if word in {"start", "end"}:
        return START if word == "start" else END
    for read in (_of_time, _of_gtids):
        try:
            return read(text)
        except UsageError:
            continue
    raise UsageError(
        f"expected start, end, a GTID or a time behind the @ of a schema file, found {text!r}; such as"
        " schema.sql@start, schema.sql@0-10-1234 or schema.sql@2026-11-21T09:30:00Z"
    )


def _of_gtids(text: str) -> Moment:
    found = GtidSet.parse(text)
    if not found:
        raise UsageError("no GTID")
    return Moment(MomentKind.GTIDS, f"GTID {text}", gtids=_up_to(found))


def _of_time(text: str) -> Moment:
    return Moment(MomentKind.TIME, text, time=parse_time(text))


def own_moment(dump: str) -> Moment:
    """What mysqldump or mariadb-dump notes with ``--source-data`` or ``--master-data``, or of GTIDs."""
    try:
        noted = position_in_dump(dump[:_HEAD])
    except UsageError:
        return UNKNOWN
    gtids = noted.gtids
    if any(isinstance(source, DomainSource) for source in gtids.sources):
        gtids = _up_to(gtids)
    if noted.file:
        return Moment(MomentKind.POSITION, f"{noted.file}:{noted.offset}", noted.file, noted.offset, gtids)
    return Moment(MomentKind.GTIDS, f"GTID {gtids}", gtids=gtids) if gtids else UNKNOWN


def _up_to(gtids: GtidSet) -> GtidSet:
    """What was committed where a GTID alone is the last of its source."""
    return GtidSet([(source, 1 if first == last else first, last) for source, first, last in gtids])


__all__ = ["END", "START", "UNKNOWN", "Moment", "MomentKind", "given_moment", "own_moment"]
