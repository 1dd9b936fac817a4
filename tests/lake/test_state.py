"""``current/`` is what the server would answer to SELECT."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx import BinxWarning, query
from binx.lake.at_moment import table_at
from binx.lake.status import load_status
from tests.lake.conftest import Load, Loaded
from tests.lake.dataset import Name, Server

Rows = Callable[..., list[dict[str, Any]]]
ORDERS: Name = ("shop", "orders")
FIELDS = [("id", pa.int32()), ("name", pa.string()), ("amount", pa.int32())]


def orders(**options: Any) -> Server:
    server = Server(**options)
    server.create(ORDERS, FIELDS, ["id"])
    return server


def insert(number: int, name: str | None = None, amount: int | None = None) -> tuple[Any, ...]:
    return ("insert", ORDERS, {"id": number, "name": name, "amount": amount})


def test_the_last_image_of_a_key_wins(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"), insert(3, "c"))
    server.transaction(("update", ORDERS, (1,), {"name": "x"}), ("update", ORDERS, (1,), {"name": "y"}))
    server.transaction(("delete", ORDERS, (2,)), insert(2, "again"), ("delete", ORDERS, (3,)))
    code, summary = loaded(server)
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    [table] = summary["tables"]
    assert (table["listed"], table["loaded"], table["current"]) == (10, 10, 2)
    assert (table["inserts"], table["updates"], table["deletes"]) == (4, 2, 2)


def change(server: Server, choose: random.Random) -> tuple[Any, ...]:
    """A change that the server's rows allow."""
    held = list(server.tables[ORDERS])
    free = [(number,) for number in range(30) if (number,) not in server.tables[ORDERS]]
    kind = choose.choice(["insert", "update", "update", "move", "delete"])
    columns = [name for name in server.versions[ORDERS].columns if name not in ("id", "key")]
    values: dict[str, Any] = {
        name: choose.choice([None, 1, 2, 3])
        for name in choose.sample(columns, k=choose.randint(1, len(columns)))
    }
    for name, type_ in server.versions[ORDERS].fields:
        if name in values and pa.types.is_string(type_) and values[name] is not None:
            values[name] = f"v{values[name]}"
    if free and (kind == "insert" or not held):
        return ("insert", ORDERS, {server.versions[ORDERS].key[0]: choose.choice(free)[0], **values})
    key = choose.choice(held)
    if kind == "delete":
        return ("delete", ORDERS, key)
    if kind == "move" and free:
        more = values if choose.random() < 0.5 else {}
        return ("update", ORDERS, key, {server.versions[ORDERS].key[0]: choose.choice(free)[0], **more})
    return ("update", ORDERS, key, values)


def work(server: Server, choose: random.Random, transactions: int) -> None:
    """Random transactions; each change is made from the rows that the one before left."""
    for _ in range(transactions):
        server.transaction(*[lambda: change(server, choose) for _ in range(choose.randint(1, 5))])


ALTERATIONS: list[tuple[str, list[tuple[str, pa.DataType]], dict[str, str]]] = [
    ("ALTER TABLE orders ADD note text", [*FIELDS, ("note", pa.string())], {}),
    (
        "ALTER TABLE orders CHANGE `name` title varchar(9), MODIFY amount bigint",
        [("id", pa.int32()), ("title", pa.string()), ("amount", pa.int64()), ("note", pa.string())],
        {"name": "title"},
    ),
    (
        "ALTER TABLE orders DROP COLUMN note",
        [("id", pa.int32()), ("title", pa.string()), ("amount", pa.int64())],
        {},
    ),
    (
        "ALTER TABLE orders RENAME COLUMN id TO `key`, ADD COLUMN note varchar(5) AFTER id",
        [("key", pa.int32()), ("note", pa.string()), ("title", pa.string()), ("amount", pa.int64())],
        {"id": "key"},
    ),
]


@pytest.mark.parametrize("seed", [1, 2])
def test_random_work_in_random_pieces_comes_to_the_servers_rows(
    seed: int, tmp_path: Path, load: Load, rows: Rows
) -> None:
    """Changes of rows, keys and columns, full and partial images, repeated exports, logs in any order."""
    choose = random.Random(seed)
    server = orders()
    alterations = list(ALTERATIONS)
    for _ in range(5):
        work(server, choose, 12)
        server.image = choose.choice(["FULL", "MINIMAL"]) if seed != 1 else "FULL"
        if alterations and choose.random() < 0.6:
            sql, fields, renamed = alterations.pop(0)
            server.alter(ORDERS, sql, fields, renamed)
        elif choose.random() < 0.2:
            server.truncate(ORDERS)
        work(server, choose, 8)
        server.rotate()
    pieces = []
    for log in server.logs:
        scns = [image.scn for image in log.images]
        if not scns:
            continue
        middle = choose.choice(scns)
        for number, (first, last) in enumerate([(0, 1 << 62), (0, middle), (middle, 1 << 62)]):
            folder = tmp_path / f"piece-{log.number}-{number}"
            whole, per_file = choose.random() < 0.7, choose.choice([5, 20, 1000])
            server.export(folder, log, first=first, last=last, per_file=per_file, whole=whole)
            pieces.append(folder)
    choose.shuffle(pieces)
    third = len(pieces) // 3
    for batch in (pieces[:third], pieces[third : 2 * third], pieces):
        code, summary = load(batch, tmp_path / "out")
        # Before all logs are there, the beginning of the table may be missing.
        assert code in (0, 3), summary
    assert code == 0, summary
    key = server.versions[ORDERS].key
    assert rows(tmp_path / "out", ORDERS, key) == server.rows(ORDERS)
    server.export_all(tmp_path / "all")
    load(tmp_path / "all", tmp_path / "once")
    assert rows(tmp_path / "once", ORDERS, key) == server.rows(ORDERS)


