"""Time zones in which moments are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from binx.errors import UsageError

LOCAL = "local"
"""The name that means the zone of this machine."""

_OFFSET = r"([+-])(\d{2}):?(\d{2})"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

ZoneOffset = Callable[[int], tuple[int, bytes]]
"""Gives for seconds since 1970 the offset in seconds, and the suffix of times in RFC 3339."""


def parse_zone(text: str) -> tzinfo:
    """Read a time zone: ``UTC``, ``Europe/Berlin``, ``+02:00``, or ``local`` for that of this machine.

    Raises:
        UsageError: there is no such zone.
    """
    name = text.strip()
    if name.upper() in ("UTC", "Z"):
        return UTC
    if name.lower() == LOCAL:
        return _Local()
    offset = re.fullmatch(_OFFSET, name)
    if offset is not None and int(offset[2]) < 24 and int(offset[3]) < 60:
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-size if offset[1] == "-" else size)
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise UsageError(
            f"expected a time zone such as UTC, Europe/Berlin, +02:00 or local, found {text!r}"
        ) from None


def zone_offset(zone: tzinfo) -> ZoneOffset:
    """How times are shown in a zone; those that a calendar cannot have there are shown in UTC."""

    def offset(second: int) -> tuple[int, bytes]:
        try:
            shown = (_EPOCH + timedelta(seconds=second)).astimezone(zone)
        except (OverflowError, ValueError, OSError):
            return 0, b"Z"
        ahead = shown.utcoffset() or timedelta(0)
        return ahead // timedelta(seconds=1), _suffix(shown).encode()

    return offset


def zone_name(zone: tzinfo) -> str:
    """What a zone is called: ``UTC``, ``Europe/Berlin``, ``+02:00``, ``local``."""
    if isinstance(zone, timezone):
        return str(zone).removeprefix("UTC") or "UTC"
    return str(zone)


def in_zone(moment: int, zone: tzinfo) -> datetime:
    """A moment in µs since 1970 as a clock in the zone shows it.

    Raises:
        OverflowError: no calendar has it.
    """
    return (_EPOCH + timedelta(microseconds=moment)).astimezone(zone)


def format_in_zone(moment: int, zone: tzinfo) -> str:
    """A moment in µs since 1970 as RFC 3339 has it; fractions only where there are any.

    Raises:
        OverflowError: no calendar has it.
    """
    shown = in_zone(moment, zone)
    return f"{shown.replace(tzinfo=None).isoformat()}{_suffix(shown)}"


def _suffix(shown: datetime) -> str:
    if shown.tzinfo is UTC:
        return "Z"
    # What follows the 19 characters of a moment without fraction.
    return shown.replace(microsecond=0).isoformat()[19:]


class _Local(tzinfo):
    """The zone of this machine, whose offset the system is asked for at each moment."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """What local time is ahead of UTC."""
        if moment is None:
            return None
        return moment.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, _: datetime | None) -> timedelta | None:
        """Part of the offset."""
        return None

    def tzname(self, _: datetime | None) -> str:
        """What the zone is called."""
        return LOCAL

    def __str__(self) -> str:
        return LOCAL

    def fromutc(self, moment: datetime) -> datetime:
        """Local time of a moment in UTC."""
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)
