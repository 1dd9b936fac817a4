"""What counts as touching a table: rows exactly, statements by what they name."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.errors import UsageError
from binx.event.header import parse_header
from binx.event.parsers import parse_event
from binx.event.query_event import Query
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.index.index_file import IndexFile
from binx.log.index.lookup import IndexUse, index_path
from binx.log.index.writer import write_index
from binx.log.scan import Scan
from binx.log.selection.selection import Selection, Selector
from binx.log.selection.table_filter import TableFilter, table_name
from binx.log.selection.times import Position
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.search import Search
from binx.where.condition import Condition
from tests.conftest import PROJECT
from tests.log import building as b
from tests.log.searching import search

SMALL = PROJECT / "testdata/mysql-9.7/small"


def statement(sql: str) -> Query:
    """A statement with the default database ``shop``, whose event does not say what it changes."""
    with BinlogFile.open(str(SMALL / "no_checksum.binlog")) as file:
        event = b.query(sql)
        query = parse_event(memoryview(event)[19:], parse_header(event, 0), file.format)
    assert isinstance(query, Query)
    return query


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO orders VALUES (1)",
        "INSERT INTO `orders` VALUES (1)",
        "insert into shop.orders values (1)",
        "UPDATE shop . `orders` SET a = 1",
        "DELETE FROM a USING orders AS a",
        "ALTER TABLE orders ADD b INT",
        "CREATE TABLE x.y LIKE orders",
        "TRUNCATE orders",
        "DROP TABLE a, b, orders",
        'DROP TABLE "orders"',
        "DROP DATABASE shop",
        "/*!40000 DROP DATABASE IF EXISTS `shop` */",
        "/* by hand */ drop /**/ schema shop",
        "CREATE OR REPLACE DATABASE shop CHARACTER SET latin1",
    ],
)
def test_a_statement_touches_the_table_that_it_names(sql: str) -> None:
    assert TableFilter([], ["shop.orders"]).takes_statement(statement(sql))
    assert TableFilter(["shop"], ["*.orders"]).takes_statement(statement(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO order_items VALUES (1)",
        "DROP TABLE orders_old",
        "INSERT INTO other.items VALUES (1)",
        "INSERT INTO other.items VALUES (@orders)",
        "DROP DATABASE other",
        "CREATE DATABASE shop",
    ],
)
def test_a_statement_does_not_touch_a_table_that_it_does_not_name(sql: str) -> None:
    assert not TableFilter([], ["shop.orders"]).takes_statement(statement(sql))


def test_in_a_data_set_what_makes_a_database_counts_as_what_makes_its_tables() -> None:
    tables = TableFilter([], ["shop.orders"], makes=True)
    for sql in (
        "CREATE DATABASE shop",
        "ALTER SCHEMA `shop` COLLATE latin1_bin",
        "ALTER DATABASE COLLATE binary",
    ):
        assert tables.takes_text(sql, "shop")
    for sql in ("CREATE DATABASE other", "DROP DATABASE other"):
        assert not tables.takes_text(sql, "shop")


def test_a_name_in_another_database_counts_there() -> None:
    query = statement("INSERT INTO archive.orders SELECT 1")
    assert TableFilter([], ["archive.orders"]).takes_statement(query)
    assert TableFilter(["archive"], []).takes_statement(query)
    assert not TableFilter(["elsewhere"], []).takes_statement(query)


def test_the_default_database_counts_where_the_event_does_not_say_what_changes() -> None:
    assert TableFilter(["shop"], []).takes_statement(statement("DROP VIEW v"))


def test_the_databases_that_the_event_says_are_changed_rule() -> None:
    with BinlogFile.open(str(SMALL / "statements.binlog")) as file:
        taking, leaving = TableFilter(["small"], []), TableFilter(["nowhere"], [])
        for table in Scan(file):
            for index in range(len(table)):
                place = table.value("start", index), table.value("end", index)
                if table.value("kind", index) == 2:
                    assert taking.takes_statements(file, *place, table.format)
                assert not leaving.takes_statements(file, *place, table.format)


def test_patterns_match_whole_names_in_their_own_case() -> None:
    tables = TableFilter(["s*"], ["*.o?ders"])
    assert tables.takes("shop", "orders")
    assert not tables.takes("shop", "orders2")
    assert not tables.takes("Shop", "orders")
    assert not tables.takes("ashop", "orders")


def test_a_table_must_match_both_kinds_of_patterns_itself() -> None:
    tables = TableFilter(["a"], ["b.t", "a.u"])
    assert tables.takes("a", "u")
    assert not tables.takes("b", "t")
    assert not tables.takes("a", "t")


def test_names_with_backticks_dots_and_pattern_characters_can_be_quoted() -> None:
    tables = TableFilter([], ["`a.b`.`c*``d`"])
    assert tables.takes("a.b", "c*`d")
    assert not tables.takes("a.b", "cx`d")


def test_one_table_is_named_by_two_names_of_which_those_with_dots_are_quoted() -> None:
    assert table_name("shop.closed orders/2026") == ("shop", "closed orders/2026")
    assert table_name("`a.b`.c") == ("a.b", "c")
    assert table_name("a.`b.``c`") == ("a", "b.`c")
    for text in ("shop", "a.b.c", ".t", "a.", "`a`b.c"):
        with pytest.raises(UsageError):
            table_name(text)


def prepared(number: int, name: str, table: str, *values: int) -> bytes:
    """An XA transaction that inserts rows."""
    events = (b.query(f"XA START '{name}'"), b.table_map(table=table), b.rows(*values))
    return b.gtid(number) + b"".join(events) + b.query(f"XA END '{name}'") + b.xa_prepare()


def ended(number: int, name: str, how: str = "COMMIT") -> bytes:
    return b.gtid(number) + b.query(f"XA {how} '{name}'")


EVENTS = (
    ended(1, "of a log before"),
    prepared(2, "a", "orders", 1),
    prepared(3, "b", "visits", 2),
    ended(4, "b"),
    ended(5, "a", "ROLLBACK"),
    prepared(6, "b", "orders", 3),
    prepared(7, "a", "visits", 4),
    ended(8, "a"),
    ended(9, "b"),
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "mysql-bin.000001"
    # The events of each transaction have positions of their own.
    path.write_bytes(b.whole_log(*(event for one in EVENTS for event in b.split(one))))
    return path


def numbers(gtids: list[str | None]) -> list[int]:
    return [int(str(gtid).rpartition(":")[2]) for gtid in gtids]


ORDERS = [1, 2, 5, 6, 9]
"""What touches orders, with its ends; and the end of what was prepared where nobody looked."""


@pytest.mark.parametrize("selection", [Selection(tables=("shop.orders",)), Selection(tables=("*.ord*",))])
def test_a_table_comes_with_the_ends_of_its_xa_transactions(log: Path, selection: Selection) -> None:
    assert numbers(search(selection, [log]).gtids) == ORDERS


def test_a_database_comes_with_the_ends_of_its_xa_transactions(log: Path) -> None:
    assert numbers(search(Selection(databases=("shop",)), [log]).gtids) == list(range(1, 10))
    assert numbers(search(Selection(databases=("stock",)), [log]).gtids) == [1]


def test_what_was_prepared_before_a_start_position_may_be_wanted(log: Path) -> None:
    with BinlogFile.open(str(log)) as file:
        (table,) = Scan(file)
        third = table.value("start", 2)
    found = search(Selection(tables=("shop.orders",), start=Position(None, third)), [log])
    assert numbers(found.gtids) == [5, 6, 9]


def test_an_index_file_changes_nothing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binx.log.scan.WINDOW_BYTES", 256)
    monkeypatch.setattr("binx.log.index.writer.GROUP_ROWS", 1)
    with BinlogFile.open(str(log)) as file:
        write_index(file, index_path(file))
    with open_chain([str(log)], index=IndexUse()) as chain:
        index = chain[0].file.index
        assert isinstance(index, IndexFile)
        assert len(index.facts.groups) > 2
        runs = list(Search(chain, Selection(tables=("shop.orders",))).runs())
        found = [run.table.gtid(index) for run in runs for index in run.table.marked(run.mask)]
    assert numbers(found) == ORDERS


def test_a_condition_on_rows_takes_the_ends_of_what_it_takes(log: Path) -> None:
    options = ExtractOptions(format=SliceFormat.JSON, where=Condition("c1 >= 3"))
    target = log.with_name("of.json")
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(), str(target), options)
    assert numbers(ids_in(target)) == [1, 6, 7, 8, 9]


def ids_in(path: Path) -> list[str | None]:
    return [json.loads(line)["gtid"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("where", [None, "c1 = 3"])
def test_a_data_set_has_all_ends_however_many_decode_it(log: Path, where: str | None) -> None:
    selection = Selection(tables=("shop.orders",))
    options = ParquetOptions(where=None if where is None else Condition(where))
    with BinlogFile.open(str(log)) as file:
        selector = Selector(selection, [log.name], in_parts=True)
        list(to_parquet([file], log.with_name("lake"), selector=selector, options=options))
    statements = pq.read_table(next((log.parent / "lake" / "statements").iterdir())).to_pylist()
    ends = [
        int(one["transaction"].rpartition(":")[2]) for one in statements if "XA PREPARE" not in one["sql"]
    ]
    assert ends == [1, 4, 5, 8, 9]
