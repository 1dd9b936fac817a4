"""What a load makes of random work and of cascades is what SELECT shows.

The same seeds as in ``test_differential``: ``make test-live SEED=… ROUNDS=…``.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.lake.options import LoadOptions
from binx.report.document import document
from binx.spark.load_run import load as run_load
from testdata.servers import MySQLServer, Server
from tests.live.logs import export_last
from tests.live.rounds import Round
from tests.live.tables_at_end import read_rows
from tests.live.test_differential import MOST_REPORTED, ROUNDS, SESSIONS, seed_of


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_the_tables_of_a_random_workload_are_what_select_shows(
    server: Server, number: int, tmp_path: Path, spark: Any
) -> None:
    def load(datasets: list[Path], output: Path) -> dict[str, Any]:
        options = LoadOptions(tuple(map(str, datasets)), str(output))
        return document("load", run_load(options, lambda: nullcontext(spark)))

    one = Round(server, server, seed_of(number), tmp_path, SESSIONS)
    one.record()
    differences = list(one.compare_load(load))
    report = "\n".join(differences[:MOST_REPORTED])
    assert not differences, f"SEED={one.seed} on {server.daemon}: {len(differences)} differences\n{report}"
    # Of many random rounds, one may have no table whose rows are all logged and without doubt.
    assert ROUNDS or one.counts["loaded tables"] > 0


TABLES = """
CREATE DATABASE keys_; USE keys_;
CREATE TABLE orders (id INT PRIMARY KEY);
CREATE TABLE line (id INT PRIMARY KEY, o INT, FOREIGN KEY (o) REFERENCES orders (id) ON DELETE CASCADE);
CREATE TABLE kept (id INT PRIMARY KEY, o INT, FOREIGN KEY (o) REFERENCES orders (id) ON UPDATE CASCADE);
INSERT INTO orders VALUES (1), (2), (3); INSERT INTO line VALUES (10, 1), (20, 2), (30, 2);
INSERT INTO kept VALUES (1, 3);
"""


def test_rows_that_went_with_others_are_gone_or_reported(server: Server, tmp_path: Path, spark: Any) -> None:
    lake, output = tmp_path / "lake", tmp_path / "tables"

    def load() -> dict[str, list[str]]:
        export_last(server, lake)
        done = run_load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
        return {
            table.table: table.reasons for table in done.tables if table.db == "keys_" and not table.accepted
        }

    server.sql("DROP DATABASE IF EXISTS keys_")
    server.flush_logs()
    server.sql(TABLES)
    assert load() == {}
    server.sql("DELETE FROM keys_.orders WHERE id = 2")
    losses = load()
    ids = [row["id"] for row in read_rows(output, ("keys_", "line"))]
    (count,) = server.query("SELECT COUNT(*) FROM keys_.line")
    assert count == ("1",)
    if isinstance(server, MySQLServer):
        assert (losses, ids) == ({}, [10])
    else:
        assert list(losses) == ["line"]
        assert "keys_.orders" in losses["line"][0]
        assert sorted(ids) == [10, 20, 30]
