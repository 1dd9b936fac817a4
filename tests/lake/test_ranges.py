"""``current/`` is divided into ranges of the key, and a load reads and rewrites those that it changes."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.lake.state.loaded_state import Options
from binx.spark import load_run as run
from tests.lake.conftest import Load, Loaded
from tests.lake.dataset import Name, Server
from tests.lake.test_state import Rows

ORDERS: Name = ("shop", "orders")
FIELDS = [("shop", pa.string()), ("id", pa.int32()), ("text", pa.string()), ("amount", pa.int64())]


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges of about a hundred rows, all through the shuffle."""
    monkeypatch.setattr(run, "Options", partial(Options, range_bytes=6000, small_bytes=0))


def ranges(output: Path) -> list[str]:
    """The files of ``current/``, in the order of the key."""
    [life] = json.loads((output / "_state.json").read_text())["lives"].values()
    return [one["path"] for one in life["ranges"]]


def work(server: Server, choose: random.Random, count: int) -> None:
    """Random transactions of a few changes each."""
    alive = server.tables[ORDERS]
    for _ in range(count):
        changes: list[Any] = []
        for _ in range(choose.randint(1, 5)):
            kind = choose.choice(["insert", "insert", "update", "move", "delete"])

            def change(kind: str = kind) -> tuple[Any, ...]:
                key = (choose.choice("abc"), choose.randint(0, 900))
                if kind == "insert" or not alive:
                    while key in alive:
                        key = (choose.choice("abc"), choose.randint(0, 9000))
                    return ("insert", ORDERS, {"shop": key[0], "id": key[1], "text": "x" * 20, "amount": 0})
                old = choose.choice(list(alive))
                if kind == "delete":
                    return ("delete", ORDERS, old)
                new: dict[str, Any] = {"amount": choose.randint(0, 9)}
                if kind == "move" and key not in alive:
                    new = {"shop": key[0], "id": key[1]} if choose.random() < 0.5 else new | {"shop": key[0]}
                    if (new["shop"], new.get("id", old[1])) in alive:
                        new = {"text": "moved"}
                return ("update", ORDERS, old, new)

            changes.append(change)
        server.transaction(*changes)


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.usefixtures("small_ranges")
def test_whatever_is_loaded_at_once_the_tables_are_those_of_the_server(
    image: str, tmp_path: Path, load: Load, rows: Rows
) -> None:
    choose = random.Random(image)
    server = Server(image=image)
    server.create(ORDERS, FIELDS, ["shop", "id"])
    for number in range(4):
        work(server, choose, 150 if number < 2 else 10)
        server.export(tmp_path / "in", server.logs[-1], per_file=120)
        code, summary = load(tmp_path / "in", tmp_path / "out", "--scd2")
        assert code == 0, summary
        assert rows(tmp_path / "out", ORDERS, ("shop", "id")) == rows_of(server)
        held = [row for row in rows(tmp_path / "out", ORDERS, ("shop", "id"), "scd2") if row["is_current"]]
        assert [{name: row[name] for name, _ in FIELDS} for row in held] == rows_of(server)
        server.rotate()
    assert len(ranges(tmp_path / "out")) > (3 if image == "FULL" else 1)
    load(tmp_path / "in", tmp_path / "once")
    assert rows(tmp_path / "once", ORDERS, ("shop", "id")) == rows_of(server)


def rows_of(server: Server) -> list[dict[str, Any]]:
    return sorted(server.rows(ORDERS), key=lambda row: repr((row["shop"], row["id"])))


