"""What operators watch: lag, rows, losses, files and bytes of each table, as JSON, metrics and a table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from binx.cli.run import run
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import Server
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_state import ORDERS, insert, orders

SAMPLE = re.compile(r'^(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[\d.e+]+)$')
"""A line of Prometheus's text format that is no comment."""


def status(capsys: pytest.CaptureFixture[str], *words: Path | str) -> dict[str, Any]:
    code = run(["load", "--status", *map(str, words), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == code
    return found


def samples(path: Path) -> dict[str, float]:
    found = {}
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


def test_lag_is_what_the_data_set_has_and_no_load_has_read(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake, tables = two_tables(), tmp_path / "in", tmp_path / "out"
    server.export_all(lake, whole=True)
    code, summary = load(lake, tables)
    assert code == 0, summary
    loaded = status(capsys, tables)
    newest = loaded["loaded_until"]
    assert (loaded["behind_seconds"], loaded["new_manifests"]) == (0, 0)
    assert max(table["loaded_until"] for table in loaded["tables"]) == newest
    server.rotate()
    server.transaction(insert(50, "later"), insert(51, "later"))
    server.export(lake, server.logs[-1], whole=True)
    behind = status(capsys, tables)
    # The tables' transactions are seven minutes apart.
    assert (behind["loaded_until"], behind["behind_seconds"], behind["new_manifests"]) == (newest, 420, 1)
    assert behind["data_sets"][0]["data_set_until"] > newest
    waiting = {(table["db"], table["table"]): table["waiting_rows"] for table in behind["tables"]}
    assert waiting == {ORDERS: 2, OTHER: 0}
    load(lake, tables)
    assert status(capsys, tables)["behind_seconds"] == 0
    # Exported again, with nothing new, and then a log that has grown.
    server.export_all(lake, whole=True)
    again = status(capsys, tables)
    assert (again["behind_seconds"], {table["waiting_rows"] for table in again["tables"]}) == (0, {0})
    server.transaction(insert(52, "later"))
    server.export_all(lake, whole=True)
    assert status(capsys, tables)["behind_seconds"] == 420


def test_a_table_that_a_load_left_out_lags_from_its_first_log(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake, tables = two_tables(), tmp_path / "in", tmp_path / "out"
    server.export_all(lake, whole=True)
    load(lake, tables)
    for number in (60, 61):
        server.rotate()
        server.transaction(insert(number))
    server.export_all(lake, whole=True)
    load(lake, tables, "--table", ".".join(OTHER))
    left_out = next(table for table in status(capsys, tables)["tables"] if table["table"] == ORDERS[1])
    assert (left_out["waiting_rows"], left_out["behind_seconds"]) == (2, 420)
    assert left_out["waiting_since"] > left_out["loaded_until"]


def test_files_and_bytes_are_those_that_count(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake, tables = orders(), tmp_path / "in", tmp_path / "out"
    for number in range(2):
        server.transaction(insert(number, "a"), ("update", ORDERS, (number,), {"name": "b"}))
        server.export_all(lake, whole=True)
        load(lake, tables, "--scd2")
        server.rotate()
        # What was there before is still in its history.
        server.truncate(ORDERS, "TRUNCATE orders")
    [table] = status(capsys, tables)["tables"]
    for kind in ("current", "history", "scd2"):
        files = files_of(tables, ORDERS, kind)
        attribute = "version" if kind == "scd2" else kind
        assert table[f"{attribute}_files"] == len(files) > 0
        assert table[f"{attribute}_bytes"] == sum(Path(file).stat().st_size for file in files)


def test_a_data_set_that_is_elsewhere_is_said(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake, tables = orders(), tmp_path / "in", tmp_path / "out"
    server.transaction(insert(1))
    server.export_all(lake, whole=True)
    load(lake, tables)
    lake.rename(tmp_path / "elsewhere")
    [data_set] = status(capsys, tables)["data_sets"]
    assert "_manifest" in data_set["error"]
    assert run(["load", "--status", str(tables)]) == 0
    assert "whether all of it is loaded is not known" in capsys.readouterr().out


def test_metrics_are_read_by_prometheus(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, lake, tables, metrics = Server(), tmp_path / "in", tmp_path / "out", tmp_path / "binx.prom"
    strange = ("shop", 'a "b"\\\nc')
    for name in (ORDERS, strange):
        server.create(name, [("id", pa.int32())], ["id"])
        server.transaction(("insert", name, {"id": 1}))
    server.export_all(lake, whole=True)
    load(lake, tables)
    assert run(["load", "--status", str(tables), "--metrics", str(metrics)]) == 0
    found = samples(metrics)
    labels = '{db="shop",table="orders"}'
    assert found[f"binx_table_rows{labels}"] == 1
    assert found[f"binx_table_complete{labels}"] == 1
    assert found['binx_table_files{db="shop",table="orders",kind="current"}'] == 1
    assert found['binx_table_rows{db="shop",table="a \\"b\\"\\\\\\nc"}'] == 1
    assert found["binx_lag_seconds"] == 0
    assert "binx_load_exit_code" not in found


def test_a_load_that_fails_says_so_in_its_metrics(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = tmp_path / "binx.prom"
    missing = [str(tmp_path / "nothing"), "--output", str(tmp_path / "out"), "--metrics", str(metrics)]
    code = run(["load", *missing])
    assert code != 0
    assert samples(metrics)["binx_load_exit_code"] == code
    assert samples(metrics).keys() == {
        "binx_load_exit_code",
        "binx_load_end_timestamp_seconds",
        "binx_load_duration_seconds",
    }


def test_loads_are_a_table(tmp_path: Path, load: Load, spark: Any) -> None:
    server, lake, tables = two_tables(), tmp_path / "in", tmp_path / "out"
    server.export_all(lake, whole=True)
    load(lake, tables)
    server.rotate()
    server.transaction(insert(70), ("delete", ORDERS, (70,)))
    server.export_all(lake, whole=True)
    load(lake, tables)
    load(lake, tables)
    sql = "SELECT load, db, `table`, inserts, deletes FROM _loads WHERE load = 2"
    with duckdb.connect() as connection:
        connection.execute((tables / "views.sql").read_text("utf-8"))
        counts = connection.execute("SELECT load, count(*) FROM _loads GROUP BY 1 ORDER BY 1").fetchall()
        assert counts == [(1, 2), (2, 1)]
        assert connection.execute(sql.replace("`", '"')).fetchall() == [(2, *ORDERS, 1, 1)]
    for statement in (tables / "views.spark.sql").read_text("utf-8").split(";\n"):
        if statement.strip():
            spark.sql(statement)
    assert [tuple(row) for row in spark.sql(sql).collect()] == [(2, *ORDERS, 1, 1)]
