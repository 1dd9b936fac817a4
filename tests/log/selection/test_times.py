"""Times, positions and GTIDs: how they are read, and what a search for them looks at."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, ChecksumError, TruncatedError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level, Scanner
from binx.log.binlog_file import BinlogFile
from binx.log.boundary import compiled
from binx.log.identifiers import kernel_intervals
from binx.log.scan import Scan
from binx.log.selection.selection import Selection, Selector
from binx.log.selection.times import (
    Position,
    format_in_zone,
    format_time,
    parse_position,
    parse_time,
    parse_zone,
    parse_zoned_time,
    zone_name,
    zone_offset,
)
from tests.conftest import PROJECT, SHOPS, TESTDATA
from tests.log.searching import SMALL, Bytes


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T09:30:00Z", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
        ("2026-11-21T09:30:00", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
        ("2026-11-21 09:30", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
        ("2026-11-21T09:30:00+02:00", datetime(2026, 11, 21, 7, 30, tzinfo=UTC)),
        ("2026-11-21T09:30:00.250001-00:30", datetime(2026, 11, 21, 10, 0, 0, 250_001, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("1970-01-01", datetime(1970, 1, 1, tzinfo=UTC)),
        (" 2026-11-21T09:30:00Z ", datetime(2026, 11, 21, 9, 30, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_in_utc(text: str, moment: datetime) -> None:
    assert datetime.fromtimestamp(parse_time(text) / 1_000_000, UTC) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21 02:10 Europe/Berlin", "2026-11-21T01:10:00Z"),
        ("2026-07-21T02:10:30.5 Europe/Berlin", "2026-07-21T00:10:30.500000Z"),
        ("2026-07-21 America/New_York", "2026-07-21T04:00:00Z"),
        ("2026-10-25 01:59 Europe/Berlin", "2026-10-24T23:59:00Z"),
        ("2026-10-25 03:00 Europe/Berlin", "2026-10-25T02:00:00Z"),
        (" 2026-11-21 02:10 UTC ", "2026-11-21T02:10:00Z"),
        ("2026-11-21 02:10 local", "2026-11-20T20:40:00Z"),
        ("2026-11-21 02:10", "2026-11-21T02:10:00Z"),
        ("@1795253400", "2026-11-21T09:30:00Z"),
    ],
)
def test_a_time_may_have_its_zone_after_it(text: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert format_time(parse_zoned_time(text)) == moment
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-10-25 02:10 Europe/Berlin", "show once"),
        ("2026-03-29 02:10 Europe/Berlin", "show once"),
        ("2026-11-21 02:10Z Europe/Berlin", "without an offset"),
        ("2026-11-21 02:10 Europe/Nowhere", "time zone such as"),
        ("0001-01-01 Europe/Berlin", "calendar"),
        ("1 month ago", "a time such as"),
        ("tomorrow", "a time such as"),
        ("", "a time such as"),
    ],
)
def test_a_time_that_its_zone_leaves_open_is_a_usage_error(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_zoned_time(text)


def test_seconds_since_1970_are_exact() -> None:
    assert parse_time("@1795253400") == 1_795_253_400_000_000
    assert parse_time("@0.000001") == 1
    assert parse_time("@1795253400.5") == 1_795_253_400_500_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "yesterday", "2026-13-01", "2026-11-21T25:00", "@", "@1.2.3", "@-5", "1795253400", "@٣"),
        *("0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "@100000000000"),
    ],
)
def test_what_is_no_time_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="expected a time"):
        parse_time(text)


def test_the_first_and_the_last_time_of_all_are_written_as_they_are_read() -> None:
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"):
        assert format_time(parse_time(text)) == text
    assert format_time(parse_time("@99999999999")) == "5138-11-16T09:46:39Z"


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))
def test_a_moment_is_written_as_it_is_read(moment: datetime) -> None:
    microseconds = parse_time(moment.isoformat())
    assert parse_time(format_time(microseconds)) == microseconds
    assert format_time(microseconds) == moment.isoformat() + "Z"


def test_positions_are_a_number_or_a_file_and_a_number() -> None:
    assert parse_position("4711") == Position(None, 4711)
    assert parse_position("mysql-bin.000042:4") == Position("mysql-bin.000042", 4)
    assert parse_position("/var/lib/mysql/a:b.000001:4") == Position("a:b.000001", 4)
    assert str(parse_position("x/mysql-bin.000042:4")) == "mysql-bin.000042:4"


@pytest.mark.parametrize("text", ["", "x", "-4", "a:", ":4", "a:-4", "4 ", "9" * 20, "٤"])
def test_what_is_no_position_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="expected a position"):
        parse_position(text)


NOW = parse_time("2026-11-21T12:00:00Z")


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("20 minutes ago", "UTC", "2026-11-21T11:40:00Z"),
        ("1 hour ago", "Europe/Berlin", "2026-11-21T11:00:00Z"),
        ("90s ago", "UTC", "2026-11-21T11:58:30Z"),
        ("3 Days ago", "UTC", "2026-11-18T12:00:00Z"),
        ("now", "Europe/Berlin", "2026-11-21T12:00:00Z"),
        ("today", "UTC", "2026-11-21T00:00:00Z"),
        ("Today", "Europe/Berlin", "2026-11-20T23:00:00Z"),
        ("today", "Pacific/Auckland", "2026-11-21T11:00:00Z"),
        ("yesterday", "Europe/Berlin", "2026-11-19T23:00:00Z"),
        ("11:50", "UTC", "2026-11-21T11:50:00Z"),
        ("11:50:03.25", "UTC", "2026-11-21T11:50:03.250000Z"),
        ("11:50:03,000001Z", "Europe/Berlin", "2026-11-21T11:50:03.000001Z"),
        ("12:50+01:00", "UTC", "2026-11-21T11:50:00Z"),
        ("12:50:30.5 Europe/Berlin", "UTC", "2026-11-21T11:50:30.500000Z"),
        ("12:50:30", "Europe/Berlin", "2026-11-21T11:50:30Z"),
        ("12:01", "UTC", "2026-11-20T12:01:00Z"),
        ("2026-11-21 02:10", "Europe/Berlin", "2026-11-21T01:10:00Z"),
        ("2026-11-21", "Asia/Tokyo", "2026-11-20T15:00:00Z"),
        ("2026-11-21T02:10Z", "Europe/Berlin", "2026-11-21T02:10:00Z"),
        ("2026-11-21 02:10 UTC", "Europe/Berlin", "2026-11-21T02:10:00Z"),
    ],
)
def test_times_as_seen_from_now_and_in_a_zone(text: str, zone: str, moment: str) -> None:
    assert format_time(parse_zoned_time(text, parse_zone(zone), NOW)) == moment


def test_a_day_begins_when_its_clocks_skip_midnight() -> None:
    now = parse_time("2026-09-06T12:00:00Z")
    today = parse_zoned_time("today", parse_zone("America/Santiago"), now)
    assert format_time(today) == "2026-09-06T04:00:00Z"


@pytest.mark.parametrize("text", ["25:00", "ago", "5 ago", "5 months ago", "2026-03-29 02:30"])
def test_no_times(text: str) -> None:
    with pytest.raises(UsageError):
        parse_zoned_time(text, parse_zone("Europe/Berlin"), NOW)


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
        "from binx.log.selection.times import *\n"
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


LOGS = [
    *SHOPS["mysql-9.7"],
    *SHOPS["mariadb-10.11"],
    *sorted(SMALL.glob("*.00*")),
    *sorted((TESTDATA / "mysql-9.7" / "relay").glob("*.0*")),
    # Those after it begin inside a transaction.
    *sorted((TESTDATA / "mariadb-10.11" / "relay").glob("*.0*"))[:2],
]
IDS = [f"{log.parent.parent.name}-{log.parent.name}-{log.name}" for log in LOGS]
COLUMNS = ("start", "end", "kind", "commit_timestamp", "xid", "server_id", "thread_id", "sequence_number")

Taken = list[tuple[str | None, ...]]


def taken(file: BinlogFile, gtids: GtidSet, *, alone: bool) -> tuple[Taken, int]:
    """The transactions that have the GTIDs, and how many the scan has handed over."""
    selector = Selector(Selection(gtids=gtids), [file.name])
    found: Taken = []
    seen = 0
    scan = Scan(file, gtids=selector.sought if alone else None)
    for table in scan:
        seen += len(table)
        for index in table.marked(selector.mask(file, scan, table)):
            found.append((table.gtid(index), *(str(table.value(name, index)) for name in COLUMNS)))
        if selector.complete:
            break
    return found, seen


def all_gtids(file: BinlogFile) -> list[str]:
    found: list[str] = []
    # A relay log may end inside a transaction, which the next one goes on with.
    with suppress(TruncatedError):
        for table in Scan(file):
            found += [gtid for gtid in map(table.gtid, range(len(table))) if gtid is not None]
    return found


@pytest.mark.parametrize("path", LOGS, ids=IDS)
def test_every_gtid_is_found_as_by_a_scan_of_everything(path: Path) -> None:
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        for gtid in gtids[:: max(1, len(gtids) // 25)]:
            wanted = GtidSet.parse(gtid)
            assert taken(file, wanted, alone=True)[0] == taken(file, wanted, alone=False)[0] != []


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_of_the_others_hardly_any_is_handed_over(server: str) -> None:
    with BinlogFile.open(str(SHOPS[server][1])) as file:
        gtids = all_gtids(file)
        found, seen = taken(file, GtidSet.parse(gtids[-1]), alone=True)
        assert len(found) == 1
        assert seen < len(gtids) // 4


@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_any_set_is_found_as_by_a_scan_of_everything(server: str, data: st.DataObject) -> None:
    with BinlogFile.open(str(SHOPS[server][1])) as file:
        gtids = all_gtids(file)
        wanted = GtidSet()
        for gtid in data.draw(st.lists(st.sampled_from(gtids), min_size=1, max_size=20)):
            wanted |= GtidSet.parse(gtid)
        assert taken(file, wanted, alone=True)[0] == taken(file, wanted, alone=False)[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"])
def test_of_a_damaged_log_comes_the_transaction_that_was_asked_for_or_none(
    server: str, data: st.DataObject
) -> None:
    path = SHOPS[server][1]
    whole = path.read_bytes()
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        wanted = GtidSet.parse(data.draw(st.sampled_from(gtids)))
        right = taken(file, wanted, alone=False)[0]
    damaged = bytearray(whole)
    place = data.draw(st.integers(file.first_position, len(whole) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    with BinlogFile(Bytes(bytes(damaged))) as file:
        try:
            found = taken(file, wanted, alone=True)[0]
        except BinxError:
            return
        start, end = int(str(right[0][1])), int(str(right[0][2]))
        assert found in ([], right) or start <= place < end


def test_a_gtid_event_with_wrong_bytes_is_reported() -> None:
    path = SHOPS["mysql-9.7"][1]
    damaged = bytearray(path.read_bytes())
    with BinlogFile.open(str(path)) as file:
        gtids = all_gtids(file)
        start = next(iter(Scan(file))).value("start", 5)
    damaged[start + 19 + 17] ^= 1
    with BinlogFile(Bytes(bytes(damaged))) as file, pytest.raises(ChecksumError):
        taken(file, GtidSet.parse(gtids[-1]), alone=True)


def test_what_is_looked_for_is_said_before_the_walk() -> None:
    scanner = Scanner(Level.LEVEL_INDEX, 1_000, 4, compiled(), True)
    intervals = kernel_intervals(GtidSet.parse("0-1-5"))
    scanner.search(intervals)
    with pytest.raises(ValueError, match="begun"):
        scanner.search(intervals)
