"""``--format delta``: tables whose log Delta's own readers take, here delta-rs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.spark.conftest import Load
from tests.spark.dataset import Name, Server
from tests.spark.test_commit import Killed, kill_at
from tests.spark.test_history import logged
from tests.spark.test_state import FIELDS, ORDERS, insert, orders

deltalake = pytest.importorskip("deltalake")


def read(output: Path, kind: str, version: int | None = None, table: Name = ORDERS) -> list[dict[str, Any]]:
    """The rows of a Delta table, by delta-rs."""
    found = deltalake.DeltaTable(str(output / table[0] / table[1] / kind), version=version)
    rows: list[dict[str, Any]] = pa.table(found.to_pyarrow_table()).to_pylist()
    return rows


def current(output: Path, version: int | None = None) -> list[dict[str, Any]]:
    rows = [
        {name: value for name, value in row.items() if not name.startswith("_")}
        for row in read(output, "current", version)
    ]
    return sorted(rows, key=lambda row: row["id"])


def history(output: Path) -> list[tuple[Any, ...]]:
    rows = sorted(
        read(output, "history"),
        key=lambda row: (row["_commit_version"], row["_row"], row["_change_type"] != "update_preimage"),
    )
    return [(row["_change_type"], row["_commit_version"], row["_row"], row["name"]) for row in rows]


def work(server: Server) -> Iterator[None]:
    """Work in three pieces: rows, a column more, a column of times without a zone."""
    server.transaction(insert(1, "a", 1), insert(2, "b", 2), insert(3, "c", 3))
    yield
    server.rotate()
    fields = [*FIELDS, ("note", pa.string())]
    server.alter(ORDERS, "ALTER TABLE orders ADD note text", fields)
    server.transaction(("update", ORDERS, (1,), {"note": "new"}), ("delete", ORDERS, (2,)))
    yield
    server.rotate()
    server.alter(ORDERS, "ALTER TABLE orders ADD due datetime", [*fields, ("due", pa.timestamp("us"))])
    server.transaction(insert(4, "d", 4), ("update", ORDERS, (3,), {"name": "x"}))
    yield


def test_each_load_is_a_version_that_deltas_readers_take(tmp_path: Path, load: Load) -> None:
    server = orders()
    out = tmp_path / "out"
    states = []
    for number, _ in enumerate(work(server)):
        server.export_all(tmp_path / "in")
        code, _ = load(tmp_path / "in", out, "--format", "delta", "--scd2")
        assert code == 0
        states.append([dict(row) for row in server.rows(ORDERS)])
        assert current(out) == states[-1]
        assert history(out) == logged(server, "name")
        for kind in ("current", "history", "scd2"):
            table = deltalake.DeltaTable(str(out / "shop/orders" / kind))
            assert table.version() == number
            assert table.transaction_version("binx load") == number + 1
    assert current(out, version=1) == states[1]
    assert {row["commit_date"].isoformat() for row in read(out, "history")} == {"2026-11-20"}
    versions = [row for row in read(out, "scd2") if row["is_current"]]
    assert sorted(row["id"] for row in versions) == [1, 3, 4]
    assert all(row["valid_to"] is None for row in versions)
    assert load(tmp_path / "in", out, "--format", "delta", "--scd2")[1]["changed"] is False
    assert deltalake.DeltaTable(str(out / "shop/orders/current")).version() == 2


@pytest.mark.parametrize("step", range(3, 12, 2))
def test_readers_see_no_load_before_its_commit_and_each_one_after(
    step: int, tmp_path: Path, load: Load
) -> None:
    server = orders()
    work_done = work(server)
    next(work_done)
    server.export_all(tmp_path / "in")
    out = tmp_path / "out"
    load(tmp_path / "in", out, "--format", "delta")
    before = current(out)
    next(work_done)
    server.export_all(tmp_path / "in")
    with pytest.MonkeyPatch.context() as patch:
        kill_at(step, patch)
        with pytest.raises(Killed):
            load(tmp_path / "in", out, "--format", "delta")
    committed = json.loads((out / "_state.json").read_text())["version"]
    assert current(out) == before or committed == 2
    code, _ = load(tmp_path / "in", out, "--format", "delta")
    assert code == 0
    assert current(out) == server.rows(ORDERS)
    assert history(out) == logged(server, "name")
    for kind in ("current", "history"):
        assert deltalake.DeltaTable(str(out / "shop/orders" / kind)).version() == 1


def test_addresses_of_hadoop_get_the_same_log(tmp_path: Path, load: Load) -> None:
    server = orders()
    for _ in work(server):
        server.export_all(tmp_path / "in")
        assert load(tmp_path / "in", (tmp_path / "out").as_uri(), "--format", "delta")[0] == 0
    assert current(tmp_path / "out") == server.rows(ORDERS)
    assert history(tmp_path / "out") == logged(server, "name")


def test_a_table_that_another_program_wrote_to_is_left_alone(tmp_path: Path, load: Load) -> None:
    server = orders()
    pieces = work(server)
    next(pieces)
    server.export_all(tmp_path / "in")
    out = tmp_path / "out"
    load(tmp_path / "in", out, "--format", "delta")
    deltalake.DeltaTable(str(out / "shop/orders/current")).delete("id = 1")
    next(pieces)
    server.export_all(tmp_path / "in")
    code, answer = load(tmp_path / "in", out, "--format", "delta")
    assert code == 1
    assert "another program has written to the Delta table" in answer["error"]
    assert json.loads((out / "_state.json").read_text())["version"] == 1


def test_what_delta_cannot_hold_is_refused_before_it_is_written(tmp_path: Path, load: Load) -> None:
    server = orders()
    server.transaction(insert(1))
    server.export_all(tmp_path / "in")
    out = tmp_path / "out"
    load(tmp_path / "in", out, "--format", "delta")
    server.rotate()
    wide = [(name, pa.int64() if name == "amount" else kind) for name, kind in FIELDS]
    server.alter(ORDERS, "ALTER TABLE orders MODIFY amount bigint", wide)
    server.transaction(insert(2, amount=1 << 40))
    server.export_all(tmp_path / "in")
    code, answer = load(tmp_path / "in", out, "--format", "delta")
    assert (code, "amount is bigint now and int in the Delta table" in answer["error"]) == (1, True)
    anew = tmp_path / "anew"
    assert load(tmp_path / "in", anew, "--format", "delta")[0] == 0
    assert current(anew) == server.rows(ORDERS)

    server = Server()
    server.create(ORDERS, [("id", pa.int32()), ("a name", pa.string())], ["id"])
    server.transaction(("insert", ORDERS, {"id": 1, "a name": "x"}))
    server.export_all(tmp_path / "named")
    code, answer = load(tmp_path / "named", tmp_path / "other", "--format", "delta")
    assert (code, "'a name'" in answer["error"]) == (1, True)


def test_an_output_keeps_its_format(tmp_path: Path, load: Load) -> None:
    server = orders()
    server.transaction(insert(1))
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", tmp_path / "out", "--format", "delta")
    code, answer = load(tmp_path / "in", tmp_path / "out")
    assert (code, "tables of the format delta" in answer["error"]) == (2, True)
