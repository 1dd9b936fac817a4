"""The life of a row: held against all rows of the logs, sifted one by one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, RefusedError, UsageError
from binx.inspect.why import RowChange, RowLife
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.rows import decoder as decoder_module
from binx.rows.ddl.catalog import Catalog
from binx.where.condition import Condition
from binx.where.rows import key_literal
from tests.log import building as b
from tests.slices.sql.sql_of import json_of

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SHOPS = {folder.name: sorted((folder / "shop").glob("mysql-bin.0*")) for folder in (MYSQL, MARIADB)}


def life_of(paths: Sequence[Path], table: str, *key: str, condition: str | None = None) -> list[RowChange]:
    """The changes of a row."""
    with open_chain([str(path) for path in paths]) as chain:
        wanted = None if condition is None else Condition(condition)
        return list(RowLife(chain, Selection(tables=(table,)), key=key, condition=wanted))


def rows_of(changes: Iterable[RowChange]) -> list[dict[str, Any]]:
    """The changes of rows among them."""
    return [change.row for change in changes if "sql" not in change.row]


def sifted(
    paths: Sequence[Path], table: str, columns: Sequence[str], key: Sequence[Any]
) -> list[dict[str, Any]]:
    """The same, row by row in Python: the keys that the row has had are followed as they come."""
    keys = [list(key)]
    found = []
    for line in json_of(*paths, rows=True).splitlines():
        row = json.loads(line)
        if f"{row['db']}.{row['table']}" != table:
            continue
        before, after = row.get("before", {}), row.get("after", {})
        old = [before.get(name) for name in columns] if before else None
        new = [after.get(name, before.get(name)) for name in columns] if after else None
        if old in keys or new in keys:
            found.append(row)
        if old in keys and new is not None and new not in keys:
            keys.append(new)
    return found


KEYS = [
    ("shop.orders", ["id"], [9007199254740992]),
    ("shop.customers", ["id"], [8]),
    ("shop.products", ["id"], [7]),
    ("shop.order_items", ["order_id", "line"], [9007199254740992, 1]),
    ("shop.payments", ["id"], [1]),
]


@pytest.mark.parametrize("server", SHOPS)
@pytest.mark.parametrize(("table", "columns", "key"), KEYS, ids=[table for table, _, _ in KEYS])
def test_all_changes_of_the_key_are_told_in_order(
    server: str, table: str, columns: list[str], key: list[Any]
) -> None:
    expected = sifted(SHOPS[server], table, columns, key)
    assert expected
    assert rows_of(life_of(SHOPS[server], table, *map(str, key))) == expected


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=lambda folder: folder.name)
def test_a_row_is_followed_to_its_next_key(folder: Path) -> None:
    """Images are minimal there: the key is all that an update has of a row."""
    paths = [folder / "small" / "row_image_minimal.binlog"]
    changes = life_of(paths, "small.keyed", "4")
    assert rows_of(changes) == sifted(paths, "small.keyed", ["id"], [4])
    assert [change.row["after"]["id"] for change in changes if change.moved] == [40]
    later = life_of(paths, "small.keyed", "40")
    assert rows_of(later) == rows_of(changes)[-len(rows_of(later)) :]


def moved(pairs: Sequence[tuple[int, int]]) -> bytes:
    """UPDATE_ROWS of one INT column: from what to what."""
    images = b"".join(b"\0" + struct.pack("<i", value) for pair in pairs for value in pair)
    return b.event(31, (9).to_bytes(6, "little") + struct.pack("<HH", 1, 2) + b"\x01\x01\x01" + images)


@given(st.lists(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1), max_size=12))
@example([[(2, 3)], [(1, 2)], [(3, 4)], [(2, 5)]])
@example([[(1, 2)], [(2, 3)], [(3, 4)], [(1, 3)]])
@settings(max_examples=30)
def test_a_key_that_another_row_had_before_is_followed_only_from_then_on(
    tmp_path_factory: pytest.TempPathFactory, transactions: list[list[tuple[int, int]]]
) -> None:
    path = tmp_path_factory.mktemp("moved") / "mysql-bin.000001"
    events = (
        event
        for number, pairs in enumerate(transactions, 1)
        for event in (b.gtid(number), b.BEGIN, b.table_map(), moved(pairs), b.xid())
    )
    path.write_bytes(
        b.whole_log(*events, b.gtid(99), b.BEGIN, b.table_map(), moved([(1, 1)]), b.xid(), b.STOP)
    )
    tables = Catalog()
    tables.load_dump("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY);")
    keys, expected = {1}, []
    for old, new in [*(pair for pairs in transactions for pair in pairs), (1, 1)]:
        if old in keys or new in keys:
            expected.append((old, new))
        if old in keys:
            keys.add(new)
    with open_chain([str(path)]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=("1",), catalog=tables)
        assert [(change.row["before"]["id"], change.row["after"]["id"]) for change in life] == expected


TABLE_STATEMENTS = [
    ("CREATE TABLE orders (id INT PRIMARY KEY)", "create", False),
    ("CREATE OR REPLACE TABLE shop.orders (id INT PRIMARY KEY)", "create", True),
    ("ALTER TABLE `shop`.`orders` ADD n INT", "alter", False),
    ("ALTER TABLE orders DROP PARTITION p0", "alter", True),
    ("ALTER TABLE other EXCHANGE PARTITION p0 WITH TABLE orders", "alter", True),
    ("ALTER TABLE shop.orders RENAME TO shop.old", "rename", True),
    ("RENAME TABLE old TO orders", "rename", True),
    ("TRUNCATE orders", "truncate", True),
    ("TRUNCATE TABLE `shop`.`orders`", "truncate", True),
    ("DROP TABLE IF EXISTS other, orders", "drop", True),
    ("DROP DATABASE shop", "drop", True),
    ("UPDATE orders SET n = n + 1", "statement", True),
    ("DELETE FROM shop.orders", "statement", True),
    ("CREATE TABLE items (id INT, FOREIGN KEY (id) REFERENCES orders (id))", None, False),
    ("CREATE TEMPORARY TABLE orders (id INT)", None, False),
    ("CREATE VIEW v AS SELECT * FROM orders", None, False),
    ("GRANT SELECT ON shop.orders TO someone", None, False),
    ("DROP TABLE customers", None, False),
    ("DROP DATABASE other", None, False),
    ("UPDATE customers SET n = n + 1", None, False),
]


@pytest.mark.parametrize(("sql", "kind", "uncertain"), TABLE_STATEMENTS)
def test_statements_on_the_table_stand_among_the_changes_of_the_row(
    sql: str, kind: str | None, uncertain: bool, tmp_path: Path
) -> None:
    path = tmp_path / "mysql-bin.000001"
    insert = [b.BEGIN, b.table_map(), b.rows(1), b.xid()]
    path.write_bytes(b.whole_log(b.gtid(1), *insert, b.gtid(2), b.query(sql), b.STOP))
    tables = Catalog()
    tables.load_dump("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY);")
    with open_chain([str(path)]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=("1",), catalog=tables)
        found = [(change.row["type"], change.row.get("sql"), change.uncertain) for change in life]
    assert found == [("insert", None, False), *([] if kind is None else [(kind, sql, uncertain)])]


@pytest.mark.parametrize(("folder", "renamed"), [("mysql-9.7", []), ("mariadb-10.11", ["rename"])])
def test_what_is_done_to_a_temporary_table_is_not_done_to_that_in_whose_place_it_stands(
    folder: str, renamed: list[str]
) -> None:
    """MariaDB does not log that RENAME TABLE is about a temporary one."""
    changes = life_of([TESTDATA / folder / "small" / "temporary_tables.binlog"], "small.t", "1")
    assert [change.row["type"] for change in changes] == ["create", "insert", *renamed, "alter"]


def test_a_table_of_which_the_log_has_statements_alone_has_a_history() -> None:
    changes = life_of([MYSQL / "small" / "statements.binlog"], "small.*", "1")
    assert changes[0].row["type"] == "create"
    assert any(change.uncertain for change in changes)


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = life_of(SHOPS["mysql-9.7"], "shop.customers", "8")
    monkeypatch.setattr(decoder_module, "ROW_GROUP_ROWS", 3)
    assert life_of(SHOPS["mysql-9.7"], "shop.customers", "8") == whole


def test_a_condition_in_place_of_a_key() -> None:
    paths = SHOPS["mysql-9.7"]
    changes = life_of(paths, "shop.orders", condition="after.status = 'paid' AND before.status = 'new'")
    expected = [
        row
        for line in json_of(*paths, rows=True).splitlines()
        if (row := json.loads(line))["table"] == "orders"
        and row.get("before", {}).get("status") == "new"
        and row.get("after", {}).get("status") == "paid"
    ]
    assert rows_of(changes) == expected
    assert expected


def test_who_made_a_change_and_where_it_is() -> None:
    with open_chain([str(path) for path in SHOPS["mysql-9.7"]]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=["9007199254740992"])
        found = [json.loads(b"".join(text)) for _, text in life.lines()]
    assert found[0]["type"] == "create"
    document = found[1]
    assert document["commit_version"] == (1 << 32) + document["start"]
    assert (document["file"], document["server_id"]) == ("mysql-bin.000001", 97)
    assert document["thread_id"] > 0
    assert document["moved"] is False


def test_bytes_are_given_as_digits() -> None:
    (first, *_) = rows_of(life_of(SHOPS["mysql-9.7"], "shop.products", "7"))
    assert first == rows_of(life_of(SHOPS["mysql-9.7"], "shop.products", condition="sku = x'00000700'"))[0]
    literal = key_literal("0x00000700")
    assert literal.value == b"\0\0\7\0"
    assert key_literal("0xyz").value == "0xyz"


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\(order_id, line\): expected 2 values, found 1"):
        life_of(SHOPS["mysql-9.7"], "shop.order_items", "1")


def test_a_table_without_a_known_key_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"primary key of shop\.audit_log is not known.*--where"):
        life_of(SHOPS["mysql-9.7"], "shop.audit_log", "1")


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a number to compare id with, found 'one'"):
        life_of(SHOPS["mysql-9.7"], "shop.orders", "one")


def test_a_table_without_changes_is_told() -> None:
    with pytest.raises(AbsentError, match=r"no changes of \S+ in the files"):
        life_of(SHOPS["mysql-9.7"], "shop.nothing", "1")


@pytest.mark.parametrize(("key", "condition"), [((), None), (("1",), "id = 1")])
def test_either_a_key_or_a_condition(key: tuple[str, ...], condition: str | None) -> None:
    with pytest.raises(UsageError, match="either a key"):
        life_of(SHOPS["mysql-9.7"], "shop.orders", *key, condition=condition)
