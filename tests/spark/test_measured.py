"""What the loader is measured with is a data set like any other, and what it is told is true."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from bench.changes import Shop
from tests.spark.conftest import Load


def test_the_measured_data_set_leads_to_the_rows_that_live(tmp_path: Path, load: Load) -> None:
    shop = Shop(10_000)
    for images in (4_000, 3_000):
        shop.write_log(tmp_path / "in", images)
        # Its logs begin without a CREATE TABLE.
        code, summary = load(tmp_path / "in", tmp_path / "out", "--verify", "--partial")
        [table] = summary["tables"]
        assert (code, table["current"]) == (0, shop.rows)
    found = duckdb.execute(f"SELECT id FROM '{tmp_path}/out/bench/orders/current/*.parquet' ORDER BY id")
    assert [number for (number,) in found.fetchall()] == [int(number) for number in shop.alive.nonzero()[0]]


def test_progress_never_runs_back_and_ends_at_all_of_it(tmp_path: Path, spark: Any) -> None:
    from binx.spark.loading.arguments import parse_arguments
    from binx.spark.loading.run import load_tables

    Shop(2_000).write_log(tmp_path / "in", 2_000)
    told: list[tuple[int, int]] = []
    tell: Callable[[int, int, str], None] = lambda done, total, _: told.append((done, total))  # noqa: E731
    load_tables(
        spark, parse_arguments(["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]), tell
    )
    assert told == sorted(told)
    size = sum(path.stat().st_size for path in (tmp_path / "in/changes").rglob("*.parquet"))
    assert told[-1] == (2 * size, 2 * size)
