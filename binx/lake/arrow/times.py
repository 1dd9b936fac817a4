"""Rules for how a server converts dates and times when a column's type changes.

Sources: MySQL manual, "Data Type Conversion" under ALTER TABLE, "Precision Math", "Fractional Seconds in Time
Values"; MariaDB rounds numbers alike, and truncates fractional seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from binx.lake.arrow.types import Case, Misfit, Rule, SqlType, UnknownError
from binx.lake.tables.lives import Epoch

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_ZERO = "0000-00-00"


def zone_of(epoch: Epoch) -> tzinfo | None:
    """Return the session's time zone; None if it is not in the log."""
    if match := _OFFSET.fullmatch(epoch.time_zone):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    if epoch.time_zone.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(epoch.time_zone) if "/" in epoch.time_zone else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _fraction(value: datetime, old: SqlType, new: SqlType, epoch: Epoch) -> datetime:
    """Reduce a time to the fractional digits of the new type."""
    if new.size >= old.size:
        return value
    step = 10 ** (6 - new.size)
    rest = value.microsecond % step
    if rest == 0 or epoch.flavour == "mariadb":
        return value - timedelta(microseconds=rest)
    return value + timedelta(microseconds=step - rest if rest * 2 >= step else -rest)


def moments(case: Case) -> Rule:
    """Convert between DATETIME and TIMESTAMP, or either to fewer digits."""
    zone = zone_of(case.epoch)

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            if value.startswith(_ZERO) or case.old.base == case.new.base == "datetime":
                whole = value.partition(".")[0]
                return Misfit(whole + (f".{'0' * case.new.size}" if case.new.size else ""))
            raise UnknownError
        moment = _fraction(value, case.old, case.new, case.epoch)
        if case.old.base == case.new.base:
            return moment
        if zone is None:
            raise UnknownError
        if case.old.base == "timestamp":
            return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        early, late = (moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if early != late or not datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC) <= early:
            raise UnknownError
        return early.replace(tzinfo=None)

    return rule


def date_to_moment(case: Case) -> Rule:
    """Convert DATE to a time at midnight."""
    zone = zone_of(case.epoch)

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            if value != _ZERO and case.new.base == "timestamp":
                raise UnknownError
            return Misfit(f"{value} 00:00:00" + (f".{'0' * case.new.size}" if case.new.size else ""))
        midnight = datetime(value.year, value.month, value.day)
        if case.new.base == "datetime":
            return midnight
        if zone is None:
            raise UnknownError
        early, late = (midnight.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if early != late:
            raise UnknownError
        return early.replace(tzinfo=None)

    return rule


def moment_to_date(case: Case) -> Rule:
    """Convert to DATE, unless rounding the fraction of a second could reach the next day."""
    zone = zone_of(case.epoch) if case.old.base == "timestamp" else UTC

    def rule(value: Any) -> Any:
        if isinstance(value, Misfit):
            return Misfit(value[:10])
        if zone is None or (value.microsecond and case.epoch.flavour != "mariadb"):
            raise UnknownError
        return value.replace(tzinfo=UTC).astimezone(zone).date()

    return rule


def text_to_moment(case: Case) -> Rule:
    """Convert text in the server's own output format."""

    def rule(value: str) -> Any:
        if case.new.base == "date" and _DATE.fullmatch(value):
            return date.fromisoformat(value)
        if case.new.base == "datetime" and (_MOMENT.fullmatch(value) or _DATE.fullmatch(value)):
            digits = len(value.partition(".")[2])
            if digits <= case.new.size:
                return datetime.fromisoformat(value.ljust(26, "0") if digits else value)
        raise UnknownError

    return rule


def printed_moment(case: Case) -> Rule:
    """Convert DATETIME and TIMESTAMP to text."""
    zone, digits = zone_of(case.epoch) if case.old.base == "timestamp" else UTC, case.old.size

    def rule(value: Any) -> str:
        if isinstance(value, Misfit):
            return str(value)
        if zone is None:
            raise UnknownError
        moment = value.replace(tzinfo=UTC).astimezone(zone)
        day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
        fraction = f".{moment.microsecond:06}"[: digits + 1] if digits else ""
        return f"{day} {moment:%H:%M:%S}{fraction}"

    return rule
