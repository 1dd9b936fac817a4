"""What of a table is kept: deleted rows with ``--soft-deletes``, days of history with ``--keep-history``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from binx.cli.main import run as run_command
from binx.spark.lake import run
from tests.spark.conftest import Load, Loaded, files_of
from tests.spark.dataset import Server, renumbered
from tests.spark.test_history import history
from tests.spark.test_state import FIELDS, ORDERS, insert, orders


def kept(output: Path, columns: str = "id, name, _deleted") -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.execute((output / "views.sql").read_text())
    return connection.execute(f"SELECT {columns} FROM shop.orders ORDER BY id").fetchall()


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("scd2", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_deleted_rows_stay_with_their_last_values(
    tmp_path: Path, load: Load, image: str, scd2: bool, at_once: bool
) -> None:
    server = orders(image=image)
    more = ["--soft-deletes", *(["--scd2"] if scd2 else [])]

    def export() -> None:
        server.export(tmp_path / "in", server.logs[-1], whole=True)
        server.rotate()
        if not at_once:
            # It is remembered.
            assert load(tmp_path / "in", tmp_path / "out", *(more if len(server.logs) == 2 else ()))[0] == 0

    server.transaction(insert(1, "a"), insert(2, "b"), insert(3, "c"), insert(4, "d"))
    export()
    server.transaction(("update", ORDERS, (2,), {"name": "bb"}), ("delete", ORDERS, (2,)))
    server.transaction(("delete", ORDERS, (3,)), ("update", ORDERS, (4,), {"id": 5}))
    export()
    server.transaction(insert(3, "again"), ("update", ORDERS, (1,), {"name": "aa"}))
    server.alter(ORDERS, "ALTER TABLE orders ADD more INT", [*FIELDS, ("more", pa.int32())])
    export()
    _, summary = load(tmp_path / "in", tmp_path / "out", *(more if at_once else ()))
    assert kept(tmp_path / "out") == [
        (1, "aa", False), (2, "bb", True), (3, "again", False), (4, "d", True), (5, "d", False),
    ]  # fmt: skip
    [table] = summary["tables"] if at_once else [{"current": 3}]
    assert table["current"] == 3
    if scd2:
        versions = f"read_parquet({files_of(tmp_path / 'out', ORDERS, 'scd2')})"
        found = duckdb.execute(f"SELECT id, is_current, count(*) FROM {versions} GROUP BY ALL ORDER BY ALL")
        assert found.fetchall() == [
            (1, False, 1), (1, True, 1), (2, False, 1), (3, False, 1), (3, True, 1),
            (4, False, 1), (5, True, 1),
        ]  # fmt: skip


def test_rows_that_are_kept_can_be_erased_and_a_table_can_begin_to_keep_them(
    tmp_path: Path, load: Load, loaded: Loaded
) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"), ("delete", ORDERS, (2,)))
    loaded(server)
    assert kept(tmp_path / "out", "id") == [(1,)]
    load(tmp_path / "in", tmp_path / "out", "--soft-deletes")
    assert kept(tmp_path / "out") == [(1, "a", False), (2, "b", True)]
    words = ["erase", str(tmp_path / "out"), "--table", "shop.orders", "--where", "id = 2", "--quiet"]
    assert run_command(words) == 0
    assert kept(tmp_path / "out") == [(1, "a", False)]


class Later(datetime):
    """A day behind those of the test's logs."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime(2026, 11, 23, tzinfo=UTC)


@pytest.fixture
def two_days(tmp_path: Path, load: Load, monkeypatch: pytest.MonkeyPatch) -> Server:
    """Rows of the 20th and the 21st, of which the first day's history has been removed."""
    monkeypatch.setattr(run, "datetime", Later)
    server = orders()
    for number in range(20):
        server.transaction(insert(number, f"n{number}"))
    server.export(tmp_path / "in", server.logs[0], whole=True)
    server.rotate()
    for more in ([], ["--keep-history", "2"]):
        code, summary = load(tmp_path / "in", tmp_path / "out", *more)
        assert (code, summary["changed"]) == (0, True)
    return server


def test_history_of_earlier_days_goes_and_loads_go_on(two_days: Server, tmp_path: Path, load: Load) -> None:
    out = tmp_path / "out"
    days = {str(day) for (day,) in history(out, "_commit_timestamp::DATE")}
    assert days == {"2026-11-21"}
    [gone] = json.loads((out / "_state.json").read_text())["garbage"]
    assert "commit_date=2026-11-20" in gone
    two_days.transaction(("update", ORDERS, (0,), {"name": "later"}), ("delete", ORDERS, (1,)))
    two_days.export(tmp_path / "in", two_days.logs[-1], whole=True)
    code, summary = load(tmp_path / "in", out, "--compact")
    assert (code, summary["tables"][0]["current"]) == (0, 19)
    assert not (out / gone).exists()
    assert kept(out, "id, name")[:2] == [(0, "later"), (2, "n2")]
    assert load(tmp_path / "in", out)[1]["changed"] is False
    assert run_command(["erase", str(out), "--table", "shop.orders", "--where", "id = 2", "--quiet"]) == 0
    assert kept(out, "id, name")[:2] == [(0, "later"), (3, "n3")]


@pytest.mark.parametrize("option", [("--rebuild", "shop.orders"), ("--scd2",), ("--soft-deletes",)])
def test_a_table_that_would_lose_rows_is_not_made_anew(
    two_days: Server, tmp_path: Path, load: Load, option: tuple[str, ...]
) -> None:
    code, summary = load(tmp_path / "in", tmp_path / "out", *option)
    assert (code, "--keep-history" in summary["tables"][0]["error"]) == (1, True)
    assert len(kept(tmp_path / "out", "id")) == 20
    assert load(tmp_path / "in", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("is_new", [True, False])
def test_what_a_replica_repeats_of_removed_history_is_not_taken_twice(
    two_days: Server, tmp_path: Path, load: Load, is_new: bool
) -> None:
    logs = two_days.logs[:1]
    if is_new:
        two_days.transaction(insert(99, "new"))
        logs = two_days.logs[1:]
    replica = Server(98)
    replica.logs, replica.versions = [renumbered(log, 7) for log in logs], two_days.versions
    replica.logs[0].versions = [(ORDERS, two_days.versions[ORDERS])]
    replica.export_all(tmp_path / "replica", identity="99999999", base="replica-bin", whole=True)
    code, summary = load([tmp_path / "in", tmp_path / "replica"], tmp_path / "out")
    if is_new:
        assert (code, summary["tables"][0]["current"]) == (0, 21)
    else:
        assert (code, "--keep-history" in summary["tables"][0]["error"]) == (1, True)
    assert len(kept(tmp_path / "out", "id")) == 20 + is_new
