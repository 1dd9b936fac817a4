"""Transactions as lines, against an encoder of JSON and against the transactions one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.kernels.walk.scan import Level
from binx.log.chain.chain import epochs
from binx.log.chain.ends import known_ends
from binx.log.file import BinlogFile
from binx.log.selection.moments import format_in_zone
from binx.stats.lines import COLUMNS, JSON_COLUMNS, PLAIN_COLUMNS, LineWriter, parse_columns
from binx.stats.transaction import ListedTransaction, Page, moment_json
from tests.stats.logs import BytesSource, Statement, log_bytes, log_of

FLAVOURS = ["mysql-9.7", "mariadb-10.11"]
CONTRACT = [
    "commit_version", "transaction", "gtid", "xid", "server_id", "epoch", "seqno", "kind", "how",
    "file", "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp", "commit_time_source",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number",
    "thread_id", "events", "rows", "statements", "tables",
]  # fmt: skip
BERLIN = ZoneInfo("Europe/Berlin")


def pages(files: list[BinlogFile], level: Level = Level.LEVEL_TABLES) -> Iterator[Page]:
    seqno = 1
    for file, epoch in zip(files, epochs(list(map(known_ends, files))), strict=True):
        scan = file.scan(level)
        for table in scan:
            yield Page(file, scan, table, epoch, seqno)
            seqno += len(table)


def pairs(
    writer: LineWriter, files: list[BinlogFile], level: Level = Level.LEVEL_TABLES
) -> Iterator[tuple[str, ListedTransaction]]:
    """Each line with the transaction that it is about."""
    for page in pages(files, level):
        text = writer.lines(page).decode()
        assert text.endswith("\n")
        yield from zip(text[:-1].split("\n"), map(page.describe, page.indexes()), strict=True)


@pytest.mark.parametrize("level", [Level.LEVEL_INDEX, Level.LEVEL_TABLES])
def test_the_json_of_every_transaction_is_that_of_an_encoder(shop: list[BinlogFile], level: Level) -> None:
    count = 0
    for line, one in pairs(LineWriter(as_json=True), shop, level):
        assert line == json.dumps(one.as_dict(), ensure_ascii=False)
        count += 1
    assert count > 1_500


def test_every_small_log_gives_the_encoders_json(testdata: Path) -> None:
    kinds = set()
    for path in sorted(testdata.glob("*/small/*.binlog")):
        with BinlogFile.open(str(path)) as file:
            for line, one in pairs(LineWriter(as_json=True), [file]):
                assert line == json.dumps(one.as_dict(), ensure_ascii=False)
                kinds.add(one.kind)
    assert kinds >= {"dml", "ddl", "rollback", "xa_prepare", "xa_commit", "xa_rollback"}


def test_an_object_has_the_contracts_names() -> None:
    assert list(JSON_COLUMNS) == CONTRACT
    with log_of([Statement()]) as file:
        ((line, _),) = pairs(LineWriter(as_json=True), [file])
    document = json.loads(line)
    assert list(document) == CONTRACT
    assert document["commit_timestamp"] == "2023-11-14T22:13:20Z"
    assert document["commit_time_source"] == "terminal_event"
    assert (document["kind"], document["statements"], document["tables"]) == ("ddl", 1, [])


@pytest.mark.parametrize("name", ['a"b\\c.000001', "bücher.000001", "tab\tname.000001", "odd\udcff.000001"])
def test_any_name_of_a_file_gives_lines_that_can_be_written(testdata: Path, name: str) -> None:
    data = (testdata / "mysql-9.7" / "small" / "tagged_gtids.binlog").read_bytes()
    with BinlogFile(BytesSource(data, name)) as file:
        for line, one in pairs(LineWriter(as_json=True), [file]):
            assert json.loads(line) == one.as_dict()
        for line, _ in pairs(LineWriter(), [file]):
            assert len(line.split("\t")) == len(PLAIN_COLUMNS)
            assert "\t\t" not in line


def plain(one: ListedTransaction, name: str) -> str:
    """A value as a plain line has it."""
    if name == "duration":
        return "-" if one.duration_seconds is None else str(one.duration_seconds)
    value = getattr(one, name)
    if name.endswith("timestamp") and value is not None:
        return str(moment_json(value))
    if name != "tables":
        return "-" if value is None else str(value)
    texts = []
    for change in value or ():
        signs = [("+", change.inserts), ("~", change.updates), ("-", change.deletes)]
        texts.append(
            " ".join([f"{change.db}.{change.table}", *(f"{sign}{count}" for sign, count in signs if count)])
        )
    return ", ".join(texts) or one.statement or "-"


def test_every_column_says_what_the_transaction_says(shop: list[BinlogFile]) -> None:
    for line, one in pairs(LineWriter(COLUMNS), shop):
        assert line.split("\t") == [plain(one, name) for name in COLUMNS]


def test_columns_come_in_the_order_asked_for(shop: list[BinlogFile]) -> None:
    for line, one in pairs(LineWriter(["kind", "file"], as_json=True), shop[:1]):
        assert line == json.dumps({"kind": one.kind, "file": one.file})
    for line, one in pairs(LineWriter(["start", "kind"]), shop[:1]):
        assert line == f"{one.start}\t{one.kind}"


def test_some_places_of_a_page_are_some_of_its_lines(shop: list[BinlogFile]) -> None:
    page = next(pages(shop))
    every = LineWriter().lines(page).splitlines(keepends=True)
    assert LineWriter().each(page, [0, 3, len(every) - 1]) == [every[0], every[3], every[-1]]
    assert LineWriter().each(page, []) == []


@settings(max_examples=60, deadline=None)
@given(
    seconds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8),
    zone=st.sampled_from(
        [UTC, BERLIN, ZoneInfo("Asia/Kathmandu"), timezone(timedelta(hours=-9, minutes=-30))]
    ),
)
def test_times_are_those_of_the_zones_clock(seconds: list[int], zone: tzinfo) -> None:
    writer = LineWriter(["commit_timestamp"], zone=zone)
    with log_of([Statement(seconds=second) for second in seconds]) as file:
        shown = [line for line, _ in pairs(writer, [file])]
    assert shown == [format_in_zone(second * 1_000_000, zone) for second in seconds]


def test_the_clock_is_set_back_within_a_second() -> None:
    """At 2026-10-25 01:00 UTC it is 03:00 and 02:00 in Berlin."""
    change = 1_792_890_000
    with log_of([Statement(seconds=change - 1), Statement(seconds=change)]) as file:
        shown = [line for line, _ in pairs(LineWriter(["commit_timestamp"], zone=BERLIN), [file])]
    assert shown == ["2026-10-25T02:59:59+02:00", "2026-10-25T02:00:00+01:00"]


def test_a_time_of_a_damaged_log_is_shown_as_it_is(testdata: Path) -> None:
    """The commit time of a GTID event, 7 bytes, is set to its largest value."""
    data = bytearray((testdata / "mysql-9.7" / "small" / "no_checksum.binlog").read_bytes())
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        start = next(pages([file])).describe(0).start
    at = start + 19 + 1 + 16 + 8 + 17
    data[at : at + 7] = b"\xff" * 6 + b"\x7f"
    with BinlogFile(BytesSource(bytes(data), "made.000001")) as file:
        page = next(pages([file]))
        (line,) = LineWriter(["commit_timestamp"], zone=BERLIN).each(page, [0])
        assert line.decode() == f"{format_in_zone(2**55 - 1, BERLIN)}\n"


def test_names_that_drive_a_terminal_are_escaped() -> None:
    data = log_bytes([Statement(sql="DROP TABLE t")])
    with BinlogFile(BytesSource(data, "a\x1b[2J.000001")) as file:
        ((line, _),) = pairs(LineWriter(["file"]), [file])
    assert line == r"a\x1b[2J.000001"


def test_columns_have_shorter_names() -> None:
    assert parse_columns("time, SIZE,thread") == ("commit_timestamp", "bytes", "thread_id")


@pytest.mark.parametrize("text", ["", "time,", "colour", "time,commit_timestamp", "time;size"])
def test_columns_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_columns(text)
