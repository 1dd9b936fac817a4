"""Transactions one by one."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.stats import listing
from binx.stats.lines import LineWriter
from binx.stats.listing import Listing, Order, TextSorter
from binx.stats.transaction import ListedTransaction
from tests.stats.logs import BytesSource, Statement, listing_of, log_bytes, log_of

FLAVOURS = ["mysql-9.7", "mariadb-10.11"]


def test_the_demos_transaction_is_described_as_its_server_made_it(testdata: Path) -> None:
    for flavour in FLAVOURS:
        demo = json.loads((testdata / flavour / "shop" / "demo.json").read_text())
        with BinlogFile.open(str(testdata / flavour / "shop" / demo["file"])) as file:
            found = [one for one in listing_of([file]) if one.gtid == demo["gtid"]]
        (one,) = found
        assert (one.file, one.start, one.end, one.kind) == (demo["file"], demo["start"], demo["end"], "dml")
        tables = {f"{change.db}.{change.table}": change._asdict() for change in one.tables or ()}
        for change in tables.values():
            del change["db"], change["table"]
        assert tables == demo["tables"]
        assert one.rows == sum(sum(counts.values()) for counts in demo["tables"].values())


def test_the_chain_is_listed_in_its_order_without_a_gap(shop: list[BinlogFile]) -> None:
    listed = list(listing_of(shop))
    assert [one.seqno for one in listed] == list(range(1, len(listed) + 1))
    assert [one.commit_version for one in listed] == sorted(one.commit_version or 0 for one in listed)


def test_a_quick_listing_says_the_same_but_what_rows_tell(shop: list[BinlogFile]) -> None:
    full = list(listing_of(shop))
    quick = list(listing_of(shop, quick=True))
    assert len(full) == len(quick)
    for one, other in zip(full, quick, strict=True):
        assert other.rows is None
        assert other.tables is None
        assert (one.transaction, one.start, one.end, one.kind, one.commit_timestamp) == (
            other.transaction,
            other.start,
            other.end,
            other.kind,
            other.commit_timestamp,
        )


def measure(order: Order, one: ListedTransaction) -> int:
    values = {
        Order.BYTES: one.bytes,
        Order.ROWS: one.rows or 0,
        Order.TIME: one.commit_timestamp,
        Order.DURATION: -1 if one.duration_seconds is None else one.duration_seconds,
    }
    return values[order]


def test_of_a_duration_no_more_is_said_than_whole_seconds_of_the_begin_tell() -> None:
    def took(begin: int, commit: int, source: str) -> tuple[tuple[int, int] | None, int | None]:
        with log_of([Statement()]) as file:
            (one,) = listing_of([file])
        one = one._replace(begin_timestamp=begin, commit_timestamp=commit, commit_time_source=source)
        return one.duration, one.duration_seconds

    assert took(10_000_000, 10_774_000, "gtid_event") == ((0, 774_000), 0)
    assert took(10_000_000, 12_300_000, "gtid_event") == ((1_300_001, 2_300_000), 2)
    assert took(10_000_000, 12_000_000, "terminal_event") == ((1_000_001, 2_999_999), 2)
    assert took(10_000_000, 9_000_000, "terminal_event") == (None, None)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("order", [Order.BYTES, Order.ROWS, Order.TIME, Order.DURATION])
def test_an_order_is_that_of_sorted_whether_limited_or_not(
    shop: list[BinlogFile], order: Order, reverse: bool
) -> None:
    sign = 1 if (order is Order.TIME) != reverse else -1
    expected = sorted(listing_of(shop), key=lambda one: sign * measure(order, one))
    assert list(listing_of(shop, order=order, reverse=reverse)) == expected
    assert list(listing_of(shop, order=order, reverse=reverse, limit=25)) == expected[:25]


def test_a_listing_that_goes_through_files_is_the_same(
    shop: list[BinlogFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(listing_of(shop, order=Order.BYTES, limit=40))
    monkeypatch.setattr(listing, "RANKED_MAXIMUM", 10)
    assert list(listing_of(shop, order=Order.BYTES, limit=40)) == expected


def test_lines_are_sorted_as_transactions_are(
    shop: list[BinlogFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    def starts(limit: int | None) -> list[tuple[str, int]]:
        chain = [read_ends(file) for file in shop]
        found = Listing(chain, order=Order.DURATION, limit=limit)
        text = b"".join(found.lines(LineWriter(["file", "start"])))
        lines = [line.split("\t") for line in text.decode().splitlines()]
        return [(file, int(start)) for file, start in lines]

    expected = [(one.file, one.start) for one in listing_of(shop, order=Order.DURATION)]
    assert starts(None) == expected
    assert starts(25) == expected[:25]
    monkeypatch.setattr(listing, "RANKED_MAXIMUM", 10)
    assert starts(25) == expected[:25]


@pytest.mark.parametrize("limit", [1, 2, 1_000])
def test_a_limit_in_the_logs_order_cuts_lines_too(shop: list[BinlogFile], limit: int) -> None:
    chain = [read_ends(file) for file in shop]
    text = b"".join(Listing(chain, limit=limit).lines(LineWriter(["seqno"])))
    assert text.split() == [b"%d" % number for number in range(1, limit + 1)]


def test_logs_that_cannot_hold_a_gtid_are_not_read(testdata: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = json.loads((testdata / "mysql-9.7" / "shop" / "demo.json").read_text())
    paths = sorted((testdata / "mysql-9.7" / "shop").glob("mysql-bin.0*"))
    files = [BinlogFile.open(str(path)) for path in paths]
    read: list[str] = []
    scan = BinlogFile.scan

    def watched(file: BinlogFile, level: Level, **settings: Any) -> Scan:
        read.append(file.name)
        return scan(file, level, **settings)

    monkeypatch.setattr(BinlogFile, "scan", watched)
    wanted = Selection(gtids=GtidSet.parse(demo["gtid"]))
    found = Listing([read_ends(file) for file in files], selection=wanted)
    (one,) = found
    assert (one.gtid, one.seqno) == (demo["gtid"], None)
    assert found.missing.is_empty
    assert read == [demo["file"]]


def test_what_is_not_there_is_missing_unless_a_limit_ended_the_search(shop: list[BinlogFile]) -> None:
    chain = [read_ends(file) for file in shop]
    first, second = [one.gtid for one in listing_of(shop, limit=2)]
    absent = GtidSet.parse(
        "0-77-5" if first and first.count("-") == 2 else f"{'0' * 8}-{'-'.join(['0' * 4] * 3)}-{'0' * 11}1:5"
    )
    wanted = GtidSet.parse(f"{first},{second}") | absent
    found = Listing(chain, selection=Selection(gtids=wanted))
    assert len(list(found)) == 2
    assert found.missing == absent
    limited = Listing(chain, selection=Selection(gtids=wanted), limit=1)
    assert len(list(limited)) == 1
    assert limited.missing.is_empty


def test_a_limit_stops_the_listing(shop: list[BinlogFile]) -> None:
    assert [one.seqno for one in listing_of(shop, limit=3)] == [1, 2, 3]


def test_a_selection_takes_a_part_and_keeps_the_numbers(shop: list[BinlogFile]) -> None:
    everything = list(listing_of(shop))
    selection = Selection(tables=("shop.payments",))
    expected = [one for one in everything if any(change.table == "payments" for change in one.tables or ())]
    found = list(listing_of(shop, selection=selection))
    changed = [one for one in found if any(change.table == "payments" for change in one.tables or ())]
    assert changed == expected


@pytest.mark.parametrize("order", [Order.LOG, Order.BYTES, Order.TIME])
@pytest.mark.parametrize("limit", [None, 2])
def test_damage_is_told_after_all_that_could_be_read(order: Order, limit: int | None) -> None:
    data = log_bytes([Statement(), Statement(), Statement()], next_file=None)
    file = BinlogFile(BytesSource(data[:-3], "made.000001"))
    listing = iter(listing_of([file], order=order, limit=limit))
    assert {one.seqno for one in (next(listing), next(listing))} == {1, 2}
    if order is not Order.LOG or limit is None:
        with pytest.raises(BinxError, match="truncated"):
            next(listing)


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"reverse": True}, {"order": Order.ROWS, "quick": True}],
)
def test_a_request_that_contradicts_itself_is_refused(options: dict[str, object]) -> None:
    with log_of([Statement()]) as file, pytest.raises(UsageError):
        listing_of([file], **options)


PAGES = st.lists(st.lists(st.tuples(st.integers(-5, 5), st.binary(max_size=40)), max_size=30), max_size=20)


@settings(max_examples=80, deadline=None)
@given(pages=PAGES, limit=st.none() | st.integers(0, 50))
def test_texts_come_as_sorted_would_have_them(
    pages: list[list[tuple[int, bytes]]], limit: int | None
) -> None:
    sorter, first = TextSorter(), 0
    for page in pages:
        keys, texts = [key for key, _ in page], [text for _, text in page]
        sorter.add(keys, range(first, first + len(page)), texts)
        first += len(page)
    expected = sorted((one for page in pages for one in page), key=lambda one: one[0])
    assert [text for texts in sorter.texts(limit) for text in texts] == [text for _, text in expected][:limit]


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.stats.listing.sqlite3.connect", _full)
    with pytest.raises(OutputError, match="TMPDIR"):
        TextSorter()


def _full(*_: object, **__: object) -> None:
    raise sqlite3.OperationalError("database or disk is full")
