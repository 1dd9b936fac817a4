"""Transactions as lines, in any order, against the same transactions as Arrow."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog, epochs
from binx.log.index.transactions import index_batch
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.log.selection.times import format_in_zone
from binx.slices.search import Selected
from binx.source.log_names import printable
from binx.stats import listing
from binx.stats.lines import COLUMNS, JSON_COLUMNS, PLAIN_COLUMNS, LineWriter, parse_columns
from binx.stats.listing import Listing, Order
from tests.stats.logs import BytesSource, Statement, listing_of, log_bytes, log_of

CONTRACT = [
    "commit_version", "transaction", "gtid", "xid", "server_id", "epoch", "seqno", "kind", "how",
    "file", "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp", "commit_time_source",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number",
    "thread_id", "events", "rows", "statements", "tables",
]  # fmt: skip
BERLIN = ZoneInfo("Europe/Berlin")


def parts(files: list[BinlogFile], level: Level = Level.LEVEL_TABLES) -> Iterator[Selected]:
    seqno = 1
    for file, epoch in zip(files, epochs(list(map(ChainLog.of, files))), strict=True):
        scan = Scan(file, level)
        for table in scan:
            yield Selected(scan, table, table.mask(), epoch, seqno, True)
            seqno += len(table)


def lines_of(writer: LineWriter, files: list[BinlogFile]) -> list[str]:
    return [line for part in parts(files) for line in writer.lines(part).decode().splitlines()]


def rows_of(part: Selected) -> list[dict[str, Any]]:
    """The transactions by the declaration of the index, as JSON has their values."""
    batch = index_batch(part.scan.file, part.scan, part.table, epoch=part.epoch, first_seqno=part.first_seqno)
    rows: list[dict[str, Any]] = batch.to_pylist()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, datetime):
                row[name] = value.replace(tzinfo=None).isoformat() + "Z"
    return rows


@pytest.mark.parametrize("level", [Level.LEVEL_INDEX, Level.LEVEL_TABLES])
def test_the_json_of_every_transaction_is_its_row_in_the_index(shop: list[BinlogFile], level: Level) -> None:
    count = 0
    writer = LineWriter(as_json=True)
    for part in parts(shop, level):
        rows = rows_of(part)
        expected = [json.dumps(row, ensure_ascii=False) for row in rows]
        assert writer.lines(part).decode().splitlines() == expected
        count += len(rows)
    assert count > 1_500


def test_the_json_of_every_small_log_is_that_of_its_index(testdata: Path) -> None:
    kinds: set[str] = set()
    for path in sorted(testdata.glob("*/small/*.binlog")):
        with BinlogFile.open(str(path)) as file:
            writer = LineWriter(as_json=True)
            for part in parts([file]):
                rows = rows_of(part)
                assert [json.loads(line) for line in writer.lines(part).splitlines()] == rows
                kinds.update(row["kind"] for row in rows)
    assert kinds >= {"dml", "ddl", "rollback", "xa_prepare", "xa_commit", "xa_rollback"}


def test_an_object_has_the_contracts_names() -> None:
    assert list(JSON_COLUMNS) == CONTRACT
    with log_of([Statement()]) as file:
        (line,) = lines_of(LineWriter(as_json=True), [file])
    document = json.loads(line)
    assert list(document) == CONTRACT
    assert document["commit_timestamp"] == "2023-11-14T22:13:20Z"
    assert document["commit_time_source"] == "terminal_event"
    assert (document["kind"], document["statements"], document["tables"]) == ("ddl", 1, [])


@pytest.mark.parametrize("name", ['a"b\\c.000001', "bücher.000001", "tab\tname.000001", "odd\udcff.000001"])
def test_any_name_of_a_file_gives_lines_that_can_be_written(testdata: Path, name: str) -> None:
    data = (testdata / "mysql-9.7" / "small" / "tagged_gtids.binlog").read_bytes()
    with BinlogFile(BytesSource(data, name)) as file:
        for line in lines_of(LineWriter(as_json=True), [file]):
            assert json.loads(line)["file"] == printable(name)
        for line in lines_of(LineWriter(), [file]):
            assert len(line.split("\t")) == len(PLAIN_COLUMNS)
            assert "\t\t" not in line


def plain(name: str, value: Any) -> str:
    """A value of JSON as a plain line has it."""
    if name == "duration":
        return "-" if value is None else str(int(value[1]))
    if name != "tables":
        return "-" if value is None else str(value)
    texts = []
    for change in value or ():
        signs = [("+", change["inserts"]), ("~", change["updates"]), ("-", change["deletes"])]
        counts = [f"{sign}{count}" for sign, count in signs if count]
        texts.append(" ".join([f"{change['db']}.{change['table']}", *counts]))
    return ", ".join(texts) or "-"


def test_every_column_says_what_json_says(shop: list[BinlogFile]) -> None:
    documents = map(json.loads, lines_of(LineWriter(COLUMNS, as_json=True), shop))
    for line, one in zip(lines_of(LineWriter(COLUMNS), shop), documents, strict=True):
        fields = dict(zip(COLUMNS, line.split("\t"), strict=True))
        if one["kind"] == "ddl" or (one["statements"] and not one["tables"]):
            # A statement whose rows are not in the log is told by its text.
            assert fields.pop("tables") != "-"
        assert fields == {name: plain(name, one[name]) for name in fields}


@pytest.mark.parametrize(
    ("begin", "commit", "duration"),
    [(10, 10, [0, 0.999999]), (10, 12, [1.000001, 2.999999]), (10, 9, None)],
)
def test_of_a_duration_no_more_is_said_than_whole_seconds_show(
    begin: int, commit: int, duration: list[float] | None
) -> None:
    made = [Statement(begin, "BEGIN"), Statement(begin, "DELETE FROM t"), Statement(commit, "COMMIT")]
    with log_of(made) as file:
        (line,) = lines_of(LineWriter(["duration"], as_json=True), [file])
        (text,) = lines_of(LineWriter(["duration"]), [file])
    assert json.loads(line) == {"duration": duration}
    assert text == ("-" if duration is None else str(commit - begin))


def test_columns_come_in_the_order_asked_for(shop: list[BinlogFile]) -> None:
    for line in lines_of(LineWriter(["kind", "file"], as_json=True), shop[:1]):
        assert list(json.loads(line)) == ["kind", "file"]
    assert all(line.split("\t")[0].isdigit() for line in lines_of(LineWriter(["start", "kind"]), shop[:1]))


def test_some_of_a_page_are_some_of_its_lines(shop: list[BinlogFile]) -> None:
    part = next(parts(shop))
    every = LineWriter().lines(part).splitlines(keepends=True)
    assert LineWriter().each(part, [0, 3, len(every) - 1]) == [every[0], every[3], every[-1]]
    assert LineWriter().each(part, []) == []


@settings(max_examples=60, deadline=None)
@given(
    seconds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8),
    zone=st.sampled_from(
        [UTC, BERLIN, ZoneInfo("Asia/Kathmandu"), timezone(timedelta(hours=-9, minutes=-30))]
    ),
)
def test_times_are_those_of_the_zones_clock(seconds: list[int], zone: tzinfo) -> None:
    with log_of([Statement(seconds=second) for second in seconds]) as file:
        shown = lines_of(LineWriter(["commit_timestamp"], zone=zone), [file])
    assert shown == [format_in_zone(second * 1_000_000, zone) for second in seconds]


def test_the_clock_is_set_back_within_a_second() -> None:
    """At 2026-10-25 01:00 UTC it is 03:00 and 02:00 in Berlin."""
    change = 1_792_890_000
    with log_of([Statement(seconds=change - 1), Statement(seconds=change)]) as file:
        shown = lines_of(LineWriter(["commit_timestamp"], zone=BERLIN), [file])
    assert shown == ["2026-10-25T02:59:59+02:00", "2026-10-25T02:00:00+01:00"]


def test_a_time_of_a_damaged_log_is_shown_as_it_is(testdata: Path) -> None:
    """The commit time of a GTID event, 7 bytes, is set to its largest value."""
    data = bytearray((testdata / "mysql-9.7" / "small" / "no_checksum.binlog").read_bytes())
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        start = next(parts([file])).table.value("start", 0)
    at = start + 19 + 1 + 16 + 8 + 17
    data[at : at + 7] = b"\xff" * 6 + b"\x7f"
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        (line,) = LineWriter(["commit_timestamp"], zone=BERLIN).each(next(parts([file])), [0])
        assert line.decode() == f"{format_in_zone(2**55 - 1, BERLIN)}\n"


def test_columns_have_shorter_names() -> None:
    assert parse_columns("time, SIZE,thread") == ("commit_timestamp", "bytes", "thread_id")


@pytest.mark.parametrize("text", ["", "time,", "colour", "time,commit_timestamp", "time;size"])
def test_columns_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_columns(text)


def test_the_chain_is_listed_in_its_order_without_a_gap(shop: list[BinlogFile]) -> None:
    listed = list(listing_of(shop))
    assert [one.seqno for one in listed] == list(range(1, len(listed) + 1))
    assert [one.commit_version for one in listed] == sorted(one.commit_version for one in listed)


def test_a_quick_listing_says_the_same_but_what_rows_show(shop: list[BinlogFile]) -> None:
    full = list(listing_of(shop))
    quick = list(listing_of(shop, quick=True))
    assert {(one.rows, one.tables) for one in quick} == {(None, None)}
    names = ("transaction", "start", "end", "kind", "commit_timestamp")
    assert [[getattr(one, name) for name in names] for one in quick] == [
        [getattr(one, name) for name in names] for one in full
    ]


def measure(order: Order, one: SimpleNamespace) -> Any:
    return {
        Order.BYTES: one.bytes,
        Order.ROWS: one.rows or 0,
        Order.TIME: datetime.fromisoformat(one.commit_timestamp).timestamp(),
        Order.DURATION: -1 if one.duration is None else int(one.duration[0]),
    }[order]


@pytest.mark.parametrize(
    ("ranked", "reverse"), [(10, True), (10_000, False)], ids=["through a file", "in memory"]
)
@pytest.mark.parametrize("order", [Order.BYTES, Order.ROWS, Order.TIME, Order.DURATION])
def test_an_order_is_that_of_sorted_whether_limited_or_not(
    shop: list[BinlogFile], order: Order, reverse: bool, ranked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "RANKED_MAXIMUM", ranked)
    sign = 1 if (order is Order.TIME) != reverse else -1
    expected = sorted(listing_of(shop), key=lambda one: sign * measure(order, one))
    assert list(listing_of(shop, order=order, reverse=reverse)) == expected
    assert list(listing_of(shop, order=order, reverse=reverse, limit=25)) == expected[:25]


@pytest.mark.parametrize("limit", [1, 2, 1_000])
def test_a_limit_stops_the_listing(shop: list[BinlogFile], limit: int) -> None:
    assert [one.seqno for one in listing_of(shop, limit=limit)] == list(range(1, limit + 1))


def test_logs_that_cannot_hold_a_gtid_are_not_read(testdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = json.loads((testdata / "mysql-9.7" / "shop" / "demo.json").read_text())
    paths = sorted((testdata / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
    files = [BinlogFile.open(str(path)) for path in paths]
    read: list[str] = []
    tables_of = Scan.__iter__

    def watched(scan: Scan) -> Iterator[TransactionTable]:
        read.append(scan.file.name)
        return tables_of(scan)

    monkeypatch.setattr(Scan, "__iter__", watched)
    wanted = Selection(gtids=GtidSet.parse(demo["gtid"]))
    found = Listing([ChainLog.of(file) for file in files], LineWriter(["gtid", "seqno"]), selection=wanted)
    assert b"".join(found) == f"{demo['gtid']}\t-\n".encode()
    assert found.missing.is_empty
    assert read == [demo["file"]]


def test_what_is_not_there_is_missing_unless_a_limit_ended_the_search(shop: list[BinlogFile]) -> None:
    chain = [ChainLog.of(file) for file in shop]
    first, second = [one.gtid for one in listing_of(shop, limit=2)]
    source = first.rpartition("-" if first.count("-") == 2 else ":")[0]
    absent = GtidSet.parse("0-77-5" if source.count("-") == 1 else f"{'0' * 8}-0000-0000-0000-{'0' * 12}:5")
    wanted = GtidSet.parse(f"{first},{second}") | absent
    found = Listing(chain, LineWriter(), selection=Selection(gtids=wanted))
    assert len(b"".join(found).splitlines()) == 2
    assert found.missing == absent
    limited = Listing(chain, LineWriter(), selection=Selection(gtids=wanted), limit=1)
    assert len(b"".join(limited).splitlines()) == 1
    assert limited.missing.is_empty


def test_a_selection_takes_a_part_and_keeps_the_numbers(shop: list[BinlogFile]) -> None:
    found = list(listing_of(shop, selection=Selection(tables=("shop.payments",))))
    changed, expected = (
        [one for one in listed if any(change.table == "payments" for change in one.tables)]
        for listed in (found, listing_of(shop))
    )
    assert changed == expected


@pytest.mark.parametrize("order", [Order.LOG, Order.BYTES, Order.TIME])
@pytest.mark.parametrize("limit", [None, 2])
def test_damage_is_reported_after_all_that_could_be_read(order: Order, limit: int | None) -> None:
    data = log_bytes([Statement(), Statement(), Statement()], next_file=None)
    file = BinlogFile(BytesSource(data[:-3], "made.000001"))
    listed = iter(listing_of([file], order=order, limit=limit))
    assert {one.seqno for one in (next(listed), next(listed))} == {1, 2}
    if order is not Order.LOG or limit is None:
        with pytest.raises(BinxError, match="truncated"):
            next(listed)


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"reverse": True}, {"order": Order.ROWS, "quick": True}],
)
def test_a_request_that_contradicts_itself_is_refused(options: dict[str, object]) -> None:
    with log_of([Statement()]) as file, pytest.raises(UsageError):
        listing_of([file], **options)


def test_a_full_disk_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("binx.stats.listing.sqlite3.connect", full)
    with log_of([Statement()]) as file, pytest.raises(OutputError, match="TMPDIR"):
        list(listing_of([file], order=Order.BYTES))
