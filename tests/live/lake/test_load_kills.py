"""``binx load`` killed at random moments, again and again: the end is that of the undisturbed runs.

``KILLS=30 pytest tests/live/lake/test_load_kills.py`` kills so many loads into each kind of place; without
KILLS, one into a folder. Half of the kills leave Spark's Java alone for as long as it takes to notice, so
that the next load meets it. Loads that are to be killed are processes of their own; what comes before
and after them shares one session, which a load takes most of its time to start.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from binx.lake.options import LoadOptions
from binx.lake.place import LakeStore
from binx.spark.load_run import load as run_load
from tests.lake.test_state import orders, work
from tests.object_store import Bucket, object_store
from tests.spark.test_catalog import PYTHON, ROOT, Ask, comparable, process  # noqa: F401

pytest.importorskip("pyspark")

KILLS = int(os.environ.get("KILLS") or 0)
SEED = os.environ.get("SEED") or "1"
_LOADS = 3
_TRIES = 3
"""A load that a former one's Java gets in the way of says so, and the next one does it again."""


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


class Files:
    """Tables in files, in a folder or at a URI."""

    def __init__(self, session: Any, uri: Path | str) -> None:
        self._session, self.place = session, LakeStore(str(uri))

    def begin(self, dataset: Path) -> subprocess.Popen[bytes]:
        """Start a load that may be killed."""
        return self._start(sys.executable, dataset, {})

    def _start(
        self, python: Path | str, dataset: Path, environment: dict[str, str], *more: str
    ) -> subprocess.Popen[bytes]:
        command = [python, "-m", "binx", "load", dataset, "-o", self.place.uri, "--scd2", "--quiet", *more]
        return subprocess.Popen(
            [*map(str, command), "--break-lock"],
            stderr=subprocess.PIPE, start_new_session=True, cwd=ROOT, env={**os.environ, **environment},
        )  # fmt: skip

    def finish(self, dataset: Path) -> None:
        """Load to the end."""
        options = LoadOptions((str(dataset),), self.place.uri, scd2=True, break_lock=True)
        run_load(options, lambda: nullcontext(self._session))

    def staged(self) -> set[str]:
        """The data files that loads have begun to write."""
        return {one.path for one in self.place.files("shop", recursive=True) if one.path.endswith("parquet")}

    def contents(self) -> dict[str, object]:
        """All rows that count; there are no other files but those that the last load made superfluous."""
        state = json.loads(self.place.read("_state.json") or b"")
        found: dict[str, object] = {}
        listed: set[str] = set()
        lives = state["lives"].values()
        for kind in ("history", "current", "scd2"):
            paths = [
                *(one["path"] for one in state["history"] if kind == "history"),
                *(one["path"] for life in lives for one in life["ranges"] if kind == "current"),
                *(
                    one["path"]
                    for life in lives
                    for one in (*life["closed"], *life["held"])
                    if kind == "scd2"
                ),
            ]
            listed |= set(paths)
            found[kind] = sorted(repr(row) for path in paths for row in self.place.table(path).to_pylist())
        found["tables"] = [(one["name"], one["units"], one["epochs"], one["digest"]) for one in lives]
        assert self.staged() - listed <= set(state["garbage"])
        return found


class Catalog(Files):
    """A table of a catalog, and the files beside it."""

    def __init__(self, ask: Ask, uri: Path, catalog: str, table: str) -> None:
        super().__init__(None, uri)
        self._ask, self._catalog, self._table = ask, catalog, table

    def begin(self, dataset: Path) -> subprocess.Popen[bytes]:
        names = ("spark.jars", "spark.sql.extensions", "spark.driver.memory", "spark.sql.catalog.ice",
                 "spark.sql.catalog.ice.type", "spark.sql.catalog.ice.warehouse")  # fmt: skip
        settings = [self._ask(sql=f"SET {name}")[0] for name in names]
        words = [word for one in settings for word in ("--conf", f"{one['key']}={one['value']}")]
        return self._start(PYTHON, dataset, {"PYTHONPATH": str(ROOT)}, "--catalog", self._catalog, *words)

    def finish(self, dataset: Path) -> None:
        words = [dataset, "--output", self.place.uri, "--catalog", self._catalog, "--scd2"]
        codes: list[int] = []
        while 0 not in codes:
            codes.append(self._ask(load=[*map(str, words)])["exit_code"])
            assert len(codes) < _TRIES

    def contents(self) -> dict[str, object]:
        rows = [self._ask(sql=f"SELECT * FROM {self._table}{suffix}") for suffix in ("", "_versions")]
        for one in rows[1]:
            del one["_load"]
        return {**super().contents(), "rows": [*map(comparable, rows)]}


@pytest.fixture(params=["folder", "store", "iceberg"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Files, Files, Files]]:
    """Where loads run undisturbed, where they are killed, and where one is timed."""
    names = ("whole", "out", "timed")
    if request.param != "folder" and not KILLS:
        pytest.skip("each kill takes a load: set KILLS")
    if request.param == "iceberg":
        ask = request.getfixturevalue("process")
        for name in names:
            ask(sql=f"CREATE NAMESPACE ice.{name}")
        tables = [Catalog(ask, tmp_path / name, f"ice.{name}", f"ice.{name}.shop_orders") for name in names]
        yield tables[0], tables[1], tables[2]
        return
    session = request.getfixturevalue("spark")
    if request.param == "folder":
        folders = [Files(session, tmp_path / name) for name in names]
        yield folders[0], folders[1], folders[2]
        return
    with object_store() as service:
        bucket = Bucket(service, request.node.nodeid)
        folders = [Files(session, bucket.place(name)) for name in names]
        yield folders[0], folders[1], folders[2]


def works_until(load: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a load comes to its end within a time."""
    try:
        load.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def lasts(dataset: Path, output: Files) -> float:
    """How long a load takes from its first data file on."""
    running = output.begin(dataset)
    while not works_until(running, 0.01) and not output.staged():
        pass
    begun = monotonic()
    _, said = running.communicate()
    assert running.returncode == 0, said.decode()
    return monotonic() - begun


def test_loads_that_are_killed_end_as_if_nothing_had_happened(
    stages: list[Path], places: tuple[Files, Files, Files]
) -> None:
    choose = random.Random(SEED)
    whole, out, timed = places
    for dataset in stages:
        whole.finish(dataset)
    kills = [choose.randrange(_LOADS) for _ in range(KILLS or 1)]
    killed, longest = 0, lasts(stages[0], timed) if KILLS > 1 else 0.0
    for number, dataset in enumerate(stages):
        for _ in range(kills.count(number)):
            running, former = out.begin(dataset), out.staged()
            while not works_until(running, 0.01) and out.staged() <= former:
                pass
            begun = monotonic()
            if works_until(running, choose.uniform(0, longest) if killed else 0):
                # What it took at first may have been more than it takes.
                longest = min(longest, monotonic() - begun)
            else:
                killed += 1
                # The first kill leaves Java alone.
                if killed > 1 and choose.random() < 0.5:
                    os.killpg(running.pid, signal.SIGKILL)
                else:
                    running.kill()
            running.communicate()
        out.finish(dataset)
    assert killed > 0
    assert out.contents() == whole.contents()
