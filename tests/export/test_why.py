"""The life of a row: held against all rows of the logs, sifted one by one."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binx.errors import AbsentError, RefusedError, UsageError
from binx.export import sidecar as sidecar_module
from binx.export.row_keys import key_literal
from binx.export.sidecar import write_sidecar
from binx.export.where import Condition
from binx.export.why import RowChange, RowLife
from binx.log import scan as scan_module
from binx.log.file import BinlogFile
from binx.log.index_use import IndexUse, sidecar_path
from binx.log.inputs import open_chain
from binx.log.selection import Selection
from binx.rows import decoder as decoder_module
from binx.rows.catalog import Catalog
from tests.export.sql_of import json_of
from tests.log import building as b

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"
MYSQL, MARIADB = TESTDATA / "mysql-9.7", TESTDATA / "mariadb-10.11"
SHOPS = {folder.name: sorted((folder / "shop").glob("mysql-bin.0*")) for folder in (MYSQL, MARIADB)}


def life_of(paths: Sequence[Path], table: str, *key: str, condition: str | None = None) -> list[RowChange]:
    """The changes of a row."""
    with open_chain([str(path) for path in paths]) as chain:
        wanted = None if condition is None else Condition(condition)
        return list(RowLife(chain, Selection(tables=(table,)), key=key, condition=wanted))


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
    assert [change.row for change in life_of(SHOPS[server], table, *map(str, key))] == expected


@pytest.mark.parametrize("folder", [MYSQL, MARIADB], ids=lambda folder: folder.name)
def test_a_row_is_followed_to_its_next_key(folder: Path) -> None:
    """Images are minimal there: the key is all that an update has of a row."""
    paths = [folder / "small" / "row_image_minimal.binlog"]
    changes = life_of(paths, "small.keyed", "4")
    assert [change.row for change in changes] == sifted(paths, "small.keyed", ["id"], [4])
    assert [change.row["after"]["id"] for change in changes if change.moved] == [40]
    later = life_of(paths, "small.keyed", "40")
    assert [change.row for change in later] == [change.row for change in changes[-len(later) :]]


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
    assert [change.row for change in changes] == expected
    assert expected


def test_who_made_a_change_and_where_it_is() -> None:
    with open_chain([str(path) for path in SHOPS["mysql-9.7"]]) as chain:
        life = RowLife(chain, Selection(tables=("shop.orders",)), key=["9007199254740992"])
        document = json.loads(b"".join(next(life.lines())))
    assert document["commit_version"] == (1 << 32) + document["start"]
    assert (document["file"], document["server_id"]) == ("mysql-bin.000001", 97)
    assert document["thread_id"] > 0
    assert document["moved"] is False


def test_bytes_are_given_as_digits() -> None:
    (first, *_) = life_of(SHOPS["mysql-9.7"], "shop.products", "7")
    found = life_of(SHOPS["mysql-9.7"], "shop.products", condition="sku = x'00000700'")
    assert first.row == found[0].row
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
    with pytest.raises(AbsentError, match=r"no row changes of \S+ in the files"):
        life_of(SHOPS["mysql-9.7"], "shop.nothing", "1")


@pytest.mark.parametrize(("key", "condition"), [((), None), (("1",), "id = 1")])
def test_either_a_key_or_a_condition(key: tuple[str, ...], condition: str | None) -> None:
    with pytest.raises(UsageError, match="either a key"):
        life_of(SHOPS["mysql-9.7"], "shop.orders", *key, condition=condition)


@pytest.mark.parametrize("server", SHOPS)
@pytest.mark.parametrize(("table", "columns", "key"), KEYS, ids=[table for table, _, _ in KEYS])
def test_index_files_with_keys_make_no_difference(
    server: str,
    table: str,
    columns: list[str],
    key: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sidecar_module, "BLOCK_RECORDS", 8)
    monkeypatch.setattr(scan_module, "WINDOW_BYTES", 10_000)
    folder = tmp_path / "logs"
    folder.mkdir()
    paths = [str(shutil.copy(path, folder)) for path in SHOPS[server]]
    catalog = Catalog()
    for path in paths:
        with BinlogFile.open(path) as file:
            write_sidecar(file, sidecar_path(file), keys=catalog)
    selection = Selection(tables=(table,))
    with open_chain(paths, index=IndexUse()) as chain:
        life = RowLife(chain, selection, key=tuple(map(str, key)))
        found = [change.row for change in life]
        assert life.search.left_out > 0
    assert found == sifted(SHOPS[server], table, columns, key)