def test_a_given_key_is_remembered(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, [])
    for number, options in enumerate([["--key", "shop.orders=ID"], [], []]):
        server.transaction(insert(number))
        assert loaded(server, *options)[0] == 0
        server.rotate()
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def test_rows_that_share_a_given_key_are_reported(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, [])
    server.transaction(insert(1, "a"), insert(2, "b"))
    assert loaded(server, "--key", "shop.orders=name")[0] == 0
    server.rotate()
    server.transaction(insert(3, "b"), insert(4, "c"))
    code, summary = loaded(server)
    [reason] = summary["tables"][0]["reasons"]
    assert code == 3
    assert reason.startswith("row changes that do not fit the rows before them: 1; ")
    assert reason.endswith(", or several rows have the same key of --key, and one of them is kept")
    assert [row["id"] for row in rows(tmp_path / "out", ORDERS)] == [1, 3, 4]
    state = table_at(str(tmp_path / "in"), "shop.orders", None, ("name",))
    assert (state.missing, state.rows.num_rows) == ([reason], 3)


def test_a_given_key_follows_renamed_columns_and_is_a_loss_without_them(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, [])
    server.transaction(insert(1))
    assert loaded(server, "--key", "shop.orders=id")[0] == 0
    fields = [("number", pa.int32()), *FIELDS[1:]]
    server.alter(ORDERS, "ALTER TABLE orders RENAME COLUMN id TO number", fields, {"id": "number"})
    server.transaction(("insert", ORDERS, {"number": 2, "name": None, "amount": None}))
    server.rotate()
    assert loaded(server)[0] == 0
    assert rows(tmp_path / "out", ORDERS, ("number",)) == server.rows(ORDERS)
    server.alter(ORDERS, "ALTER TABLE orders DROP COLUMN number", FIELDS[1:])
    server.rotate()
    code, summary = loaded(server)
    assert (code, summary["tables"][0]["reasons"]) == (
        3,
        ["it has no columns id, which --key gave as its key"],
    )
    with pytest.warns(BinxWarning, match="shop.orders is incomplete: it has no columns id"):
        assert query("SELECT count(*) AS n FROM shop.orders", tmp_path / "out").to_pylist() == [{"n": 2}]


@pytest.mark.parametrize(
    ("key", "given", "code", "message"),
    [
        ([], "shop.orders=id,nmae", 4, "--key: shop.orders has no column nmae; did you mean name?"),
        (["id"], "shop.orders=nmae", 4, "--key: shop.orders has no column nmae; did you mean name?"),
        (["id"], "shop.orders=name", 2, "rows of shop.orders are told apart by its key id: leave out --key"),
        (["id"], "shop.orders=ID", 0, ""),
        ([], "shop.ordres=id", 4, "the data contains only shop.orders; did you mean shop.orders?"),
    ],
)
def test_a_key_that_a_table_cannot_have_is_refused(
    tmp_path: Path, loaded: Loaded, key: list[str], given: str, code: int, message: str
) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, key)
    server.transaction(insert(1))
    ended, answer = loaded(server, "--key", given)
    assert (ended, message in answer.get("error", "")) == (code, True)
    assert (tmp_path / "out" / "_state.json").exists() == (code == 0)


def test_a_table_that_is_left_out_is_not_rebuilt(tmp_path: Path, loaded: Loaded) -> None:
    server = orders()
    server.create(("shop", "visits"), FIELDS, ["id"])
    server.transaction(insert(1), ("insert", ("shop", "visits"), {"id": 1}))
    code, answer = loaded(server, "--table", "shop.visits", "--rebuild", "shop.orders")
    assert (code, answer) == (2, {"error": "--rebuild shop.orders: --table leaves it out"})


def test_what_happened_to_a_table_while_another_one_was_loaded_is_made_up_for(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows
) -> None:
    """The statement that lets a prepared transaction's rows hold is taken with any table."""
    other: Name = ("shop", "visits")
    server = orders()
    server.create(other, FIELDS, ["id"])
    server.transaction(insert(1), ("insert", other, {"id": 1}))
    end = server.xa("X'61',X'',1", insert(2), ("delete", ORDERS, (1,)))
    loaded(server)
    server.rotate()
    end("COMMIT")
    server.transaction(("insert", other, {"id": 2}))
    loaded(server, "--table", "shop.visits")
    code, _ = load(tmp_path / "in", tmp_path / "out")
    assert code == 0
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    server.rotate()
    server.transaction(insert(3))
    loaded(server)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


