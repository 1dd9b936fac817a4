"""What counts as touching a table: rows exactly, statements by what they name."""

from __future__ import annotations

import pytest

from binx.event.header import parse_header
from binx.event.parse import parse_event
from binx.event.query import Query
from binx.log.file import BinlogFile
from binx.log.selection.table_filter import TableFilter
from tests.conftest import PROJECT
from tests.log import building as b

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
    ],
)
def test_a_statement_does_not_touch_a_table_that_it_does_not_name(sql: str) -> None:
    assert not TableFilter([], ["shop.orders"]).takes_statement(statement(sql))


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
        for table in file.scan():
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
