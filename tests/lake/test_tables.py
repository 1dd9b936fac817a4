"""Tables and columns that DDL changes: current/ follows them."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from binx.lake.at_moment import table_at
from binx.lake.state.loaded_state import Options
from binx.lake.table_name import TableName
from binx.spark import load_run as run
from tests.lake.conftest import Load, Loaded, files_of
from tests.lake.dataset import Name, Server, Version, column_effect
from tests.lake.test_state import FIELDS, ORDERS, Rows, insert, orders

GHOST: Name = ("shop", "_orders_gho")
OLD: Name = ("shop", "_orders_del")


@pytest.mark.parametrize(
    ("options", "is_damaged"),
    [([], True), (["--table", "shop.orders"], False), (["--table", "shop.orders"], True)],
)
def test_a_swapped_in_table_brings_its_rows(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows, options: list[str], is_damaged: bool
) -> None:
    """As tools for online schema changes do it: fill a second table, then swap the names."""
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.create(GHOST, [*FIELDS, ("added", pa.int32())], ["id"])
    for number in (1, 2):
        server.transaction(("insert", GHOST, {**server.tables[ORDERS][number,], "added": number}))
    server.transaction(insert(3, "late"), ("insert", GHOST, {"id": 3, "name": "late", "added": 3}))
    loaded(server, *options)
    if is_damaged:
        server.rotate()
    server.rename((ORDERS, OLD), (GHOST, ORDERS))
    server.transaction(("update", ORDERS, (2,), {"added": 20}), ("delete", ORDERS, (1,)))
    server.drop(OLD)
    if is_damaged:
        server.export_all(tmp_path / "in", whole=True)
        shutil.rmtree(tmp_path / "out")
        [file] = (tmp_path / "in/changes/shop/_orders_gho").iterdir()
        content = file.read_bytes()
        file.write_bytes(content[:-9])
        for _ in range(2):
            code, summary = load(tmp_path / "in", tmp_path / "out", *options)
            errors = {table["table"]: table["error"] for table in summary["tables"]}
            assert (code, file.name in errors["orders"]) == (1, True)
        file.write_bytes(content)
    assert not any(table["error"] for table in loaded(server, *options)[1]["tables"])
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert files_of(tmp_path / "out", GHOST) == []
    server.rotate()
    server.transaction(("insert", ORDERS, {"id": 9, "added": 9}))
    loaded(server, *options)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_a_column_that_was_dropped_and_added_anew_is_another_where_numbering_began_again_too(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    """The version of before comes back at a smaller SCN than those of rows that had the former column."""
    server = orders(first_log=5)
    server.transaction(insert(1, "a", 1), insert(2, "b", 2))
    server.rotate(7)
    server.transaction(insert(3, "c", 3), insert(4, "d", 4))
    server.rotate(6)
    server.alter(ORDERS, "ALTER TABLE orders DROP amount", FIELDS[:2])
    server.alter(ORDERS, "ALTER TABLE orders ADD amount int", FIELDS)
    server.transaction(("update", ORDERS, (2,), {"amount": 20}))
    loaded(server)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert [row["amount"] for row in server.rows(ORDERS)] == [None, 20, None, None]


def test_changes_logged_as_statements_are_a_loss_that_is_reported(loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(1))
    server.ddl("DELETE FROM orders", kind="dml")
    server.ddl("CALL fill()", kind="dml")
    moved = {"action": "partitions", "db": "shop", "table": "orders"}
    server.ddl("ALTER TABLE orders DROP PARTITION p0", moved)
    code, summary = loaded(server)
    assert code == 3
    reasons = summary["tables"][0]["reasons"]
    assert any("changes logged as statements: 2;" in reason for reason in reasons)
    assert any("partitions" in reason for reason in reasons)
    assert summary["losses"] == []


def test_a_change_logged_as_a_statement_is_a_loss_of_the_table_that_it_changed(
    loaded: Loaded, load: Load, tmp_path: Path
) -> None:
    """By load after load, and by what a table was at a moment."""
    server = orders()
    server.create(OLD, FIELDS, ["id"])
    server.transaction(insert(1), ("insert", OLD, {"id": 1, "name": None, "amount": None}))
    server.ddl("INSERT INTO `_orders_del` SELECT * FROM orders", kind="dml")
    server.ddl("UPDATE other.items SET n = 1", kind="dml")
    code, summary = loaded(server, "--accept-losses")
    server.transaction(insert(2))
    code, later = loaded(server)
    for told in (summary, later):
        complete = {one["table"]: one["completeness"] for one in told["tables"]}
        assert complete["orders"] == "yes"
        assert complete[OLD[1]].startswith("losses since 2")
        assert ["no table loaded here" in one for one in told["losses"]] == [True]
    assert code == 0
    assert table_at(str(tmp_path / "in"), "shop.orders", None).missing == []
    [missing] = table_at(str(tmp_path / "in"), f"shop.{OLD[1]}", None).missing
    assert missing.startswith("changes logged as statements: 1;")


def test_rows_removed_by_ddl_without_row_events_are_a_loss_with_its_reason(loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(1))
    reason = "ENGINE=BLACKHOLE removed its rows"
    removed = {"action": "rows_unlogged", "db": "shop", "table": "orders", "reason": reason}
    server.ddl("ALTER TABLE orders ENGINE=BLACKHOLE", removed)
    code, summary = loaded(server)
    assert code == 3
    assert reason in summary["tables"][0]["reasons"][0]
    assert "partitions" not in summary["tables"][0]["reasons"][0]


def test_both_tables_of_an_exchange_in_one_database_are_incomplete(loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(1))
    server.create(OLD, FIELDS, ["id"])
    exchanged = {"action": "partitions", "db": "shop", "table": "orders", "new_table": OLD[1]}
    server.ddl("ALTER TABLE orders EXCHANGE PARTITION p0 WITH TABLE _orders_del", exchanged)
    code, summary = loaded(server)
    assert code == 3
    told = {(one["db"], one["table"]): one["reasons"] for one in summary["tables"]}
    assert all("partitions" in told[name][0] for name in (ORDERS, OLD))


def test_every_version_of_a_row_has_its_time(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = orders(image="MINIMAL")
    server.transaction(insert(1, "a", 1), ("update", ORDERS, (1,), {"name": "b"}))
    server.transaction(("update", ORDERS, (1,), {"amount": 2}))
    server.transaction(("update", ORDERS, (1,), {"id": 2}))
    server.transaction(("delete", ORDERS, (2,)))
    server.transaction(insert(1, "again"))
    code, _ = loaded(server, "--scd2")
    assert code == 0
    found = rows(tmp_path / "out", ORDERS, ("valid_from",), "scd2")
    spans = [
        (
            row["id"],
            row["name"],
            row["amount"],
            row["valid_from"].minute,
            row["valid_to"] and row["valid_to"].minute,
            row["is_current"],
        )
        for row in found
    ]
    assert spans == [
        (1, "b", 1, 14, 21, False),
        (1, "b", 2, 21, 28, False),
        (2, "b", 2, 28, 35, False),
        (1, "again", None, 42, None, True),
    ]


def test_names_with_dots_are_quoted_in_options_and_messages(tmp_path: Path, load: Load, rows: Rows) -> None:
    """Two tables whose names are the same text if nothing is quoted."""
    server = Server()
    one, other = ("a.b", "c"), ("a", "b.c")
    for table, value in ((one, "x"), (other, "y")):
        server.create(table, FIELDS, [])
        server.transaction(("insert", table, {"id": 1, "name": value, "amount": 1}))
    server.export_all(tmp_path / "in")
    out = tmp_path / "out"
    code, answer = load(tmp_path / "in", out, "--table", "a.b.c")
    assert (code, "quote a name with a dot" in answer["error"]) == (2, True)
    code, answer = load(tmp_path / "in", out, "--key", "a.c=id")
    assert (code, "the data contains only a.`b.c`, `a.b`.c" in answer["error"]) == (4, True)
    code, summary = load(tmp_path / "in", out, "--table", "`a.b`.*", "--key", "`a.b`.c=id")
    assert (code, [(table["db"], table["current"]) for table in summary["tables"]]) == (0, [("a.b", 1)])
    assert [row["name"] for row in rows(out, one)] == ["x"]
    assert files_of(out, other) == []
    load(tmp_path / "in", out, "--key", "a.`b.c`=id", "--rebuild", "a.`b.c`")
    assert [row["name"] for row in rows(out, other)] == ["y"]
    assert rows(out, one) == [{"id": 1, "name": "x", "amount": 1}]
    assert str(TableName.parse("a.`b.c`")) == "a.`b.c`"


@pytest.mark.parametrize("former", [["id"], []], ids=["another key before", "no key before"])
@pytest.mark.parametrize("small", [True, False], ids=["small", "shuffled"])
def test_rows_from_before_a_key_that_the_server_numbered_are_left_out_until_they_change(
    former: list[str], small: bool, tmp_path: Path, load: Load, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``ADD n INT AUTO_INCREMENT PRIMARY KEY`` numbers rows in an order that no log tells."""
    if not small:
        monkeypatch.setattr(run, "Options", partial(Options, small_bytes=0))
    server, each, at_once = Server(), tmp_path / "each", tmp_path / "at once"
    server.create(ORDERS, FIELDS, former)
    server.transaction(insert(1, "a"), insert(2, "b"), insert(3, "c"))
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", each)
    server.rotate()
    number = column_effect("n", pa.int32())
    effect = {
        "action": "altered", "db": "shop", "table": "orders", "key": ["n"],
        "columns": [*(column_effect(*field) for field in FIELDS), number],
        "changes": [{**number, "action": "added", "known": False}],
    }  # fmt: skip
    sql = f"ALTER TABLE orders {'DROP PRIMARY KEY, ' if former else ''}ADD n INT AUTO_INCREMENT PRIMARY KEY"
    server.versions[ORDERS] = Version((*FIELDS, ("n", pa.int32())), ("n",), sql, server.ddl(sql, effect))
    numbered = [(("n", place), row | {"n": place}) for place, row in enumerate(server.rows(ORDERS), 1)]
    server.tables[ORDERS] = {(row["n"],): row for _, row in numbered}
    server.transaction(
        ("update", ORDERS, (2,), {"name": "changed"}), ("insert", ORDERS, {"id": 4, "n": 4}),
        ("delete", ORDERS, (1,)),
    )  # fmt: skip
    server.export_all(tmp_path / "in")
    expected = [row for row in server.rows(ORDERS) if row["n"] != 3]
    for output in (each, at_once):
        for _ in range(2):
            code, summary = load(tmp_path / "in", output, "--scd2")
            [table] = summary["tables"]
            assert (code, table["error"]) == (3, None), table["error"]
        assert rows(output, ORDERS, ("n",)) == expected
        assert [reason for reason in table["reasons"] if "the key's column n" in reason] == [
            "the key's column n got a type or values that the logs do not tell for 3 earlier rows:"
            " each is left out until it changes; a newer base has them"
        ]
    found = table_at(str(tmp_path / "in"), "shop.orders", None)
    assert sorted(found.rows["n"].to_pylist()) == [2, 4]
    assert any("the key's column n" in reason for reason in found.missing)
    assert load(tmp_path / "in", each, "--accept-losses")[0] == 0
