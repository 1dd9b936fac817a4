"""Selections by GTID, time, size, place and table: what passes, when the search is over, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, UsageError
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import Kind
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.moments import Position, parse_position
from binx.log.selection.selection import Selection, Selector, required_level
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


def test_of_gtids_behind_the_limit_none_is_said_to_be_missing() -> None:
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


def test_tags_tell_gtids_apart() -> None:
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


@pytest.mark.parametrize("path", sorted(TESTDATA.glob("*/small/*.binlog")), ids=lambda path: path.stem)
def test_what_a_selection_needs_is_read_and_chooses_as_if_all_was_read(path: Path) -> None:
    """The ends of compressed transactions tell their kinds, for one."""
    fields = {"kinds": "kind", "server_ids": "server_id", "thread_ids": "thread_id", "xids": "xid"}
    fields |= {"since": "commit_timestamp", "min_bytes": "bytes"}
    with BinlogFile.open(str(path)) as file:
        values = {
            option: {
                table.value(field, i) for table in Scan(file, Level.LEVEL_TABLES) for i in range(len(table))
            }
            for option, field in fields.items()
        }
    for option, listed in values.items():
        for value in listed:
            given: Any = value if option in ("since", "min_bytes") else (value,)
            selection = Selection(**{option: given})
            whole = search(selection, [path], level=Level.LEVEL_TABLES)
            assert search(selection, [path]).transactions == whole.transactions, (option, value)


def test_the_limit_takes_the_first_that_pass_and_ends_the_search() -> None:
    paths = SHOPS["mysql-9.7"]
    everything = search(Selection(min_bytes=2_000), paths).transactions
    found = search(Selection(min_bytes=2_000, limit=7), paths)
    assert found.transactions == everything[:7]
    assert found.selector.complete
    over_files = search(Selection(min_bytes=2_000, limit=len(everything) - 1), paths)
    assert over_files.transactions == everything[:-1]


def test_a_limit_below_one_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="limit"):
        Selector(Selection(limit=0))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 400), st.integers(0, 400), st.integers(0, 373), st.integers(0, 373), st.integers(0, 8000)
)
def test_filters_combine_with_and(first: int, more: int, since: int, until: int, size: int) -> None:
    path = SHOPS["mysql-9.7"][0]
    everything = search(Selection(), [path]).transactions
    moments = [moment for moment, _ in times_of(path)]
    low, high = sorted((moments[since], moments[until] + 1))
    wanted = GtidSet.parse(f"{gtid_of('mysql-9.7', first)}-{first + more}")
    found = search(Selection(gtids=wanted, since=low, until=high, min_bytes=size), [path])
    assert found.transactions == [
        one
        for number, (one, moment) in enumerate(zip(everything, moments, strict=True), 1)
        if first <= number <= first + more and low <= moment < high and one[2] - one[1] >= size
    ]


def test_the_level_is_the_least_that_answers() -> None:
    assert required_level(Selection()) == Level.LEVEL_INDEX
    cheap = Selection(
        gtids=GtidSet(), since=1, start=Position(None, 4), server_ids=(1,), min_bytes=1, limit=1
    )
    assert required_level(cheap) == Level.LEVEL_INDEX
    assert required_level(Selection(thread_ids=(1,))) == Level.LEVEL_TABLES
    assert required_level(Selection(xids=(1,))) == Level.LEVEL_TABLES
    assert required_level(Selection(databases=("a",), xids=(1,))) == Level.LEVEL_TABLES
    assert required_level(Selection(tables=("a.b",))) == Level.LEVEL_TABLES
    assert required_level(Selection(kinds=(Kind.KIND_DDL, Kind.KIND_ROLLBACK))) == Level.LEVEL_TABLES
    assert required_level(Selection(kinds=(Kind.KIND_DDL, Kind.KIND_XA_COMMIT))) == Level.LEVEL_INDEX


@pytest.mark.parametrize("level", list(Level))
def test_a_higher_level_gives_the_same_selection(level: Level) -> None:
    paths = SHOPS["mysql-9.7"]
    selection = Selection(gtids=GtidSet.parse(f"{gtid_of('mysql-9.7', 300)}-900"), min_bytes=1000)
    assert search(selection, paths, level=level).transactions == search(selection, paths).transactions


def test_positions_take_what_lies_between_them() -> None:
    path = SHOPS["mysql-9.7"][2]
    everything = search(Selection(), [path]).transactions
    start, stop = everything[3][1], everything[9][1]
    found = search(Selection(start=Position(None, start), stop=Position(None, stop)), [path])
    assert found.transactions == everything[3:9]
    assert found.selector.notes == []
    assert found.selector.complete


def test_a_position_inside_a_transaction_snaps_back_to_its_start_and_says_so() -> None:
    path = SHOPS["mysql-9.7"][2]
    everything = search(Selection(), [path]).transactions
    start, stop = everything[3][1] + 1, everything[9][2] - 1
    found = search(Selection(start=Position(None, start), stop=Position(None, stop)), [path])
    assert found.transactions == everything[3:9]
    assert [note.split(": ")[1] for note in found.selector.notes] == [
        f"the start position {start} is inside the transaction at {everything[3][1]};"
        " the selection starts there",
        f"the stop position {stop} is inside the transaction at {everything[9][1]};"
        " the selection ends before it",
    ]


def test_positions_in_several_files_take_the_files_between_whole() -> None:
    paths = SHOPS["mysql-9.7"]
    everything = search(Selection(), paths).transactions
    second = [one for one in everything if one[0] == "mysql-bin.000002"]
    fourth = [one for one in everything if one[0] == "mysql-bin.000004"]
    selection = Selection(
        start=parse_position(f"mysql-bin.000002:{second[7][1]}"),
        stop=parse_position(f"some/folder/mysql-bin.000004:{fourth[5][1]}"),
    )
    found = search(selection, paths)
    third = [one for one in everything if one[0] == "mysql-bin.000003"]
    assert found.transactions == [*second[7:], *third, *fourth[:5]]
    assert found.searched == ["mysql-bin.000002", "mysql-bin.000003", "mysql-bin.000004"]


def test_a_position_without_a_file_needs_a_single_file() -> None:
    with pytest.raises(UsageError, match="FILE:POS"):
        Selector(Selection(start=Position(None, 4)), ["mysql-bin.000001", "mysql-bin.000002"])


def test_a_position_in_a_file_that_was_not_given_is_absent() -> None:
    with pytest.raises(AbsentError, match=r"mysql-bin\.000009:4"):
        Selector(Selection(stop=parse_position("mysql-bin.000009:4")), ["mysql-bin.000001"])


def test_a_position_in_one_of_two_files_of_a_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="several files"):
        Selector(Selection(stop=parse_position("a:4")), ["a", "a"])


@pytest.mark.parametrize("server", SHOPS)
def test_a_table_takes_the_transactions_that_change_its_rows(server: str) -> None:
    for path in SHOPS[server]:
        found = {one[1] for one in search(Selection(tables=("shop.payments",)), [path]).transactions}
        with BinlogFile.open(str(path)) as file:
            scan = Scan(file, Level.LEVEL_TABLES)
            changing = {
                table.value("start", index)
                for table in scan
                for index in range(len(table))
                if any(scan.table_name(count[0]) == ("shop", "payments") for count in table.counts_of(index))
            }
        assert changing <= found


def test_patterns_take_what_a_shell_would() -> None:
    paths = SHOPS["mysql-9.7"]
    archive = search(Selection(databases=("shop-archive",)), paths)
    assert archive.transactions
    assert search(Selection(databases=("shop-arch*",)), paths).transactions == archive.transactions
    assert search(Selection(databases=("shop[-_]archiv?",)), paths).transactions == archive.transactions
    assert search(Selection(databases=("SHOP-archive",)), paths).transactions == []
    assert (
        search(Selection(databases=("shop-archive", "nowhere")), paths).transactions == archive.transactions
    )


def test_a_statement_passes_when_it_names_the_table() -> None:
    paths = SHOPS["mysql-9.7"]
    with_ddl = search(Selection(tables=("shop-archive.*",)), paths)
    kinds = set()
    for name, start, _, _ in with_ddl.transactions:
        with BinlogFile.open(str(paths[0].with_name(name))) as file:
            for table in Scan(file, Level.LEVEL_TABLES):
                kinds |= {
                    table.value("kind", i) for i in range(len(table)) if table.value("start", i) == start
                }
    assert kinds == {1, 2}


def test_backticks_quote_dots_and_pattern_characters() -> None:
    paths = SHOPS["mysql-9.7"]
    quoted = search(Selection(tables=("`shop-archive`.`closed orders/2026 100%`",)), paths)
    assert quoted.transactions
    assert search(Selection(tables=("shop-archive.`closed*`",)), paths).transactions == []


@pytest.mark.parametrize("text", ["orders", "", "a.b.c", "a.", ".b", "`a.b", "`a`b.c", "a.`b`c"])
def test_what_is_no_table_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        Selector(Selection(tables=(text,)))


@pytest.mark.parametrize("text", ["a.b", "", "`a", "."])
def test_what_is_no_database_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        Selector(Selection(databases=(text,)))
