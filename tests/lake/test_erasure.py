"""``binx erase``: what is known of some keys is in no byte of an output any more."""

from __future__ import annotations

import json
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.cli.run import run
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import Server, renumbered
from tests.lake.test_state import ORDERS
from tests.live.lake.test_personal_data import canaries

FIELDS = [("id", pa.int32()), ("name", pa.string()), ("note", pa.string())]


def canary() -> str:
    return f"canary{secrets.token_hex(6)}"


@pytest.fixture
def server() -> Server:
    """A row whose key moves, one that is deleted, and others."""
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    bob = canary()
    server.transaction(
        *(("insert", ORDERS, {"id": one, "name": f"n{one}", "note": "x"}) for one in range(20))
    )
    server.transaction(("insert", ORDERS, {"id": 50, "name": bob, "note": canary()}))
    server.rotate()
    server.transaction(("update", ORDERS, (50,), {"id": 51}), ("update", ORDERS, (51,), {"note": canary()}))
    server.transaction(
        ("insert", ORDERS, {"id": 60, "name": bob, "note": canary()}), ("delete", ORDERS, (60,))
    )
    server.alter(ORDERS, "ALTER TABLE orders RENAME COLUMN name TO title, ADD more", [
        FIELDS[0], ("title", pa.string()), FIELDS[2], ("more", pa.string()),
    ], {"name": "title"})  # fmt: skip
    server.transaction(
        ("update", ORDERS, (3,), {"more": "yes"}), ("update", ORDERS, (51,), {"title": "away"})
    )
    server.bob = bob  # type: ignore[attr-defined]
    return server


