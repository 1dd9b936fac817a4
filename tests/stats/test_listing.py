"""Transactions one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from binx.errors import BinxError, UsageError
from binx.log.chain import order_files
from binx.log.file import BinlogFile
from binx.log.selection import Selection
from binx.stats.listing import Order, list_transactions
from binx.stats.transaction import ListedTransaction
from tests.stats.logs import BytesSource, Statement, log_bytes, log_of

FLAVOURS = ["mysql-9.7", "mariadb-10.11"]
CONTRACT = [
    "commit_version", "transaction", "gtid", "xid", "server_id", "epoch", "seqno", "kind", "how",
    "file", "start", "end", "bytes", "uncompressed_bytes", "commit_timestamp", "commit_time_source",
    "original_commit_timestamp", "begin_timestamp", "last_committed", "sequence_number",
    "thread_id", "events", "rows", "statements", "tables",
]  # fmt: skip


@pytest.fixture(params=FLAVOURS)
def shop(request: pytest.FixtureRequest, testdata: Path) -> Iterator[list[BinlogFile]]:
    paths = sorted((testdata / request.param / "shop").glob("mysql-bin.0*"))
    files = order_files([BinlogFile.open(str(path)) for path in paths])
    yield files
    for file in files:
        file.close()


def test_a_transaction_has_the_contracts_names_in_json() -> None:
    with log_of([Statement()]) as file:
        (one,) = list_transactions([file])
    document = json.loads(one.to_json())
    assert list(document) == CONTRACT
    assert document["commit_timestamp"] == "2023-11-14T22:13:20Z"
    assert document["commit_time_source"] == "terminal_event"
    assert (document["kind"], document["statements"], document["tables"]) == ("ddl", 1, [])


def test_the_json_of_every_transaction_is_that_of_an_encoder(shop: list[BinlogFile]) -> None:
    for quick in (False, True):
        for one in list_transactions(shop, quick=quick):
            assert one.to_json() == json.dumps(one.as_dict(), ensure_ascii=False)


@pytest.mark.parametrize("name", ['a"b\\c.000001', "bücher.000001", "tab\tname.000001", "odd\udcff.000001"])
def test_any_name_of_a_file_gives_json_that_can_be_written(testdata: Path, name: str) -> None:
    data = (testdata / "mysql-9.7" / "small" / "tagged_gtids.binlog").read_bytes()
    with BinlogFile(BytesSource(data, name)) as file:
        for one in list_transactions([file]):
            text = one.to_json().encode("utf-8").decode()
            assert json.loads(text) == one.as_dict()


def test_the_demos_transaction_is_described_as_its_server_made_it(testdata: Path) -> None:
    for flavour in FLAVOURS:
        demo = json.loads((testdata / flavour / "shop" / "demo.json").read_text())
        with BinlogFile.open(str(testdata / flavour / "shop" / demo["file"])) as file:
            found = [one for one in list_transactions([file]) if one.gtid == demo["gtid"]]
        (one,) = found
        assert (one.file, one.start, one.end, one.kind) == (demo["file"], demo["start"], demo["end"], "dml")
        tables = {f"{change.db}.{change.table}": change._asdict() for change in one.tables or ()}
        for change in tables.values():
            del change["db"], change["table"]
        assert tables == demo["tables"]
        assert one.rows == sum(sum(counts.values()) for counts in demo["tables"].values())


def test_the_chain_is_listed_in_its_order_without_a_gap(shop: list[BinlogFile]) -> None:
    listed = list(list_transactions(shop))
    assert [one.seqno for one in listed] == list(range(1, len(listed) + 1))
    assert [one.commit_version for one in listed] == sorted(one.commit_version or 0 for one in listed)


def test_a_quick_listing_says_the_same_but_what_rows_tell(shop: list[BinlogFile]) -> None:
    full = list(list_transactions(shop))
    quick = list(list_transactions(shop, quick=True))
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
        Order.DURATION: one.duration,
    }
    return values[order]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("order", [Order.BYTES, Order.ROWS, Order.TIME, Order.DURATION])
def test_an_order_is_that_of_sorted_whether_limited_or_not(
    shop: list[BinlogFile], order: Order, reverse: bool
) -> None:
    sign = 1 if (order is Order.TIME) != reverse else -1
    expected = sorted(list_transactions(shop), key=lambda one: sign * measure(order, one))
    assert list(list_transactions(shop, order=order, reverse=reverse)) == expected
    assert list(list_transactions(shop, order=order, reverse=reverse, limit=25)) == expected[:25]


def test_a_limit_stops_the_listing(shop: list[BinlogFile]) -> None:
    assert [one.seqno for one in list_transactions(shop, limit=3)] == [1, 2, 3]


def test_a_selection_takes_a_part_and_keeps_the_numbers(shop: list[BinlogFile]) -> None:
    everything = list(list_transactions(shop))
    selection = Selection(tables=("shop.payments",))
    expected = [one for one in everything if any(change.table == "payments" for change in one.tables or ())]
    found = list(list_transactions(shop, selection=selection))
    changed = [one for one in found if any(change.table == "payments" for change in one.tables or ())]
    assert changed == expected


@pytest.mark.parametrize("order", [Order.LOG, Order.BYTES, Order.TIME])
@pytest.mark.parametrize("limit", [None, 2])
def test_damage_is_told_after_all_that_could_be_read(order: Order, limit: int | None) -> None:
    data = log_bytes([Statement(), Statement(), Statement()], next_file=None)
    file = BinlogFile(BytesSource(data[:-3], "made.000001"))
    listing = list_transactions([file], order=order, limit=limit)
    assert {one.seqno for one in (next(listing), next(listing))} == {1, 2}
    if order is not Order.LOG or limit is None:
        with pytest.raises(BinxError, match="cut"):
            next(listing)


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"reverse": True}, {"order": Order.ROWS, "quick": True}],
)
def test_a_request_that_contradicts_itself_is_refused(options: dict[str, object]) -> None:
    with log_of([Statement()]) as file, pytest.raises(UsageError):
        list_transactions([file], **options)  # type: ignore[arg-type]
