"""The tables that Spark makes of a random workload's logs are those that SELECT shows.

The same seeds as in ``test_differential``: ``make test-live SEED=… ROUNDS=…``.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.spark.lake.run import LoadOptions
from binx.spark.lake.run import load as run_load
from testdata.servers import Server
from tests.live.rounds import Round
from tests.live.test_differential import MOST_REPORTED, ROUNDS, SESSIONS, seed_of
from tests.spark.conftest import spark  # noqa: F401 - a fixture


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_the_tables_of_a_random_workload_are_what_select_shows(
    server: Server,
    number: int,
    tmp_path: Path,
    spark: Any,  # noqa: F811 - the fixture
) -> None:
    def load(datasets: list[Path], output: Path) -> dict[str, Any]:
        options = LoadOptions(tuple(map(str, datasets)), str(output))
        return run_load(options, lambda: nullcontext(spark)).to_json()

    one = Round(server, server, seed_of(number), tmp_path, SESSIONS)
    one.record()
    differences = list(one.compare_load(load))
    report = "\n".join(differences[:MOST_REPORTED])
    assert not differences, f"SEED={one.seed} on {server.daemon}: {len(differences)} differences\n{report}"
    assert one.counts["loaded tables"] > 0
