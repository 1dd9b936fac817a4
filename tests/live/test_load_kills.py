"""``binx load`` killed at random moments, again and again: the end is that of the undisturbed runs.

``KILLS=30 pytest tests/live/test_load_kills.py`` kills so many loads; without KILLS there are three. Half of
the kills leave Spark's Java alone for as long as it takes to notice, so that the next load meets it.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import duckdb
import pytest

from tests.spark.test_state import ORDERS, orders, work

pytest.importorskip("pyspark")

KILLS = int(os.environ.get("KILLS") or 3)
SEED = int(os.environ.get("SEED") or 1)
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


def load(dataset: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "binx", "load", str(dataset), "-o", str(output), "--scd2", "--quiet"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()


def contents(output: Path) -> dict[str, Sequence[object]]:
    """All rows that readers find, and how many loads there were."""
    found: dict[str, Sequence[object]] = {}
    for kind, files in (("history", "history/**"), ("current", "current"), ("scd2", "scd2")):
        source = f"read_parquet('{output.joinpath(*ORDERS)}/{files}/*.parquet', hive_partitioning = true)"
        found[kind] = duckdb.execute(f"SELECT * FROM {source} ORDER BY ALL").fetchall()
    found["loads"] = sorted(path.name for path in (output / "_loads").iterdir())
    found["rest"] = sorted(path.name for path in output.iterdir())
    return found


def test_loads_that_are_killed_end_as_if_nothing_had_happened(stages: list[Path], tmp_path: Path) -> None:
    choose = random.Random(SEED)
    whole, out = tmp_path / "whole", tmp_path / "out"
    longest = 0.0
    for dataset in stages:
        begun = monotonic()
        finish(load(dataset, whole))
        longest = max(longest, monotonic() - begun)
    expected = contents(whole)
    kills = [choose.randrange(_LOADS) for _ in range(KILLS)]
    killed = 0
    for number, dataset in enumerate(stages):
        for _ in range(kills.count(number)):
            process = load(dataset, out)
            try:
                process.wait(choose.uniform(0.1, longest))
            except subprocess.TimeoutExpired:
                killed += 1
                if choose.random() < 0.5:
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.communicate()
        finish(load(dataset, out))
    assert killed > 0
    assert contents(out) == expected
    shutil.rmtree(whole)
