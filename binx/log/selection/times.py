"""Parse times, positions and sizes as users write them; format times in a time zone."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from time import time_ns
from typing import NamedTuple

from binx.errors import AbsentError, UsageError

MICROSECONDS = 1_000_000
"""Microseconds per second."""

LATEST_MOMENT = 253_402_300_799_999_999
"""The last µs of the year 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS = r"@([0-9]{1,11})(?:\.([0-9]{1,6}))?"
_AGO = r"([0-9]{1,9})\s*(s|m|h|d|w)(?:ec|econd|in|inute|our|ay|eek)?s?\s+ago"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DAYS_AGO = {"today": 0, "yesterday": 1}
_CLOCK = r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.,]([0-9]{1,6}))?)?\s*([A-Za-z+-]\S*)?"
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_OFFSET = r"[0-9]{1,19}"
_OFFSET_MAXIMUM = 2**63 - 1


def parse_time(text: str) -> int:
    """Parse a time; return µs since 1970.

    Accepts RFC 3339 and ISO 8601 (``2026-11-21T09:30:00Z``, ``2026-11-21 09:30:00.25+01:00``), a date alone,
    which means its first moment, and ``@`` with seconds since 1970. Without a zone it is UTC.
    """
    seconds = re.fullmatch(_SECONDS, text.strip())
    if seconds is not None:
        return int(seconds[1]) * MICROSECONDS + int((seconds[2] or "").ljust(6, "0"))
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if not _FIRST <= moment <= _LAST:
            raise ValueError
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        raise UsageError(
            f"expected a time such as 2026-11-21T09:30:00Z, '2026-11-21 09:30', 2026-11-21, 11:50,"
            f" today, '20 minutes ago' or @1795253400, found {text!r}"
        ) from None


def parse_zoned_time(text: str, zone: tzinfo = UTC, now: int | None = None) -> int:
    """Parse a time as :func:`parse_time` does, also with a named zone or relative to now.

    ``2026-11-21 02:10 Europe/Berlin`` names its zone; ``local`` is this machine's zone. ``11:50``, or
    ``11:50:03.25+02:00``, is the last time at which the clock showed that; ``20 minutes ago`` and ``now`` are
    relative to now; ``today`` and ``yesterday`` are the first moments of these days.

    Args:
        zone: of times without one.
        now: µs since 1970; None uses the system's clock.
    """
    ago = re.fullmatch(_AGO, text.strip().lower())
    if ago is not None:
        return _now(now) - int(ago[1]) * _UNITS[ago[2]] * MICROSECONDS
    if text.strip().lower() == "now":
        return _now(now)
    days = _DAYS_AGO.get(text.strip().lower())
    if days is not None:
        return _at_clock(time(), days, zone, _now(now))
    clock = re.fullmatch(_CLOCK, text.strip())
    if clock is not None:
        shown = time(int(clock[1]), int(clock[2]), int(clock[3] or 0), int((clock[4] or "").ljust(6, "0")))
        return _last_time(shown, parse_zone(clock[5]) if clock[5] else zone, _now(now))
    written, _, name = text.strip().rpartition(" ")
    if written and name[0].isalpha() and (local := _as_shown(written)) is not None:
        if local.tzinfo is not None:
            raise UsageError(f"expected a time without an offset before {name}, found {text!r}")
        return _in_zone(local, parse_zone(name), name, text)
    local = _as_shown(text)
    if local is None or local.tzinfo is not None or zone is UTC:
        return parse_time(text)
    return _in_zone(local, zone, zone_name(zone), text)


def moment_in_utc(text: str, zone: tzinfo) -> str:
    """Return a moment with a time in UTC; one that is no time stays as it is.

    Args:
        zone: of times without one.

    Raises:
        UsageError: the zone's clocks never showed the time, or showed it twice.
    """
    try:
        return format_time(parse_zoned_time(text, zone))
    except UsageError as error:
        try:
            parse_time(text)
        except UsageError:
            return text
        raise error from None


