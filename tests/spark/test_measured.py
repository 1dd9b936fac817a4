"""What the loader is measured with is a data set like any other, and what it is told is true."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb

from bench.changes import Shop
from tests.spark.conftest import Load, files_of


def test_the_measured_data_set_leads_to_the_rows_that_live(tmp_path: Path, load: Load) -> None:
    shop = Shop(10_000)
    for images in (4_000, 3_000):
        shop.write_log(tmp_path / "in", images)
        # Its logs begin without a CREATE TABLE.
        code, summary = load(tmp_path / "in", tmp_path / "out", "--verify", "--accept-losses")
        [table] = summary["tables"]
        assert (code, table["current"]) == (0, shop.rows)
    files = files_of(tmp_path / "out", ("bench", "orders"))
    found = duckdb.execute(f"SELECT id FROM read_parquet({files}) ORDER BY id")
    assert [number for (number,) in found.fetchall()] == [int(number) for number in shop.alive.nonzero()[0]]


def test_progress_never_runs_back_and_ends_at_all_of_it(tmp_path: Path, spark: Any) -> None:
    from binx.spark.lake.run import LoadOptions, load

    Shop(2_000).write_log(tmp_path / "in", 2_000)
    told: list[tuple[int, int]] = []
    options = LoadOptions((str(tmp_path / "in"),), str(tmp_path / "out"))
    load(options, lambda: nullcontext(spark), lambda done, total, _: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] > 0
