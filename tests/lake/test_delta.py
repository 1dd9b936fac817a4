"""``--format delta``: tables whose log Delta's own readers take, here delta-rs and polars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest

from binx.lake.place import LakeStore
from binx.lake.published import delta
from binx.lake.published.delta import publish
from binx.lake.state.output_folder import Output
from binx.lake.table_name import TableName
from tests.lake.conftest import Load, Loaded, files_of
from tests.lake.dataset import Name, Server
from tests.lake.test_commit import Killed, kill_at
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_state import FIELDS, ORDERS, insert, orders

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


def work(server: Server) -> Iterator[None]:
    """Work in pieces: rows, columns more, a wider type, a column less."""
    server.transaction(insert(1, "a", 1), insert(2, "b", 2), insert(3, "c", 3))
    yield
    server.rotate()
    fields = [*FIELDS, ("a note", pa.string())]
    server.alter(ORDERS, "ALTER TABLE orders ADD `a note` text", fields)
    server.transaction(("update", ORDERS, (1,), {"a note": "new"}), ("delete", ORDERS, (2,)))
    yield
    server.rotate()
    fields = [(name, pa.int64() if name in ("id", "amount") else kind) for name, kind in fields]
    fields.append(("due", pa.timestamp("us")))
    server.alter(
        ORDERS, "ALTER TABLE orders MODIFY id bigint, MODIFY amount bigint, ADD due datetime", fields
    )
    server.transaction(insert(4, "d", 1 << 40), ("update", ORDERS, (3,), {"name": "x"}))
    yield
    server.rotate()
    server.alter(ORDERS, "ALTER TABLE orders DROP `a note`", [one for one in fields if one[0] != "a note"])
    yield


def test_each_load_is_a_version_that_deltas_readers_take(tmp_path: Path, load: Load) -> None:
    server = orders()
    out = tmp_path / "out"
    states = []
    for number, _ in enumerate(work(server)):
        server.export_all(tmp_path / "in")
        code, summary = load(tmp_path / "in", out, "--format", "delta", "--scd2")
        assert code == 0, summary
        states.append([dict(row) for row in server.rows(ORDERS)])
        assert current(out) == states[-1]
        for kind in ("current", "scd2"):
            table = deltalake.DeltaTable(str(out / "shop/orders" / kind))
            # A column of times without a zone takes a version of its own, which lets the table have such.
            assert table.version() == number + (number >= 2)
            assert table.transaction_version("binx load") == number + 1
        frame = polars.read_delta(str(out / "shop/orders/current")).sort("id")
        assert frame.select(list(states[-1][0])).to_dicts() == states[-1]
    versions = [row for row in read(out, "scd2") if row["is_current"]]
    assert sorted(row["id"] for row in versions) == [1, 3, 4]
    assert load(tmp_path / "in", out, "--format", "delta", "--scd2")[1]["changed"] is False
    assert deltalake.DeltaTable(str(out / "shop/orders/current")).version() == 4


def test_files_have_statistics_by_which_readers_pass_over_them(tmp_path: Path, loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(7, "a", None), insert(9, "b", 2))
    loaded(server, "--format", "delta")
    table = deltalake.DeltaTable(str(tmp_path / "out/shop/orders/current"))
    [told] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert (told["num_records"], told["min.id"], told["max.id"], told["null_count.amount"]) == (2, 7, 9, 1)


def test_a_table_of_many_versions_has_checkpoints(
    tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_VERSIONS_A_CHECKPOINT", 2)
    server = orders()
    for number in range(4):
        server.transaction(insert(number))
        loaded(server, "--format", "delta")
        server.rotate()
    assert list((tmp_path / "out/shop/orders/current/_delta_log").glob("*.checkpoint.parquet"))
    assert [row["id"] for row in current(tmp_path / "out")] == list(range(4))


@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_readers_see_no_load_before_its_commit_and_the_next_load_shows_it(
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
    assert load(tmp_path / "in", out, "--format", "delta")[0] == 0
    assert current(out) == server.rows(ORDERS)


def test_an_output_becomes_delta_when_it_is_asked_for_and_follows_what_was_loaded_otherwise(
    tmp_path: Path, loaded: Loaded
) -> None:
    server = orders()
    for options in ([], ["--format", "delta"], [], ["--format", "delta"]):
        server.transaction(insert(len(server.logs)))
        loaded(server, *options)
        if options:
            assert current(tmp_path / "out") == server.rows(ORDERS)
        server.rotate()


def test_a_table_that_is_dropped_is_empty_and_a_new_one_of_its_name_is_another(
    tmp_path: Path, load: Load
) -> None:
    server = orders()
    server.transaction(insert(1))
    out = tmp_path / "out"
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", out, "--format", "delta")
    server.rotate()
    server.drop(ORDERS)
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", out, "--format", "delta")
    assert files_of(out, ORDERS) == []
    assert current(out) == []
    server.rotate()
    server.create(ORDERS, [("id", pa.string()), ("price", pa.float64())], ["id"])
    server.transaction(("insert", ORDERS, {"id": "a", "price": 1.5}))
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", out, "--format", "delta")
    assert current(out) == server.rows(ORDERS)


def test_a_table_that_was_stopped_does_not_take_the_place_of_the_one_that_has_its_name(
    tmp_path: Path, loaded: Loaded
) -> None:
    server = two_tables()
    loaded(server)
    place = LakeStore(str(tmp_path / "out"))
    state = Output(place).state
    lives = {tuple(one.name): one for one in state.lives.values()}
    stopped = replace(lives[OTHER], name=TableName(*ORDERS), folder=lives[ORDERS].folder)
    for listed in ([stopped, lives[ORDERS]], [lives[ORDERS], stopped]):
        state.lives = {one.life: one for one in listed}
        publish(state, place, ())
        found = {row["id"] for row in read(tmp_path / "out", "current")}
        assert found == {row["id"] for row in server.rows(ORDERS)}
