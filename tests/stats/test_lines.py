"""Transactions as lines, against the same transactions as Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import epochs
from binx.log.chain.ends import known_ends
from binx.log.file import BinlogFile
from binx.log.index.transactions import index_batch
from binx.log.selection.moments import format_in_zone
from binx.slices.search import Selected
from binx.source.names import printable
from binx.stats.lines import COLUMNS, JSON_COLUMNS, PLAIN_COLUMNS, LineWriter, parse_columns
from tests.stats.logs import BytesSource, Statement, log_bytes, log_of

CONTRACT = [
    "commit_version", "transaction", "gtid", "xid", "server_id", "epoch", "seqno", "kind", "how",
    "file", "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp", "commit_time_source",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number",
    "thread_id", "events", "rows", "statements", "tables",
]  # fmt: skip
BERLIN = ZoneInfo("Europe/Berlin")


def parts(files: list[BinlogFile], level: Level = Level.LEVEL_TABLES) -> Iterator[Selected]:
    seqno = 1
    for file, epoch in zip(files, epochs(list(map(known_ends, files))), strict=True):
        scan = file.scan(level)
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
        if one["kind"] == "ddl":
            # A schema statement is told by its text.
            assert fields.pop("tables") != "-"
        assert fields == {name: plain(name, one[name]) for name in fields}


@pytest.mark.parametrize(
    ("begin", "commit", "duration"),
    [(10, 10, [0, 0.999999]), (10, 12, [1.000001, 2.999999]), (10, 9, None)],
)
def test_of_a_duration_no_more_is_said_than_whole_seconds_tell(
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


def test_names_that_drive_a_terminal_are_escaped() -> None:
    data = log_bytes([Statement(sql="DROP TABLE t")])
    with BinlogFile(BytesSource(data, "a\x1b[2J.000001")) as file:
        assert lines_of(LineWriter(["file"]), [file]) == [r"a\x1b[2J.000001"]


def test_columns_have_shorter_names() -> None:
    assert parse_columns("time, SIZE,thread") == ("commit_timestamp", "bytes", "thread_id")


@pytest.mark.parametrize("text", ["", "time,", "colour", "time,commit_timestamp", "time;size"])
def test_columns_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_columns(text)
