"""Every event of a log, against what the servers' own readers print of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from binx.errors import BinxError, DamagedError, TruncatedError, UsageError
from binx.event.header import EventType
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_logs
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.report.records import names_of
from binx.stats import event_list
from binx.stats.event_list import (
    PLAIN_EVENT_COLUMNS,
    EventListing,
    flag_names,
    parse_types,
)
from tests.conftest import TESTDATA
from tests.stats.logs import BytesSource, Statement, log_bytes

LOGS = sorted(TESTDATA.glob("*/small/*.binlog"))
PLACE = re.compile(r"^# at (\d+)$", re.MULTILINE)
HEADER = re.compile(r"^#\d{6} [ \d]\d:\d\d:\d\d server id (\d+)  end_log_pos (\d+) ", re.MULTILINE)


def end_of(event: dict[str, Any]) -> int:
    return int(event["position"] + event["bytes"])


def listed(*files: BinlogFile, **options: Any) -> list[dict[str, Any]]:
    listing = EventListing(files, as_json=True, **options)
    found = [json.loads(line) for text in listing.lines() for line in text.splitlines()]
    assert listing.problems == []
    return found


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_events_are_those_that_the_servers_reader_prints(path: Path) -> None:
    text = path.with_suffix(".txt").read_text("utf-8", "replace")
    printed = {(int(server), int(end)) for server, end in HEADER.findall(text)}
    with BinlogFile.open(str(path)) as file:
        found = listed(file)
        has_checksums = file.format.checksum_size > 0
    places = [one["position"] for one in found]
    ends = {(one["server_id"], one["next_position"]) for one in found}
    # What is within a payload has places of the reader's own, and no end.
    assert set(places) <= set(map(int, PLACE.findall(text)))
    assert {(server, end) for server, end in printed if end} <= ends
    assert len(printed) > len(places) / 2
    assert {one["checksum"] for one in found if one["event_type"] != "FORMAT_DESCRIPTION"} == (
        {"ok"} if has_checksums else {"none"}
    )
    assert all(one["expected"] for one in found)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_events_fill_the_file_and_belong_to_the_transactions_that_a_scan_finds(path: Path) -> None:
    with BinlogFile.open(str(path)) as file:
        found = listed(file)
        transactions = {
            (table.value("start", index), table.value("end", index)): table.gtid(index)
            for table in Scan(file, Level.LEVEL_EVENTS)
            for index in range(len(table))
        }
        assert [4, *(end_of(one) for one in found)] == [*(one["position"] for one in found), file.size]
    for (start, end), gtid in transactions.items():
        inside = [one for one in found if start <= one["position"] < end]
        assert {(one["start"], one["gtid"]) for one in inside} == {(start, gtid)}
    outside = [one for one in found if one["start"] is None]
    assert not any(start <= one["position"] < end for one in outside for start, end in transactions)


RELAY_LOGS = sorted(str(path) for path in (TESTDATA / "mariadb-10.11" / "relay").glob("relay-bin.0*"))


def test_relay_logs_that_split_transactions_are_listed_each_by_its_own_size() -> None:
    with open_logs(RELAY_LOGS) as files:
        found = listed(*files)
    for path in RELAY_LOGS:
        events = [one for one in found if one["file"] == Path(path).name]
        ends = [4, *(end_of(one) for one in events)]
        assert ends == [*(one["position"] for one in events), Path(path).stat().st_size]
    assert all(one["expected"] for one in found)
    # The third to fifth log have only events of a transaction of the second, which they name by its GTID.
    inside = [one for one in found if one["file"] == "relay-bin.000003" and "ROWS" in one["event_type"]]
    assert {(one["start"], one["gtid"]) for one in inside} == {(None, "0-10-6")}


def test_what_is_listed_of_some_relay_logs_is_part_of_what_is_listed_of_all() -> None:
    with open_logs(RELAY_LOGS) as files:
        found = [one for one in listed(*files) if one["file"] in ("relay-bin.000004", "relay-bin.000005")]
        chosen = listed(*files, first=3, last=4, start=600, stop=600)
    second = [one["file"] for one in found].index("relay-bin.000005")
    first, last = found[:second], found[second:]
    assert chosen == [one for one in first if end_of(one) > 600] + [
        one for one in last if one["position"] < 600
    ]


def test_any_position_in_a_relay_log_begins_where_it_stands_among_all() -> None:
    with open_logs(RELAY_LOGS) as files:
        found = listed(*files)
        for place, path in enumerate(RELAY_LOGS):
            events = [one for one in found if one["file"] == Path(path).name]
            for one in events:
                chosen = listed(*files, first=place, last=place, start=one["position"])
                assert chosen == [other for other in events if end_of(other) > one["position"]]


def test_relay_logs_that_end_inside_a_transaction_are_reported() -> None:
    with (
        open_logs(RELAY_LOGS[:3]) as files,
        pytest.raises(TruncatedError, match="inside the transaction of the log before it") as caught,
    ):
        listed(*files)
    assert caught.value.path == RELAY_LOGS[2]


def test_no_event_between_transactions_has_a_gtid() -> None:
    with open_logs([str(TESTDATA / "mariadb-10.11/relay/source/mysql-bin.000001")]) as files:
        found = listed(*files)
    assert {one["gtid"] for one in found if one["start"] is None} == {None}


def test_events_within_payloads_follow_them(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        outer, both = listed(file), listed(file, inner=True)
        totals = Scan(file, Level.LEVEL_TABLES)
        for _ in totals:
            pass
        inside = Counter(EventType[one["event_type"]].value for one in both if one["inner"] is not None)
        assert inside == totals.totals().inner
    assert [one for one in both if one["inner"] is None] == outer
    payloads = {one["position"]: one for one in outer if one["event_type"] == "TRANSACTION_PAYLOAD"}
    assert payloads
    for one in both:
        if one["inner"] is not None:
            payload = payloads[one["position"]]
            assert (one["gtid"], one["start"]) == (payload["gtid"], payload["start"])
            assert one["checksum"] == "none"


def test_a_plain_line_has_the_same_values(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "compressed.binlog")) as file:
        documents = listed(file, inner=True)
        (text,) = EventListing([file], inner=True).lines()
    lines = [line.split("\t") for line in text.decode().splitlines()]
    for one, line in zip(documents, lines, strict=True):
        assert list(one) == list(names_of("event"))
        assert one["flags"] == ([] if line[7] == "-" else line[7].split(","))
        one["flags"] = line[7]
        one["end"] = None if one["inner"] is not None else end_of(one)
        if one["inner"] is not None:
            one["position"] = f"{one['position']}+{one['inner']}"
        assert line == ["-" if one[name] is None else str(one[name]) for name in PLAIN_EVENT_COLUMNS]


def test_times_are_in_the_zone_asked_for(testdata: Path) -> None:
    with BinlogFile.open(str(testdata / "mysql-9.7" / "small" / "ddl.binlog")) as file:
        assert listed(file, zone=ZoneInfo("Asia/Tokyo"))[0]["event_timestamp"] == "2026-11-21T18:49:12+09:00"


def shop_log(testdata: Path) -> BinlogFile:
    return BinlogFile.open(str(testdata / "mysql-9.7" / "shop" / "mysql-bin.000003"))


def test_types_places_and_a_limit_choose_events(testdata: Path) -> None:
    with shop_log(testdata) as file:
        everything = listed(file)
        rows = parse_types("*_ROWS")
        assert listed(file, types=rows) == [one for one in everything if one["event_type"].endswith("_ROWS")]
        middle = everything[len(everything) // 2]["position"]
        assert listed(file, start=middle) == [one for one in everything if end_of(one) > middle]
        assert listed(file, start=middle + 3) == [one for one in everything if end_of(one) > middle + 3]
        assert listed(file, stop=middle) == [one for one in everything if one["position"] < middle]
        assert listed(file, limit=7) == everything[:7]
        assert (
            listed(file, start=middle, limit=3, types=rows)
            == [one for one in everything if end_of(one) > middle and one["event_type"].endswith("_ROWS")][:3]
        )


@pytest.mark.parametrize("lines", [1, 50])
def test_pieces_and_windows_of_any_size_say_the_same(
    testdata: Path, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    paths = [
        testdata / "mysql-9.7" / "shop" / "mysql-bin.000003",
        testdata / "mysql-9.7" / "small" / "compressed.binlog",
    ]
    for path in paths:
        with BinlogFile.open(str(path)) as file:
            expected = listed(file, inner=True)
            with monkeypatch.context() as patch:
                patch.setattr(event_list, "_LINES", lines)
                patch.setattr("binx.log.binlog_file.READ_BYTES", 100)
                assert listed(file, inner=True) == expected


def test_types_are_read_by_name_pattern_and_number() -> None:
    assert parse_types("query, xid, 15") == {EventType.QUERY, EventType.XID, EventType.FORMAT_DESCRIPTION}
    assert EventType.WRITE_ROWS in parse_types("*rows*")
    for text in ("", "quarry", "300", "QUERY,,XID", "9" * 5000):
        with pytest.raises(UsageError, match="event type"):
            parse_types(text)


def test_flags_have_names() -> None:
    assert flag_names(0) == []
    assert flag_names(0x80 | 0x8) == ["SUPPRESS_USE", "IGNORABLE"]
    assert flag_names(0x2000 | 0x1) == ["IN_USE", "0x2000"]


def test_a_wrong_checksum_is_noted_and_passed_over(testdata: Path) -> None:
    path = testdata / "mysql-9.7" / "small" / "ddl.binlog"
    with BinlogFile.open(str(path)) as file:
        events = listed(file)
    data = bytearray(path.read_bytes())
    broken = events[len(events) // 2]
    data[end_of(broken) - 1] ^= 1
    with BinlogFile(BytesSource(bytes(data), path.name)) as file:
        listing = EventListing([file], as_json=True)
        found = [json.loads(line) for text in listing.lines() for line in text.splitlines()]
        assert found == [{**one, "checksum": "bad"} if one == broken else one for one in events]
        assert listing.problems == [
            f"{path.name}: events with wrong checksums: 1, the first at {broken['position']}"
        ]
        assert {one["checksum"] for one in listed(file, verify=False)} == {"unverified"}


def test_an_event_where_none_of_its_sort_can_stand_is_noted(testdata: Path) -> None:
    """The last table map is made a GTID event, which cannot stand inside a transaction."""
    path = testdata / "mysql-9.7" / "small" / "no_checksum.binlog"
    with BinlogFile.open(str(path)) as file:
        events = listed(file)
    data = bytearray(path.read_bytes())
    last = next(one["position"] for one in reversed(events) if one["event_type"] == "TABLE_MAP")
    data[last + 4] = EventType.GTID
    with BinlogFile(BytesSource(bytes(data), path.name)) as file:
        listing = EventListing([file], as_json=True)
        found = [json.loads(line) for text in listing.lines() for line in text.splitlines()]
    assert len(found) == len(events)
    unexpected = [one["position"] for one in found if not one["expected"]]
    assert unexpected[0] == last
    assert listing.problems == [
        f"{path.name}: events that cannot be read or are not valid at their place: {len(unexpected)},"
        f" the first at {last}"
    ]


def test_a_cut_file_is_listed_up_to_its_last_whole_event() -> None:
    data = log_bytes([Statement(), Statement()], next_file=None)
    with BinlogFile(BytesSource(data, "made.000001")) as file:
        whole = listed(file)
    with BinlogFile(BytesSource(data[:-3], "made.000001")) as file:
        listing = EventListing([file], as_json=True)
        lines = listing.lines()
        assert [json.loads(line) for line in next(lines).splitlines()] == whole[:-1]
        with pytest.raises(TruncatedError, match="ends inside an event"):
            next(lines)


def test_a_log_that_ends_between_the_events_of_a_transaction_is_listed_and_reported(tmp_path: Path) -> None:
    path = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"
    with BinlogFile.open(str(path)) as file:
        events = listed(file)
    data = path.read_bytes()
    told = 0
    for one in events:
        cut = tmp_path / "mysql-bin.000001"
        cut.write_bytes(data[: end_of(one)])
        following = [other for other in events if other["position"] >= end_of(one)]
        inside = one["start"] is not None and following and following[0]["start"] == one["start"]
        with BinlogFile.open(str(cut)) as file:
            lines = EventListing([file], as_json=True).lines()
            if not inside:
                assert len(b"".join(lines).splitlines()) == len(events) - len(following)
                continue
            found: list[bytes] = []
            with pytest.raises(TruncatedError, match="ends inside the transaction at"):
                found.extend(lines)
            assert len(b"".join(found).splitlines()) == len(events) - len(following)
            told += 1
    assert told > len(events) / 2


def test_a_size_that_no_event_has_ends_the_listing() -> None:
    data = bytearray(log_bytes([Statement(), Statement()], next_file=None))
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        whole = listed(file)
    data[whole[-1]["position"] + 9 : whole[-1]["position"] + 13] = b"\x05\0\0\0"
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        lines = EventListing([file], as_json=True).lines()
        assert [json.loads(line) for line in next(lines).splitlines()] == whole[:-1]
        with pytest.raises(DamagedError, match="size 5"):
            next(lines)


@pytest.mark.parametrize("name", ["mysql-9.7/small/compressed.binlog", "mariadb-10.11/small/xa.binlog"])
def test_damage_anywhere_gives_lines_or_an_error_that_says_where(testdata: Path, name: str) -> None:
    data = (testdata / name).read_bytes()
    errors = []
    for place in range(4, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 0x5A
        try:
            with BinlogFile(BytesSource(bytes(broken), "made.000001")) as file:
                for text in EventListing([file], inner=True, as_json=True).lines():
                    assert all(json.loads(line) for line in text.splitlines())
        except BinxError as error:
            errors.append(error)
    assert {error.path for error in errors} == {"made.000001"}


def test_after_damage_events_are_read_as_the_last_format_says() -> None:
    """A relay log of a source without checksums holds two format descriptions."""
    own = (TESTDATA / "mysql-9.7" / "small" / "ddl.binlog").read_bytes()
    own = own[: 4 + int.from_bytes(own[13:17], "little")]
    sources = log_bytes([Statement(thread_id=number) for number in range(40)])
    log = bytearray(own + sources[4:])
    first = len(own) + int.from_bytes(sources[13:17], "little")
    log[first + 9 : first + 13] = bytes(4)
    with BinlogFile(BytesSource(bytes(log), "relay-bin.000001")) as file:
        listing = EventListing([file], as_json=True, on_damage=OnDamage.SALVAGE)
        found = [json.loads(line) for text in listing.lines() for line in text.splitlines()]
    assert [one["event_type"] for one in found].count("QUERY") == 39
    assert {one["checksum"] for one in found if one["event_type"] == "QUERY"} == {"none"}
    assert len(listing.problems) == 1


def test_a_wrong_checksum_of_the_format_description_is_reported() -> None:
    log = bytearray((TESTDATA / "mysql-9.7" / "small" / "ddl.binlog").read_bytes())
    log[4 + int.from_bytes(log[13:17], "little") - 1] ^= 1
    with BinlogFile(BytesSource(bytes(log), "mysql-bin.000001")) as file:
        listing = EventListing([file], as_json=True)
        first = json.loads(b"".join(listing.lines()).splitlines()[0])
    assert first["checksum"] == "bad"
    assert listing.problems == ["mysql-bin.000001: events with wrong checksums: 1, the first at 4"]


def test_an_incomplete_event_at_the_end_of_a_log_in_use_is_noted() -> None:
    log = (TESTDATA / "mysql-9.7" / "in-use" / "mysql-bin.000001").read_bytes()[:-3]
    with BinlogFile(BytesSource(log, "mysql-bin.000001")) as file:
        listing = EventListing([file], as_json=True)
        last = json.loads(b"".join(listing.lines()).splitlines()[-1])
    (note,) = listing.notes
    assert note.startswith(
        f"mysql-bin.000001: its last {len(log) - end_of(last)} bytes are an incomplete event"
    )
    assert listing.problems == []
