"""Selections by place and table: positions in files, patterns of databases and tables."""

from __future__ import annotations

import pytest

from binx.errors import AbsentError, UsageError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.selection.moments import Position, parse_position
from binx.log.selection.selection import Selection, Selector
from tests.log.searching import SHOPS, search


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
            scan = file.scan(Level.LEVEL_TABLES)
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
            for table in file.scan(Level.LEVEL_TABLES):
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
