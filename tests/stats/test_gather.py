"""The figures of logs, against what their servers said and what the listing says."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from binx.errors import BinxError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import chain_problems, in_order
from binx.log.selection.selection import Selection
from binx.stats import findings as findings_module
from binx.stats import gather as gather_module
from binx.stats import sums as tables_module
from binx.stats.gather import figures_json, gather, incomplete
from binx.stats.text import moment_of
from tests.conftest import PROJECT, SERVERS, SHOPS
from tests.log import building
from tests.stats.logs import (
    BytesSource,
    Statement,
    figures_of,
    listing_of,
    log_bytes,
    log_of,
    record,
)

CONTRACT = [
    "files", "transactions", "events", "bytes", "first", "last", "tables", "kinds", "largest",
    "longest", "histogram", "warnings",
]  # fmt: skip


def document_of(paths: Sequence[Path], **options: Any) -> dict[str, Any]:
    files = [BinlogFile.open(str(path)) for path in paths]
    try:
        problems = chain_problems(in_order(files))
        return gather(files, problems=problems, **options)
    finally:
        for file in files:
            file.close()


def statistics_of(paths: Sequence[Path], **options: Any) -> SimpleNamespace:
    return record(document_of(paths, **options))


def codes(figures: SimpleNamespace) -> dict[str, int]:
    return {finding.kind: finding.count for finding in figures.warnings}


@pytest.mark.parametrize("flavour", SERVERS)
def test_the_shops_tables_have_the_rows_that_its_servers_reader_printed(flavour: str) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    folder = PROJECT / "testdata" / flavour / "shop" / "expected"
    files = json.loads((folder / "files.json").read_text())["files"]
    for facts in files.values():
        for table, counts in facts["tables"].items():
            expected.update({(table, name): count for name, count in counts.items()})
    figures = statistics_of(SHOPS[flavour])
    found: Counter[tuple[str, str]] = Counter()
    for one in figures.tables:
        for name in ("inserts", "updates", "deletes"):
            found[f"{one.db}.{one.table}", name] += getattr(one, name)
    assert found == expected
    assert figures.transactions == sum(facts["transactions"] for facts in files.values())
    assert figures.rows == sum(expected.values())


def test_the_shops_gtids_are_those_that_its_server_executed() -> None:
    facts = json.loads((PROJECT / "testdata/mysql-9.7/shop/expected/tables.json").read_text())
    figures = statistics_of(SHOPS["mysql-9.7"])
    assert figures.gtid_set == facts["gtid_executed"]
    assert figures.missing_gtids == ""


@pytest.mark.parametrize("flavour", SERVERS)
def test_the_same_logs_in_any_order_give_the_same_text(flavour: str) -> None:
    paths = SHOPS[flavour]
    text = figures_json(document_of(paths))
    assert figures_json(document_of(paths[::-1])) == text
    document = json.loads(text)
    assert list(document)[: len(CONTRACT)] == CONTRACT
    assert set(document["tables"][0]) == {"db", "table", "inserts", "updates", "deletes", "bytes"}
    assert [file["file"] for file in document["files"]] == [path.name for path in paths]


@pytest.mark.parametrize("quick", [False, True])
def test_every_byte_of_every_readable_log_is_accounted_for(corpus: Path, quick: bool) -> None:
    logs = sorted((PROJECT / "testdata").glob("*/*/*.binlog")) + sorted(corpus.glob("*.binlog"))
    for path in logs:
        try:
            figures = statistics_of([path], quick=quick)
        except BinxError:
            continue
        (file,) = figures.files
        parts = (file.header_bytes, file.transaction_bytes, file.unfinished_bytes, file.damaged_bytes)
        assert sum(parts) == path.stat().st_size
        assert all(part >= 0 for part in parts)
        assert bool(file.damaged_bytes) == (not figures.complete) == (file.error is not None)


@pytest.mark.parametrize("flavour", SERVERS)
def test_the_bytes_of_events_by_type_add_up_to_the_files(flavour: str) -> None:
    figures = statistics_of(SHOPS[flavour])
    magics = 4 * len(figures.files)
    assert sum(one.bytes for one in figures.event_types) + magics == figures.bytes
    assert sum(one.events for one in figures.event_types) == figures.events


@pytest.mark.parametrize("flavour", SERVERS)
def test_every_breakdown_adds_up_to_the_listing(flavour: str) -> None:
    figures = statistics_of(SHOPS[flavour])
    files = [BinlogFile.open(str(path)) for path in SHOPS[flavour]]
    listed = list(listing_of(files))
    size = sum(one.bytes for one in listed)
    kinds = Counter(one.kind for one in listed)
    assert {one.kind: one.transactions for one in figures.kinds} == kinds
    assert sum(one.bytes for one in figures.kinds) == size
    assert sum(one.bytes for one in figures.servers) == size
    assert sum(one.bytes for one in figures.sizes) == size
    assert sum(one.bytes for one in figures.histogram.buckets) == size
    for one in figures.sizes:
        inside = [row.bytes for row in listed if one.from_bytes <= row.bytes < one.below_bytes]
        assert (one.transactions, one.bytes) == (len(inside), sum(inside))
    assert list(figures.largest) == sorted(listed, key=lambda row: -row.bytes)[:10]
    long = sorted(
        (row for row in listed if row.duration and row.duration[0] >= 1),
        key=lambda row: -int(row.duration[0]),
    )
    assert list(figures.longest) == long[:10]
    assert figures.ddl == kinds["ddl"] == len(figures.ddl_statements)


@pytest.mark.parametrize("flavour", SERVERS)
def test_quick_figures_are_the_same_as_far_as_they_go(flavour: str) -> None:
    full, quick = statistics_of(SHOPS[flavour]), statistics_of(SHOPS[flavour], quick=True)
    assert (quick.transactions, quick.bytes, quick.gtid_set) == (full.transactions, full.bytes, full.gtid_set)
    assert (quick.first, quick.last, quick.sizes) == (full.first, full.last, full.sizes)
    assert [one.transaction for one in quick.largest] == [one.transaction for one in full.largest]
    unknown = (
        quick.events,
        quick.rows,
        quick.tables,
        quick.statements,
        quick.event_types,
        quick.ddl_statements,
    )
    assert unknown == (None,) * len(unknown)


def test_a_quick_look_reports_what_it_did_not_decompress() -> None:
    path = PROJECT / "testdata/mysql-9.7/small/compressed.binlog"
    full, quick = statistics_of([path]), statistics_of([path], quick=True)
    assert codes(quick)["compressed_unread"] == full.compression.transactions > 0
    assert "compressed_unread" not in codes(full)


def test_the_shop_on_mysql_gives_its_dba_three_hints() -> None:
    assert codes(statistics_of(SHOPS["mysql-9.7"])) == {
        "no_primary_key": 1,
        "statements_as_text": 2,
        "rolled_back": 1,
    }


def test_a_file_that_is_not_there_is_a_gap_in_the_chain_and_in_the_gtids() -> None:
    paths = SHOPS["mysql-9.7"]
    facts = json.loads((PROJECT / "testdata/mysql-9.7/shop/expected/files.json").read_text())["files"]
    found = codes(statistics_of([paths[2], paths[4]]))
    assert found["chain"] == 1
    assert found["missing_gtids"] == facts[paths[3].name]["transactions"]


@pytest.mark.parametrize("flavour", SERVERS)
def test_a_log_that_its_server_has_open_is_reported(flavour: str) -> None:
    figures = statistics_of([PROJECT / "testdata" / flavour / "in-use" / "mysql-bin.000001"])
    assert codes(figures)["in_use"] == 1
    assert figures.files[0].in_use
    assert figures.files[0].ending == "in use"
    assert figures.complete


def test_the_first_and_the_last_are_those_by_time_wherever_they_stand() -> None:
    seconds = [1_700_000_300, 1_700_000_000, 1_700_000_300, 1_700_000_100]
    with log_of([Statement(seconds=second) for second in seconds]) as file:
        begins = [one.start for one in listing_of([file])]
        figures = figures_of([file])
    for found in (figures, figures.files[0]):
        assert (found.first.start, found.last.start) == (begins[1], begins[2])
    finding = next(one for one in figures.warnings if one.kind == "clock_back")
    assert (finding.count, "by up to 300 s" in finding.message) == (2, True)


def test_event_times_that_go_on_are_no_finding() -> None:
    with log_of([Statement(seconds=1_700_000_000 + number) for number in (0, 1, 0, 7)]) as file:
        assert "clock_back" not in codes(figures_of([file]))


@pytest.mark.parametrize(("flag", "told"), [(0x10, None), (0, 1)])
def test_cascades_are_reported_where_the_rows_say_that_the_log_lacks_them(
    flag: int, told: int | None
) -> None:
    log = bytearray((PROJECT / "testdata/mysql-9.7/small/no_checksum.binlog").read_bytes())
    at = log.index(b"(id INT PRIMARY KEY, text VARCHAR(20))")
    log[at : at + 38] = b"(p INT REFERENCES p ON DELETE CASCADE)"
    for rows in (745, 1029, 1132):
        assert log[rows + 25] & 0x10
        log[rows + 25] ^= 0x10 ^ flag
    with BinlogFile(BytesSource(bytes(log), "made.000001")) as file:
        assert codes(figures_of([file])).get("cascades_not_logged") == told


def test_a_log_that_is_cut_anywhere_counts_up_to_its_damage() -> None:
    data = log_bytes([Statement(seconds=1_700_000_000 + number) for number in range(4)])
    with BinlogFile(BytesSource(data, "made.000001")) as file:
        begins = [one.start for one in listing_of([file])]
        whole = [one.end for one in listing_of([file])]
    for cut in range(begins[0] + 1, len(data)):
        with BinlogFile(BytesSource(data[:cut], "made.000001")) as file:
            figures = figures_of([file])
        assert figures.transactions == sum(end <= cut for end in whole)
        ends = [begins[0], *whole]
        assert figures.files[0].damaged_bytes == cut - max(end for end in ends if end <= cut)
        assert figures.complete == (cut in ends)


def test_a_statement_that_cannot_be_read_leaves_all_figures_of_the_same_transactions() -> None:
    cut = building.event(2, struct.pack("<IIBHH", 3, 0, 4, 0, 2) + b"\x04\x01shop\0CREATE TABLE b (a INT)")
    data = building.whole_log(building.CREATE, cut, building.CREATE)
    with BinlogFile(BytesSource(data, "made.000001")) as file:
        figures = figures_of([file])
    (of_file,) = figures.files
    assert (figures.transactions, of_file.transactions) == (3, 3)
    assert of_file.first
    assert of_file.last
    assert "expected 2 more bytes" in (of_file.error or "")
    assert not figures.complete


@pytest.mark.parametrize(
    "selection", [None, Selection(limit=1)], ids=["all are read", "others are passed over"]
)
def test_progress_ends_with_all_bytes(selection: Selection | None) -> None:
    seen: list[int] = []
    files = [BinlogFile.open(str(path)) for path in SHOPS["mysql-9.7"]]
    gather(files, selection=selection, on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == sum(file.size for file in files)


def test_huge_transactions_are_all_counted_whatever_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather_module, "HUGE_BYTES", 1_000)
    monkeypatch.setattr(findings_module, "HUGE_BYTES", 1_000)
    made = [Statement(sql="DROP TABLE " + "t" * size) for size in (10, 2_000, 3_000, 20, 4_000)]
    with log_of(made) as file:
        figures = figures_of([file], verify=False, top=1)
    assert codes(figures)["huge_transaction"] == 3
    assert len(figures.largest) == 1


def test_transactions_that_are_a_large_part_of_the_logs_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings_module, "_SHARED_BYTES", 1_000)
    made = [Statement(sql="DROP TABLE " + "t" * size) for size in (10, 2_000, 3_000, 20, 2_500)]
    with log_of(made) as file:
        assert codes(figures_of([file], verify=False, top=1))["huge_transaction"] == 3
        assert "huge_transaction" not in codes(figures_of([file], verify=False, selection=Selection(limit=1)))


def test_clocks_that_were_set_back_are_reported_with_the_largest_step() -> None:
    path = PROJECT / "testdata" / "mysql-9.7" / "small" / "no_checksum.binlog"
    data = bytearray(path.read_bytes())
    with BinlogFile.open(str(path)) as file:
        assert "clock_back" not in codes(figures_of([file]))
        last = list(listing_of([file]))[-1]
    # Header, flags, UUID, number, logical clock; then 7 bytes of µs whose highest bit is a flag.
    place = last.start + 19 + 1 + 16 + 8 + 1 + 16
    moment = int.from_bytes(data[place : place + 7], "little")
    assert moment & (1 << 55) - 1 == moment_of(last.commit_timestamp)
    data[place : place + 7] = (moment - 3_600_000_000).to_bytes(7, "little")
    with BinlogFile(BytesSource(bytes(data), path.name)) as file:
        (found,) = (one for one in figures_of([file]).warnings if one.kind == "clock_back")
    assert found.count == 1
    assert re.search(r"by up to 3,(600|59\d) s", found.message)


def test_transactions_of_over_a_minute_are_reported() -> None:
    made = []
    for begin, end in [(0, 59), (100, 160), (200, 261), (300, 7_500)]:
        made += [Statement(begin, "BEGIN"), Statement(begin, "DELETE FROM t"), Statement(end, "COMMIT")]
    with log_of(made) as file:
        (found,) = (
            one for one in figures_of([file], verify=False).warnings if one.kind == "long_transaction"
        )
    assert found.count == 2
    assert "took at least 7,199 s" in found.message


def test_too_many_intervals_of_gtids_are_given_up_and_not_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection(tables=("shop.payments",))
    files = [BinlogFile.open(str(path)) for path in SHOPS["mysql-9.7"][:1]]
    whole = figures_of(files, selection=selection).gtid_set
    assert whole is not None
    intervals = whole.count(":")
    for limit, expected in ((intervals, whole), (intervals - 1, None)):
        monkeypatch.setattr(gather_module, "INTERVALS_MAXIMUM", limit)
        assert figures_of(files, selection=selection).gtid_set == expected


def test_more_tables_than_can_be_kept_leave_those_with_most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = document_of(SHOPS["mysql-9.7"][:1])
    monkeypatch.setattr(tables_module, "TABLES_MAXIMUM", 2)
    figures = document_of(SHOPS["mysql-9.7"][:1])
    assert figures["tables"] == whole["tables"][:2]
    assert incomplete(figures) == ["tables"]


@pytest.mark.parametrize(
    ("sql", "is_told"),
    [("CREATE TABLE a (i INT) START TRANSACTION", False), ("UPDATE a SET i = 1", True)],
)
def test_a_transaction_that_only_makes_tables_changes_no_rows_by_statements(sql: str, is_told: bool) -> None:
    with log_of([Statement(sql="BEGIN"), Statement(sql=sql), Statement(sql="COMMIT")]) as file:
        assert ("statements_as_text" in codes(figures_of([file], verify=False))) == is_told
