"""Time zones in which moments are shown."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from binx.errors import UsageError
from binx.log.selection.moments import format_time
from binx.log.selection.zones import format_in_zone, parse_zone, zone_name, zone_offset
from tests.conftest import PROJECT

SUMMER = 1_780_000_000
WINTER = 1_767_225_600


def test_zones_are_read_by_name_and_by_offset() -> None:
    assert parse_zone("utc") is parse_zone("Z") is UTC
    assert parse_zone(" Europe/Berlin ") == ZoneInfo("Europe/Berlin")
    assert parse_zone("+05:30") == timezone(timedelta(hours=5, minutes=30))
    assert parse_zone("-0930") == timezone(-timedelta(hours=9, minutes=30))


@pytest.mark.parametrize("text", ["", "Mars/Olympus", "+25:00", "+01:60", "../etc/passwd", "a\0b", "5"])
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="time zone"):
        parse_zone(text)


def test_an_offset_is_that_of_its_moment() -> None:
    offset = zone_offset(ZoneInfo("Europe/Berlin"))
    assert offset(SUMMER) == (7200, b"+02:00")
    assert offset(WINTER) == (3600, b"+01:00")
    assert zone_offset(UTC)(0) == (0, b"Z")


def test_what_a_calendar_cannot_have_there_is_in_utc() -> None:
    assert zone_offset(timezone(timedelta(hours=1)))(253_402_300_799) == (0, b"Z")


def test_utc_is_written_as_elsewhere() -> None:
    for moment in (0, SUMMER * 1_000_000, SUMMER * 1_000_000 + 250_000):
        assert format_in_zone(moment, UTC) == format_time(moment)
    assert format_in_zone(1_500_000, parse_zone("+01:00")) == "1970-01-01T01:00:01.500000+01:00"


def test_zones_have_names() -> None:
    assert [zone_name(parse_zone(text)) for text in ("UTC", "Asia/Tokyo", "+02:00", "local")] == [
        "UTC",
        "Asia/Tokyo",
        "+02:00",
        "local",
    ]


def test_the_local_zone_is_that_of_the_machine() -> None:
    program = (
        "from binx.log.selection.zones import *\n"
        f"zone = parse_zone('local')\nprint(zone_offset(zone)({SUMMER}), zone_offset(zone)({WINTER}))\n"
        f"print(format_in_zone({SUMMER} * 1000000, zone))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"TZ": "America/New_York"},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "(-14400, b'-04:00') (-18000, b'-05:00')",
        "2026-05-28T16:26:40-04:00",
    ]
