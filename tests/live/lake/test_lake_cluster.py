"""``binx load`` on a standalone cluster of two workers, parts of which are killed, gives the same rows.

``ROUNDS=9 pytest tests/live/test_lake_cluster.py`` kills so often: a driver, an executor, a worker and so on.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from tests.live.lake.test_load_kills import SEED, Files, stages, works_until  # noqa: F401
from tests.live.test_differential import ROUNDS

VICTIMS = ("driver", "executor", "worker")
_PATIENCE = 600
_EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Cluster:
    """A master and two workers with one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.url = f"spark://127.0.0.1:{port}"
        self._master = self._start("master.Master", "--host", "127.0.0.1", "--port", port)
        # Somebody has to read what the master says, or it waits.
        self._said: Queue[str] = Queue()
        Thread(target=self._listen, daemon=True).start()
        self._await("I have been elected leader")
        self.workers = [self.worker(), self.worker()]

    def _start(self, name: str, *words: str) -> subprocess.Popen[str]:
        command = [str(Path(sys.executable).with_name("spark-class")), f"org.apache.spark.deploy.{name}"]
        return subprocess.Popen(
            [*command, "--webui-port", "0", *words],
            stderr=subprocess.PIPE if name.startswith("master") else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            text=True,
            start_new_session=True,
        )

    def _listen(self) -> None:
        assert self._master.stderr is not None
        for line in self._master.stderr:
            self._said.put(line)

    def _await(self, told: str) -> None:
        """Wait until the master says something."""
        while told not in self._said.get(timeout=_PATIENCE):
            pass

    def worker(self) -> subprocess.Popen[str]:
        """One more worker, as soon as the master knows it."""
        work = str(self._folder / "work")
        one = self._start("worker.Worker", "-c", "1", "-m", "2g", "-d", work, self.url)
        self._await("Registering worker")
        return one

    def executors(self) -> list[int]:
        """The processes of executors that run on this cluster."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = folder.joinpath("cmdline").read_bytes().split(b"\0")
                parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if _EXECUTOR in words and parent in {one.pid for one in self.workers}:
                found.append(int(folder.name))
        return found

    def stop(self) -> None:
        """End all of it."""
        for one in (*self.workers, self._master):
            end(one)


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process and those that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()


def begin(cluster: Cluster, dataset: Path, output: str) -> subprocess.Popen[bytes]:
    """Start a load on the cluster."""
    command = [sys.executable, "-m", "binx", "load", str(dataset), "-o", output, "--scd2", "--quiet"]
    command += ["--master", cluster.url, "--driver-memory", "1g", "--conf", "spark.executor.memory=1g"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)


@pytest.mark.skipif(not ROUNDS, reason="a cluster takes minutes: set ROUNDS")
@pytest.mark.parametrize("number", range(ROUNDS or len(VICTIMS)))
def test_what_is_killed_on_a_cluster_changes_no_row(
    cluster: Cluster,
    stages: list[Path],  # noqa: F811 - the fixture
    number: int,
    tmp_path: Path,
    spark: Any,
) -> None:
    choose = random.Random(f"{SEED} {number}")
    local, out = Files(spark, tmp_path / "local"), Files(spark, tmp_path / "out")
    for dataset in stages:
        local.finish(dataset)
        victim = VICTIMS[number % len(VICTIMS)]
        before = out.staged()
        load = begin(cluster, dataset, out.place.uri)
        while not works_until(load, 0.01) and not out.staged() - before:
            pass
        if not works_until(load, choose.random()):
            if victim == "driver":
                end(load)
            elif victim == "worker":
                end(cluster.workers.pop(0))
                cluster.workers.append(cluster.worker())
            else:
                for process in cluster.executors()[:1]:
                    os.kill(process, signal.SIGKILL)
        _, said = load.communicate()
        if victim == "driver" and load.returncode != 0:
            load = begin(cluster, dataset, out.place.uri)
            _, said = load.communicate()
        assert load.returncode == 0, said.decode()
    assert out.contents() == local.contents()
