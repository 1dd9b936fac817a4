"""``binx load`` killed at random moments, again and again: the end is that of the undisturbed runs.

``KILLS=30 pytest tests/live/test_load_kills.py`` kills so many loads; without KILLS there are three. Half of
the kills leave Spark's Java alone for as long as it takes to notice, so that the next load meets it.
``FORMAT=delta`` makes Delta tables. Loads that are to be killed are processes of their own; what comes before
and behind them shares one session, which a load takes most of its time to start.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import pytest

from binx.spark.loading.arguments import parse_arguments
from binx.spark.loading.run import load_tables
from tests.spark.conftest import spark  # noqa: F401 - a fixture
from tests.spark.test_state import ORDERS, orders, work

pytest.importorskip("pyspark")

KILLS = int(os.environ.get("KILLS") or 3)
SEED = os.environ.get("SEED") or "1"
FORMAT = os.environ.get("FORMAT") or "parquet"
_LOADS = 3


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The data set as it grows: each stage has one log more, and the last of before has grown."""
    choose = random.Random(SEED)
    server = orders()
    folders = []
    for stage in range(_LOADS):
        work(server, choose, 30)
        folder = tmp_path_factory.mktemp(f"stage{stage}")
        server.export_all(folder, per_file=40, whole=True)
        folders.append(folder)
        work(server, choose, 10)
        server.rotate()
    return folders


def begin(dataset: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a load that may be killed."""
    command = [sys.executable, "-m", "binx", "load", str(dataset), "-o", str(output)]
    command += ["--scd2", "--quiet", "--format", FORMAT]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def works_until(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a load comes to its end within a time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def staged(output: Path) -> set[str]:
    """What loads have begun to write, or had when they were killed."""
    try:
        return {path.name for path in (output / "_staging").iterdir()}
    except FileNotFoundError:
        return set()


def finish(session: Any, dataset: Path, output: Path) -> None:
    """Load to the end."""
    given = ["--input", str(dataset), "--output", str(output), "--scd2", "--format", FORMAT]
    load_tables(session, parse_arguments(given))


def files(table: Path, kind: str) -> list[str]:
    """The files that readers of a table's history, state or versions find."""
    if FORMAT == "delta":
        deltalake = pytest.importorskip("deltalake")
        return sorted(deltalake.DeltaTable(str(table / kind)).file_uris())
    return sorted(str(path) for path in (table / kind).rglob("*.parquet"))


def contents(output: Path) -> dict[str, Sequence[object]]:
    """All rows that readers find, and how many loads there were."""
    found: dict[str, Sequence[object]] = {}
    for kind in ("history", "current", "scd2"):
        listed = files(output.joinpath(*ORDERS), kind)
        query = "SELECT * EXCLUDE (v) FROM" if FORMAT == "delta" and kind != "history" else "SELECT * FROM"
        query += " read_parquet(?, hive_partitioning = true, union_by_name = true) ORDER BY ALL"
        found[kind] = duckdb.execute(query, [listed]).fetchall()
    found["loads"] = sorted(path.name for path in (output / "_loads").iterdir())
    found["rest"] = sorted(path.name for path in output.iterdir())
    return found


def test_loads_that_are_killed_end_as_if_nothing_had_happened(
    stages: list[Path],
    tmp_path: Path,
    spark: Any,  # noqa: F811 - the fixture
) -> None:
    choose = random.Random(SEED)
    whole, out = tmp_path / "whole", tmp_path / "out"
    process = begin(stages[0], whole)
    while not works_until(process, 0.01) and not staged(whole):
        pass
    begun = monotonic()
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    longest = monotonic() - begun
    for dataset in stages[1:]:
        finish(spark, dataset, whole)
    expected = contents(whole)
    kills = [choose.randrange(_LOADS) for _ in range(KILLS)]
    killed = 0
    for number, dataset in enumerate(stages):
        for _ in range(kills.count(number)):
            process, former = begin(dataset, out), staged(out)
            while not works_until(process, 0.01) and staged(out) <= former:
                pass
            begun = monotonic()
            if works_until(process, choose.uniform(0, longest) if killed else 0):
                # What it took at first may have been more than it takes.
                longest = min(longest, monotonic() - begun)
            else:
                killed += 1
                if choose.random() < 0.5:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.communicate()
        finish(spark, dataset, out)
    assert killed > 0
    assert contents(out) == expected
