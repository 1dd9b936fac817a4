"""Transactions one by one."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from binx.errors import BinxError, OutputError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.stats import listing
from binx.stats.lines import LineWriter
from binx.stats.listing import Listing, Order
from tests.stats.logs import BytesSource, Statement, listing_of, log_bytes, log_of

FLAVOURS = ["mysql-9.7", "mariadb-10.11"]


def test_the_demos_transaction_is_described_as_its_server_made_it(testdata: Path) -> None:
    for flavour in FLAVOURS:
        demo = json.loads((testdata / flavour / "shop" / "demo.json").read_text())
        with BinlogFile.open(str(testdata / flavour / "shop" / demo["file"])) as file:
            (one,) = [one for one in listing_of([file]) if one.gtid == demo["gtid"]]
        assert (one.file, one.start, one.end, one.kind) == (demo["file"], demo["start"], demo["end"], "dml")
        found = {
            f"{change.db}.{change.table}": {name: getattr(change, name) for name in counts}
            for change in one.tables
            for counts in [demo["tables"][f"{change.db}.{change.table}"]]
        }
        assert found == demo["tables"]
        assert one.rows == sum(sum(counts.values()) for counts in demo["tables"].values())


def test_the_chain_is_listed_in_its_order_without_a_gap(shop: list[BinlogFile]) -> None:
    listed = list(listing_of(shop))
    assert [one.seqno for one in listed] == list(range(1, len(listed) + 1))
    assert [one.commit_version for one in listed] == sorted(one.commit_version for one in listed)


def test_a_quick_listing_says_the_same_but_what_rows_tell(shop: list[BinlogFile]) -> None:
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
        Order.DURATION: -1 if one.duration is None else int(one.duration[1]),
    }[order]


@pytest.mark.parametrize("ranked", [10, 10_000], ids=["through a file", "in memory"])
@pytest.mark.parametrize("reverse", [False, True])
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
    scan = BinlogFile.scan

    def watched(file: BinlogFile, level: Level, **settings: Any) -> Scan:
        read.append(file.name)
        return scan(file, level, **settings)

    monkeypatch.setattr(BinlogFile, "scan", watched)
    wanted = Selection(gtids=GtidSet.parse(demo["gtid"]))
    found = Listing([read_ends(file) for file in files], LineWriter(["gtid", "seqno"]), selection=wanted)
    assert b"".join(found) == f"{demo['gtid']}\t-\n".encode()
    assert found.missing.is_empty
    assert read == [demo["file"]]


def test_what_is_not_there_is_missing_unless_a_limit_ended_the_search(shop: list[BinlogFile]) -> None:
    chain = [read_ends(file) for file in shop]
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
def test_damage_is_told_after_all_that_could_be_read(order: Order, limit: int | None) -> None:
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


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("binx.stats.listing.sqlite3.connect", full)
    with log_of([Statement()]) as file, pytest.raises(OutputError, match="TMPDIR"):
        list(listing_of([file], order=Order.BYTES))