@pytest.mark.parametrize("form", ["parquet", "delta"])
def test_all_that_was_logged_of_a_key_goes(
    server: Any, tmp_path: Path, load: Load, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    for log in server.logs:
        server.export(lake, log, whole=True)
        assert load(lake, out, "--scd2", "--format", form)[0] == 0
    assert canaries(out)
    condition = f"title = '{server.bob}'"
    assert run(["erase", str(out), "--table", "shop.orders", "--where", condition, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"keys": 3, "history": 9, "current": 1, "scd2": 3}
    assert canaries(out) == set()
    connection = duckdb.connect()
    connection.execute((out / "views.sql").read_text())
    for view in ("orders", "orders_history", "orders_versions"):
        ids = connection.execute(f"SELECT DISTINCT id FROM shop.{view} ORDER BY id").fetchall()
        assert [one for (one,) in ids] == list(range(20))
    [note] = json.loads((out / "_state.json").read_text())["erasures"]
    assert (note["table"], note["columns"], note["keys"]) == ("shop.orders", ["title"], 3)


def test_later_loads_and_rebuilding_go_on_from_what_is_left(server: Any, tmp_path: Path, load: Load) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    for log in server.logs:
        server.export(lake, log, whole=True)
    assert load(lake, out)[0] == 0
    assert run(["erase", str(out), "--table", "shop.orders", "--where", "id >= 50", "--quiet"]) == 0
    assert load(lake, out)[1]["changed"] is False
    server.rotate()
    server.transaction(("update", ORDERS, (4,), {"more": "later"}), ("insert", ORDERS, {"id": 70}))
    server.export(lake, server.logs[-1], whole=True)
    assert load(lake, out)[1]["tables"][0]["current"] == 21
    assert load(lake, out, "--rebuild", "shop.orders")[1]["tables"][0]["current"] == 21
    assert canaries(out) == set()


def test_older_rows_that_may_bring_an_erased_key_back_are_refused(
    server: Any, tmp_path: Path, load: Load
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    server.export(lake, server.logs[1], whole=True)
    load(lake, out)
    assert run(["erase", str(out), "--table", "shop.orders", "--where", "id >= 50", "--quiet"]) == 0
    state = (out / "_state.json").read_bytes()
    server.export(lake, server.logs[0], whole=True)
    code, answer = load(lake, out)
    assert (code, "keys of shop.orders were erased" in answer["error"]) == (1, True)
    assert (canaries(out), (out / "_state.json").read_bytes()) == (set(), state)


def test_what_a_replica_repeats_of_an_erased_key_is_not_loaded(
    server: Any, tmp_path: Path, load: Load
) -> None:
    out = tmp_path / "out"
    server.export_all(tmp_path / "primary", whole=True)
    assert load(tmp_path / "primary", out)[0] == 0
    assert run(["erase", str(out), "--table", "shop.orders", "--where", "id >= 50", "--quiet"]) == 0
    replica = Server(98)
    replica.logs, replica.versions = [renumbered(log, 7) for log in server.logs], server.versions
    replica.export_all(tmp_path / "replica", identity="00000000", base="replica-bin", whole=True)
    code, summary = load([tmp_path / "primary", tmp_path / "replica"], out, "--chain", "97")
    assert (code, summary["tables"][0]["loaded"], canaries(out)) == (0, 0, set())


def test_rows_of_a_renamed_table_go_even_if_it_is_truncated_since(
    server: Any, tmp_path: Path, load: Load
) -> None:
    """The rows that were logged under its former name, too."""
    server.rename((ORDERS, ("shop", "archive")))
    server.truncate(("shop", "archive"), "TRUNCATE archive")
    server.transaction(("insert", ("shop", "archive"), {"id": 99}))
    server.export_all(tmp_path / "lake", whole=True)
    out = tmp_path / "out"
    assert load(tmp_path / "lake", out)[0] == 0
    assert canaries(out)
    assert run(["erase", str(out), "--table", "shop.archive", "--where", "id >= 50", "--quiet"]) == 0
    assert canaries(out) == set()


def test_a_table_that_was_made_again_with_other_columns_is_erased_by_them(
    server: Any, tmp_path: Path, load: Load
) -> None:
    out = tmp_path / "out"
    server.drop(ORDERS)
    server.create(ORDERS, [("code", pa.string())], ["code"])
    secret = canary()
    server.transaction(("insert", ORDERS, {"code": secret}), ("insert", ORDERS, {"code": "kept"}))
    server.export_all(tmp_path / "lake", whole=True)
    assert load(tmp_path / "lake", out)[0] == 0
    assert run(["erase", str(out), "--table", "shop.orders", "--where", f"code = '{secret}'", "--quiet"]) == 0
    assert secret.encode() not in canaries(out)


def test_times_are_compared_as_servers_print_them(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server()
    server.create(ORDERS, [FIELDS[0], ("at", pa.timestamp("us"))], ["id"])
    half = datetime(2026, 11, 20, 9, 30, 0, 500_000)
    server.transaction(("insert", ORDERS, {"id": 1, "at": half}), ("insert", ORDERS, {"id": 2, "at": None}))
    server.export_all(tmp_path / "lake")
    assert load(tmp_path / "lake", tmp_path / "out")[0] == 0
    condition = "at LIKE '%:00.500000'"
    capsys.readouterr()
    assert (
        run(["erase", str(tmp_path / "out"), "--table", "shop.orders", "--where", condition, "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["keys"] == 1


@pytest.mark.parametrize(
    ("table", "condition", "code"),
    [("shop.nothing", "id = 1", 4), ("shop.orders", "nothing = 1", 4), ("shop.orders", "id =", 2)],
)
def test_what_is_not_there_changes_nothing(
    server: Any, tmp_path: Path, load: Load, table: str, condition: str, code: int
) -> None:
    server.export_all(tmp_path / "lake")
    assert load(tmp_path / "lake", tmp_path / "out")[0] == 0
    before = (tmp_path / "out/_state.json").read_bytes()
    assert run(["erase", str(tmp_path / "out"), "--table", table, "--where", condition]) == code
    assert run(["erase", str(tmp_path / "out"), "--table", "shop.orders", "--where", "id = 999"]) == 0
    assert (tmp_path / "out/_state.json").read_bytes() == before


def test_what_is_erased_forever_does_not_come_back(
    server: Any, tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    server.export_all(lake, whole=True)
    assert load(lake, out, "--scd2")[0] == 0
    words = ["erase", str(out), "--table", "shop.orders", "--where", f"title = '{server.bob}'"]
    assert run([*words, "--forever"]) == 0
    assert "bring them back" not in capsys.readouterr().err
    others = [row for row in server.rows(ORDERS) if row["id"] not in (51, 60, 61)]
    # A key comes back, moves to another one, and that one changes in a log of its own.
    again = canary()
    server.rotate()
    server.transaction(("insert", ORDERS, {"id": 60, "title": again, "note": "x"}))
    server.transaction(("update", ORDERS, (60,), {"id": 61}), ("update", ORDERS, (3,), {"more": "new"}))
    for _ in range(2):
        server.export(lake, server.logs[-1], whole=True)
        code, summary = load(lake, out, "--scd2")
        assert code == 0, summary
        rows = [row for file in files_of(out, ORDERS) for row in pq.read_table(file).to_pylist()]
        assert {row["id"] for row in rows} == {row["id"] for row in others}
        assert next(row["more"] for row in rows if row["id"] == 3) == "new"
        for kind in ("history", "scd2"):
            found = [
                pq.read_table(file, partitioning=None).to_pylist() for file in files_of(out, ORDERS, kind)
            ]
            assert not any(row["id"] in (51, 60, 61) for listed in found for row in listed)
        assert again not in (out / "_state.json").read_text("utf-8")
        server.rotate()
        server.transaction(("update", ORDERS, (61,), {"note": again}))
    assert run([*words[:-1], "id = 3"]) == 0
    assert "bring them back" in capsys.readouterr().err
