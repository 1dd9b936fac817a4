"""``binx load`` killed at random moments, again and again: the end is that of the undisturbed runs.

``KILLS=30 pytest tests/live/test_load_kills.py`` kills so many loads; without KILLS there is one. Half of
the kills leave Spark's Java alone for as long as it takes to notice, so that the next load meets it.
Loads that are to be killed are processes of their own; what comes before
and behind them shares one session, which a load takes most of its time to start.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import duckdb
import pytest

from binx.lake.options import LoadOptions
from binx.spark.load_run import load as run_load
from tests.lake.test_state import orders, work

pytest.importorskip("pyspark")

KILLS = int(os.environ.get("KILLS") or 1)
SEED = os.environ.get("SEED") or "1"
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
    command += ["--scd2", "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def works_until(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a load comes to its end within a time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def staged(output: Path) -> set[str]:
    """The data files that loads have begun to write."""
    return {str(path.relative_to(output)) for path in output.glob("[!_]*/**/*.parquet")}


def finish(session: Any, dataset: Path, output: Path) -> None:
    """Load to the end."""
    run_load(LoadOptions((str(dataset),), str(output), scd2=True), lambda: nullcontext(session))


def lasts(dataset: Path, output: Path) -> float:
    """How long a load takes from its first data file on."""
    process = begin(dataset, output)
    while not works_until(process, 0.01) and not staged(output):
        pass
    begun = monotonic()
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    return monotonic() - begun


def contents(output: Path) -> dict[str, object]:
    """All rows that count; there are no other files but those that the last load made superfluous."""
    state = json.loads((output / "_state.json").read_text())
    found: dict[str, object] = {}
    listed: set[str] = set()
    lives = state["lives"].values()
    for kind in ("history", "current", "scd2"):
        paths = [
            *(one["path"] for one in state["history"] if kind == "history"),
            *(one["path"] for life in lives for one in life["ranges"] if kind == "current"),
            *(one["path"] for life in lives for one in (*life["closed"], *life["held"]) if kind == "scd2"),
        ]
        listed |= set(paths)
        query = "SELECT * FROM read_parquet(?, union_by_name = true) ORDER BY ALL"
        found[kind] = duckdb.execute(query, [[str(output / path) for path in paths]]).fetchall()
    found["tables"] = [(one["name"], one["units"], one["epochs"], one["digest"]) for one in lives]
    assert staged(output) - listed <= set(state["garbage"])
    return found


def test_loads_that_are_killed_end_as_if_nothing_had_happened(
    stages: list[Path], tmp_path: Path, spark: Any
) -> None:
    choose = random.Random(SEED)
    whole, out = tmp_path / "whole", tmp_path / "out"
    for dataset in stages:
        finish(spark, dataset, whole)
    kills = [choose.randrange(_LOADS) for _ in range(KILLS)]
    killed, longest = 0, lasts(stages[0], tmp_path / "timed") if KILLS > 1 else 0.0
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
                # The first kill leaves Java alone.
                if killed > 1 and choose.random() < 0.5:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.communicate()
        finish(spark, dataset, out)
    assert killed > 0
    assert contents(out) == contents(whole)