@pytest.mark.usefixtures("small_ranges")
def test_a_load_writes_only_ranges_that_it_changes(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    numbers = list(range(1000))
    random.Random(1).shuffle(numbers)
    server.transaction(
        *[
            ("insert", ORDERS, {"shop": "a", "id": number, "text": "x" * 30, "amount": 0})
            for number in numbers
        ]
    )
    loaded(server)
    before = ranges(tmp_path / "out")
    server.rotate()
    server.transaction(("update", ORDERS, (5,), {"amount": 7}), ("insert", ORDERS, {"shop": "b", "id": 1001}))
    loaded(server)
    after = ranges(tmp_path / "out")
    assert len(before) > 5
    assert len(set(before) - set(after)) == len(set(after) - set(before)) == 2
    assert rows(tmp_path / "out", ORDERS) == sorted(server.rows(ORDERS), key=lambda row: repr((row["id"],)))
    found = [
        pq.read_table(tmp_path / "out" / path, partitioning=None).column("id").to_pylist() for path in after
    ]
    assert [number for listed in found for number in listed] == [*range(1000), 1001]


@pytest.mark.usefixtures("small_ranges")
def test_the_key_of_many_ranges_may_get_another_type(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows
) -> None:
    server = Server()
    fields = [("id", pa.int64()), ("text", pa.string())]
    server.create(ORDERS, fields, ["id"])
    for number in range(150):
        server.transaction(("insert", ORDERS, {"id": number, "text": "x" * 120}))
    loaded(server, "--scd2")
    assert len(ranges(tmp_path / "out")) > 2
    server.rotate()
    retyped = [("id", pa.string()), ("text", pa.string())]
    rows_before = {(str(key[0]),): row for key, row in server.tables[ORDERS].items()}
    server.alter(ORDERS, "ALTER TABLE orders MODIFY id VARCHAR(20)", retyped, convert={"id": str})
    server.tables[ORDERS] = {key: server.tables[ORDERS][(int(key[0]),)] for key in rows_before}
    server.transaction(("delete", ORDERS, ("7",)), ("update", ORDERS, ("8",), {"text": "new"}))
    code, summary = loaded(server, "--scd2")
    assert code == 0, summary
    assert rows(tmp_path / "out", ORDERS) == sorted(server.rows(ORDERS), key=lambda row: repr((row["id"],)))
    load(tmp_path / "in", tmp_path / "once", "--scd2")
    assert rows(tmp_path / "once", ORDERS) == rows(tmp_path / "out", ORDERS)


@pytest.mark.usefixtures("small_ranges")
def test_no_file_is_left_that_the_state_does_not_list(tmp_path: Path, loaded: Loaded) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    for number in range(300):
        server.transaction(("insert", ORDERS, {"shop": "a", "id": number, "text": "x" * 60, "amount": 0}))
    loaded(server, "--scd2")
    server.rotate()
    server.transaction(*[("delete", ORDERS, (number,)) for number in range(200)])
    retyped = [FIELDS[0], ("id", pa.int64()), *FIELDS[2:]]
    server.alter(ORDERS, "ALTER TABLE orders MODIFY id BIGINT", retyped)
    loaded(server, "--scd2")
    state = json.loads((tmp_path / "out/_state.json").read_text())
    [life] = state["lives"].values()
    listed = [one["path"] for one in (*life["ranges"], *life["closed"], *life["held"])]
    listed += [*(one["path"] for one in state["history"]), *state["garbage"]]
    out = tmp_path / "out"
    found = (str(path.relative_to(out)) for path in out.glob("[!_]*/**/*.parquet"))
    assert sorted(found) == sorted(listed)


def test_a_table_whose_key_no_log_names_any_more_keeps_its_rows_and_the_reason_claims_no_more(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id"])
    server.transaction(("insert", ORDERS, {"shop": "a", "id": 1, "text": "x", "amount": 0}))
    loaded(server)
    before = rows(tmp_path / "out", ORDERS)
    server.rotate()
    server.alter(ORDERS, "ALTER TABLE orders ADD note INT", [*FIELDS, ("note", pa.int32())])
    keyless = replace(server.versions[ORDERS], key=())
    server.versions[ORDERS] = keyless
    server.logs[-1].versions[-1] = (ORDERS, keyless)
    server.logs[-1].statements.clear()
    server.transaction(("insert", ORDERS, {"shop": "a", "id": 2, "text": "x", "amount": 0, "note": 1}))
    code, summary = loaded(server)
    (table,) = summary["tables"]
    assert code == 3
    assert any("the logs tell no primary key of it as it is now" in one for one in table["reasons"])
    assert rows(tmp_path / "out", ORDERS) == before