def _as_shown(text: str) -> datetime | None:
    """Parse a date and time; return None for anything else."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _in_zone(local: datetime, zone: tzinfo, name: str, text: str) -> int:
    """Return the moment at which clocks in a zone show a date and time."""
    try:
        moments = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
        first = min(moments)
        once = len(moments) == 1 and first.astimezone(zone).replace(tzinfo=None) == local
    except (OverflowError, OSError):
        raise UsageError(f"expected a time that a calendar has in UTC, found {text!r}") from None
    if not once:
        raise UsageError(
            f"expected a time that clocks in {name} show once, found {text!r}, as they change in that hour;"
            " write its offset in place of the name, such as +02:00"
        )
    return (first - _EPOCH) // _MICROSECOND


def _last_time(clock: time, zone: tzinfo, now: int) -> int:
    """Return the last moment up to now at which clocks in a zone showed a time of day."""
    moments = (_at_clock(clock, days, zone, now) for days in (0, 1))
    return next((moment for moment in moments if moment <= now), now)


def _at_clock(clock: time, days: int, zone: tzinfo, now: int) -> int:
    """Return when clocks in a zone first showed a time of day, that many days ago, or skipped it."""
    today = (_EPOCH + timedelta(microseconds=now)).astimezone(zone).date()
    return (datetime.combine(today - timedelta(days=days), clock, zone) - _EPOCH) // _MICROSECOND


def _now(now: int | None) -> int:
    return time_ns() // 1_000 if now is None else now


def format_time(moment: int) -> str:
    """Format µs since 1970 as RFC 3339 in UTC; fractions only if not zero."""
    utc = _EPOCH + timedelta(microseconds=moment)
    return utc.replace(tzinfo=None).isoformat() + "Z"


def moment_json(moment: int) -> str | int:
    """Format a time in RFC 3339; times outside the calendar stay numbers, in µs since 1970."""
    return format_time(moment) if 0 <= moment <= LATEST_MOMENT else moment


class Position(NamedTuple):
    """A position in a binary log."""

    file: str | None
    offset: int

    def __str__(self) -> str:
        return str(self.offset) if self.file is None else f"{self.file}:{self.offset}"


def index_of_file(position: Position, files: Sequence[str]) -> int:
    """Return the index in ``files`` of a position's file.

    Args:
        position: the position; the file name may be omitted if there is only one file.

    Raises:
        UsageError: the file is ambiguous or unknown.
    """
    if position.file is None:
        if len(files) > 1:
            raise UsageError(f"expected FILE:POS for {len(files)} files, found the position {position}")
        return 0
    indexes = [index for index, name in enumerate(files) if name == position.file]
    if len(indexes) > 1:
        raise UsageError(
            f"the position {position} is ambiguous: there are several files of that name; give only one"
            " of them"
        )
    if not indexes:
        raise AbsentError(f"the file of the position {position} is not among the files given")
    return indexes[0]


def parse_position(text: str) -> Position:
    """Parse ``POS`` or ``FILE:POS``; only the file name of a path counts."""
    file, colon, offset = text.rpartition(":")
    name = os.path.basename(file)
    if not re.fullmatch(_OFFSET, offset) or int(offset) > _OFFSET_MAXIMUM or (colon and not name):
        raise UsageError(f"expected a position such as 4711 or mysql-bin.000042:4711, found {text!r}")
    return Position(name if colon else None, int(offset))


_SIZE = r"(\d{1,18})\s*([KMGT]?)(i?B)?"
_SIZE_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def parse_size(text: str) -> int:
    """Parse a number of bytes, with K, M, G or T for powers of 1024."""
    match = re.fullmatch(_SIZE, text.strip(), re.IGNORECASE)
    if match is None:
        raise UsageError(f"expected a number of bytes, such as 4096, 64K or 10M, found {text!r}")
    return int(match[1]) << _SIZE_SHIFTS[match[2].upper()]


LOCAL = "local"
"""The name for this machine's zone."""

_ZONE_OFFSET = r"([+-])(\d{2}):?(\d{2})"

ZoneOffset = Callable[[int], tuple[int, bytes]]
"""From seconds since 1970 to the offset in seconds and the RFC 3339 suffix."""


def parse_zone(text: str) -> tzinfo:
    """Parse a time zone: ``UTC``, ``Europe/Berlin``, ``+02:00``, or ``local`` for this machine's."""
    name = text.strip()
    if name.upper() in ("UTC", "Z"):
        return UTC
    if name.lower() == LOCAL:
        return _Local()
    offset = re.fullmatch(_ZONE_OFFSET, name)
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


def zone_names() -> list[str]:
    """Return the names that :func:`parse_zone` takes."""
    from zoneinfo import available_timezones

    return sorted({"UTC", LOCAL, *available_timezones()})


def zone_offset(zone: tzinfo) -> ZoneOffset:
    """Return the offset function of a zone; times outside its calendar are shown in UTC."""

    def offset(second: int) -> tuple[int, bytes]:
        try:
            local = (_EPOCH + timedelta(seconds=second)).astimezone(zone)
        except (OverflowError, ValueError, OSError):
            return 0, b"Z"
        ahead = local.utcoffset() or timedelta(0)
        return ahead // timedelta(seconds=1), _suffix(local).encode()

    return offset


def zone_name(zone: tzinfo) -> str:
    """Return a zone's name: ``UTC``, ``Europe/Berlin``, ``+02:00``, ``local``."""
    if isinstance(zone, timezone):
        return str(zone).removeprefix("UTC") or "UTC"
    return str(zone)


def in_zone(moment: int, zone: tzinfo) -> datetime:
    """Convert µs since 1970 to a datetime in the zone.

    Raises:
        OverflowError: it is outside the calendar.
    """
    return (_EPOCH + timedelta(microseconds=moment)).astimezone(zone)


def format_in_zone(moment: int, zone: tzinfo) -> str:
    """Format µs since 1970 as RFC 3339; fractions only if not zero.

    Raises:
        OverflowError: it is outside the calendar.
    """
    local = in_zone(moment, zone)
    return f"{local.replace(tzinfo=None).isoformat()}{_suffix(local)}"


def _suffix(local: datetime) -> str:
    if local.tzinfo is UTC:
        return "Z"
    # The rest after the 19 characters of a time without fraction.
    return local.replace(microsecond=0).isoformat()[19:]


class _Local(tzinfo):
    """This machine's zone; the system is queried for the offset of each moment."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """Return the offset of local time from UTC."""
        if moment is None:
            return None
        return moment.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, _: datetime | None) -> timedelta | None:
        """Return None: daylight saving time is part of the offset."""
        return None

    def tzname(self, _: datetime | None) -> str:
        """Return the zone's name."""
        return LOCAL

    def __str__(self) -> str:
        return LOCAL

    def fromutc(self, moment: datetime) -> datetime:
        """Convert UTC to local time."""
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)