def complete(output: Path) -> list[str]:
    return [table.completeness for table in load_status(str(output)).tables]


def test_a_table_whose_beginning_the_logs_lack_is_partial_until_a_log_has_it(
    tmp_path: Path, load: Load
) -> None:
    server = orders()
    server.transaction(insert(1))
    server.rotate()
    server.transaction(insert(2))
    server.export(tmp_path / "later", server.logs[1])
    for _ in range(2):
        # Also where nothing is new.
        code, summary = load(tmp_path / "later", tmp_path / "out")
        assert (code, complete(tmp_path / "out")) == (3, ["partial (no base, no CREATE)"])
        assert "no base, no CREATE" in summary["tables"][0]["reasons"][0]
    assert load(tmp_path / "later", tmp_path / "out", "--accept-losses")[0] == 0
    assert complete(tmp_path / "out") == ["partial (no base, no CREATE)"]
    assert load(tmp_path / "later", tmp_path / "out")[0] == 0
    server.export_all(tmp_path / "all")
    code, _ = load(tmp_path / "all", tmp_path / "out")
    assert (code, complete(tmp_path / "out")) == (0, ["yes"])


def test_a_log_that_is_missing_between_others_is_said_until_it_comes(
    tmp_path: Path, load: Load, rows: Rows
) -> None:
    server = orders()
    server.transaction(insert(1))
    for number in (2, 3):
        server.rotate()
        server.transaction(insert(number))
    for log in (server.logs[0], server.logs[2]):
        server.export(tmp_path / "lake", log)
    for _ in range(2):
        code, summary = load(tmp_path / "lake", tmp_path / "out")
        assert code == 3
        [reason] = summary["tables"][0]["reasons"]
        assert "mysql-bin.000001 and mysql-bin.000003 were never exported" in reason
    assert load(tmp_path / "lake", tmp_path / "out", "--accept-losses")[0] == 0
    server.export(tmp_path / "lake", server.logs[1])
    code, summary = load(tmp_path / "lake", tmp_path / "out")
    assert (code, summary["losses"]) == (0, [])
    assert {row["id"] for row in rows(tmp_path / "out", ORDERS)} == {1, 2, 3}


def test_what_selections_left_out_is_said_until_a_whole_export_has_it(tmp_path: Path, load: Load) -> None:
    server = orders()
    users = ("shop", "users")
    server.create(users, FIELDS, ["id"])
    for number in range(3):
        server.transaction(insert(number), ("insert", users, {"id": number}))
        server.transaction(insert(number + 10))
        server.rotate()
    first, second, third, _ = server.logs
    server.export(tmp_path / "lake", first, whole=True)
    late = second.images[-1].scn
    server.export(tmp_path / "lake", second, first=late, selection={"since": "2026-11-20T23:30:00"})
    server.export(tmp_path / "lake", third, selection={"tables": ["shop.orders"]})
    for _ in range(2):
        code, summary = load(tmp_path / "lake", tmp_path / "out")
        told = {table["table"]: (table["completeness"], table["reasons"]) for table in summary["tables"]}
        in_part = (
            "1 log was exported without some of its row changes, or without statements that may be about"
            " it: mysql-bin.000002"
        )
        assert (code, told) == (
            3,
            {
                "orders": ("partial", [in_part]),
                "users": (
                    "partial",
                    [in_part, "1 log was exported without this table: mysql-bin.000003"],
                ),
            },
        )
    assert table_at(str(tmp_path / "lake"), "shop.orders", None).missing == [in_part]
    server.export_all(tmp_path / "lake", whole=True)
    code, summary = load(tmp_path / "lake", tmp_path / "out")
    assert (code, {table["completeness"] for table in summary["tables"]}) == (0, {"yes"})
    server.export(tmp_path / "other", third, selection={"tables": ["shop.orders"]})
    assert load(tmp_path / "other", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("gone", [("delete", ORDERS, (1,)), ("update", ORDERS, (1,), {"id": 2})])
def test_a_row_whose_insert_is_in_no_log_has_nothing_of_the_one_before_it(
    gone: tuple[Any, ...], tmp_path: Path
) -> None:
    """As where the log with the INSERT is missing, and an update has only the column that it changed."""
    server = orders(image="MINIMAL")
    server.transaction(insert(1, "former", 1))
    server.transaction(gone)
    server.rotate()
    server.transaction(insert(1, "lost", 2))
    server.rotate()
    server.transaction(("update", ORDERS, (1,), {"amount": 3}))
    for log in (server.logs[0], server.logs[2]):
        server.export(tmp_path, log, whole=True)
    found = {row["id"]: row for row in table_at(str(tmp_path), "shop.orders", None).rows.to_pylist()}
    assert (found[1]["name"], found[1]["amount"], found[1]["_unknown"]) == (None, 3, ["name"])
    assert found.get(2, {"name": "former"})["name"] == "former"
