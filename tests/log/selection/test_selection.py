"""Selections by GTID, time, size, place and table: what passes, when the search is over, what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.selection import Selection, Selector
from binx.log.transaction_events import statement_texts
from tests.conftest import SHOPS, TESTDATA
from tests.log.searching import SMALL, demo, gtid_of, listed_transactions, search


@pytest.mark.parametrize("server", SHOPS)
def test_one_gtid_is_one_transaction_and_the_search_stops_with_it(server: str) -> None:
    wanted = demo(server)
    found = search(Selection(gtids=GtidSet.parse(str(wanted["gtid"]))), SHOPS[server])
    assert found.transactions == [(wanted["file"], wanted["start"], wanted["end"], wanted["gtid"])]
    assert found.selector.complete
    assert found.selector.missing().is_empty
    assert found.searched == ["mysql-bin.000001", "mysql-bin.000002", "mysql-bin.000003"]


def test_files_whose_previous_gtids_hold_all_that_is_wanted_are_not_searched() -> None:
    paths = SHOPS["mysql-9.7"]
    selection = Selection(gtids=GtidSet.parse(gtid_of("mysql-9.7", 5)))
    found = search(selection, paths[::-1])
    assert found.searched == ["mysql-bin.000001"]
    assert len(found.transactions) == 1


def test_of_gtids_beyond_the_limit_none_is_said_to_be_missing() -> None:
    wanted = GtidSet.parse(f"{gtid_of('mysql-9.7', 5)},{gtid_of('mysql-9.7', 1_000)}")
    for limit, missing in [(1, ""), (2, ""), (3, gtid_of("mysql-9.7", 999_999))]:
        more = wanted | GtidSet.parse(gtid_of("mysql-9.7", 999_999))
        found = search(Selection(gtids=more, limit=limit), SHOPS["mysql-9.7"])
        assert (len(found.gtids), str(found.selector.missing())) == (min(limit, 2), missing)


def test_a_wanted_gtid_that_another_filter_drops_was_met_all_the_same() -> None:
    wanted = GtidSet.parse(gtid_of("mysql-9.7", 5))
    found = search(Selection(gtids=wanted, server_ids=(4711,)), SHOPS["mysql-9.7"])
    assert found.transactions == []
    assert found.selector.complete


def test_excluded_gtids_are_left_out_and_transactions_without_gtid_are_not() -> None:
    everything = search(Selection(), SHOPS["mysql-9.7"]).gtids
    excluded = GtidSet.parse(f"{gtid_of('mysql-9.7', 1)}-1600")
    kept = search(Selection(exclude_gtids=excluded), SHOPS["mysql-9.7"]).gtids
    assert kept == everything[1600:]
    anonymous = SMALL / "anonymous_gtids.binlog"
    assert len(search(Selection(exclude_gtids=excluded), [anonymous]).transactions) == 5
    assert search(Selection(gtids=excluded), [anonymous]).transactions == []


def test_tags_distinguish_gtids() -> None:
    path = SMALL / "tagged_gtids.binlog"
    everything = search(Selection(), [path]).gtids
    tagged = [gtid for gtid in everything if gtid is not None and gtid.count(":") == 2]
    assert 0 < len(tagged) < len(everything)
    for gtid in tagged:
        assert search(Selection(gtids=GtidSet.parse(gtid)), [path]).gtids == [gtid]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 460), st.integers(0, 200)), min_size=1, max_size=6), st.booleans())
def test_a_set_of_gtids_takes_exactly_its_members(intervals: list[tuple[int, int]], inside: bool) -> None:
    for server in SHOPS:
        path = SHOPS[server][0]
        numbers = {n for first, more in intervals for n in range(first, first + more + 1)}
        wanted = GtidSet.parse(",".join(gtid_of(server, number) for number in numbers))
        selection = Selection(gtids=wanted) if inside else Selection(exclude_gtids=wanted)
        expected = [gtid_of(server, n) for n in range(1, 375) if (n in numbers) == inside]
        found = search(selection, [path])
        assert found.gtids == expected
        if inside:
            missing = {n for n in numbers if n > 374}
            assert found.selector.missing() == GtidSet.parse(",".join(gtid_of(server, n) for n in missing))


def times_of(path: Path) -> list[tuple[int, str | None]]:
    with BinlogFile.open(str(path)) as file:
        return [
            (table.value("commit_timestamp", index), table.gtid(index))
            for table in Scan(file, Level.LEVEL_INDEX)
            for index in range(len(table))
        ]


def test_times_that_run_backwards_lose_no_transaction() -> None:
    # The MariaDB shop's sessions set their times; what counts is each transaction's own.
    for path in SHOPS["mariadb-10.11"]:
        times = times_of(path)
        middle = sorted(moment for moment, _ in times)[len(times) // 2]
        late = search(Selection(since=middle), [path]).gtids
        assert late == [gtid for moment, gtid in times if moment >= middle]


def test_a_span_that_ends_before_it_begins_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="time span"):
        Selector(Selection(since=5, until=5))


def test_engine_numbers_and_threads_take_what_the_servers_own_reader_lists_with_them() -> None:
    path = SMALL / "rollback.binlog"
    with BinlogFile.open(str(path)) as file:
        (table,) = Scan(file, Level.LEVEL_EVENTS)
        xids = [table.value("xid", i) for i in range(len(table))]
    wanted = next(number for number in xids if number)
    assert len(search(Selection(xids=(wanted,)), [path]).transactions) == 1
    listing = path.with_suffix(".txt").read_text(errors="replace")
    thread = int(listing.split("thread_id=")[1].split("\t")[0])
    assert search(Selection(thread_ids=(thread,)), [path]).transactions
    assert search(Selection(thread_ids=(thread + 1,)), [path]).transactions == []
    assert search(Selection(xids=(0,)), [path]).transactions == []


def test_threads_and_engine_numbers_within_compressed_transactions_are_found() -> None:
    path = SMALL / "compressed.binlog"
    listed = listed_transactions(path.with_suffix(".txt"))
    for one in listed:
        if one.xid is not None:
            assert [start for _, start, _, _ in search(Selection(xids=(one.xid,)), [path]).transactions] == [
                one.start
            ]
    threads = {one.thread_id for one in listed if one.thread_id is not None}
    found = search(Selection(thread_ids=tuple(threads)), [path])
    assert len(found.transactions) == len(listed)


TEXTS = ("update", "Insert INTO", "begin", "t (", "é", "straße", "zwei", "no such text", "_latin1 ")


@pytest.mark.parametrize("path", sorted(TESTDATA.glob("*/small/*.binlog")), ids=lambda path: path.stem)
def test_texts_are_found_wherever_a_statement_has_them(path: Path) -> None:
    """The walk finds what is ASCII; what it leaves open is read."""
    with BinlogFile.open(str(path)) as file:
        statements = [
            [
                text.casefold()
                for text in statement_texts(
                    file, table.value("start", index), table.value("end", index), table.format
                )
            ]
            for table in Scan(file, Level.LEVEL_TABLES)
            for index in range(len(table))
        ]
        for text in TEXTS:
            selector, scan = Selector(Selection(texts=(text,))), Scan(file, Level.LEVEL_TABLES, texts=(text,))
            passing = [mark for table in scan for mark in selector.mask(file, scan, table)]
            assert passing == [any(text.casefold() in one for one in own) for own in statements], text
