"""Sessions that cannot start, and what else a session of Spark reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from bench.changes import Shop
from binx.errors import BinxError
from binx.log.file import BinlogFile
from binx.log.index.writer import write_index
from binx.spark import java, session
from binx.spark.lake.options import LoadOptions
from binx.spark.lake.place import Place
from binx.spark.lake.run import load
from binx.spark.lake.state.state import Options
from tests.conftest import PROJECT, SHOPS, TESTDATA
from tests.exports import export
from tests.object_store import Bucket, object_store
from tests.spark.test_shop import one_process, put


def test_no_java_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinxError, match=r"no java is on PATH.*apt install openjdk-17-jre-headless"):
        java.find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match="has no bin/java"):
        java.find_java()


def test_a_java_that_is_no_program_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("no program")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=r"bin/java does not run \(Exec format error\).*apt install"):
        java.find_java()


@pytest.mark.parametrize(
    ("answer", "version"), [('openjdk version "11.0.2"', 11), ('java version "1.8.0_4"', 8)]
)
def test_an_old_java_is_refused(
    answer: str, version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=f"Java 17 or newer, and .* is {version}:"):
        java.find_java()


def test_no_pyspark_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(BinxError, match=r"-m pip install 'binx\[spark\]'"):
        session.check_pyspark()


def test_spark_reads_an_index_file(spark: Any, tmp_path: Path) -> None:
    index = tmp_path / "log.parquet"
    with BinlogFile.open(str(TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003")) as file:
        write_index(file, str(index))
    expected = pq.read_table(index, columns=["gtid", "start", "rows", "tables"]).to_pylist()
    rows = spark.read.parquet(str(index)).select("gtid", "start", "rows", "tables").orderBy("start").collect()
    assert [row.asDict(recursive=True) for row in rows] == expected


def test_progress_never_runs_back_and_ends_at_all_of_it(tmp_path: Path, spark: Any) -> None:
    from binx.spark.lake.options import LoadOptions
    from binx.spark.lake.run import load

    Shop(2_000).write_log(tmp_path / "in", 2_000)
    told: list[tuple[int, int]] = []
    options = LoadOptions((str(tmp_path / "in"),), str(tmp_path / "out"))
    load(options, lambda: nullcontext(spark), lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] > 0


def rows_of(output: str) -> dict[str, list[str]]:
    """What the views of an output read, in no order."""
    place = Place(output)
    state = json.loads(place.read("_state.json") or b"")
    [life] = state["lives"].values()
    files = {
        "history": [file["path"] for file in state["history"]],
        "current": [file["path"] for file in life["ranges"]],
        "scd2": [file["path"] for file in (*life["closed"], *life["held"])],
    }
    return {
        kind: sorted(repr(row) for path in paths for row in place.table(path).to_pylist())
        for kind, paths in files.items()
    }


WITH_RANGES = """
from functools import partial
from binx.spark.lake import run as load_run
load_run.Options = partial(load_run.Options, range_bytes=200_000, small_bytes=0)
"""
"""With so small ranges the rows of a small table go through the shuffle."""


def test_a_cluster_over_an_object_store_comes_to_what_one_machine_does(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second load meets ranges that are there."""
    monkeypatch.setattr("binx.spark.lake.run.Options", partial(Options, range_bytes=200_000, small_bytes=0))
    shop, lake, local = Shop(20_000), tmp_path / "lake", tmp_path / "local"
    cluster = ["--master", "local-cluster[2,1,1024]", "--conf", "spark.executor.memory=900m"]
    with object_store() as service, one_process(tmp_path, WITH_RANGES) as command:
        bucket = Bucket(service, "cluster")
        tables = bucket.place("tables")
        for images in (30_000, 3_000):
            shop.write_log(lake, images)
            put(bucket, lake)
            load(LoadOptions((str(lake),), str(local), scd2=True), lambda: nullcontext(spark))
            options = ["--scd2", "--accept-losses", "--quiet"]
            command("load", bucket.place("lake"), "-o", tables, *options, *cluster)
            found = rows_of(tables)
            assert len(found["current"]) == shop.rows
            assert found == rows_of(str(local))
        state = json.loads(Place(tables).read("_state.json") or b"")
        [life] = state["lives"].values()
        assert len(life["ranges"]) > 1


BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEXT = (PROJECT / "docs" / "spark.md").read_text("utf-8")
STATEMENTS = [one.strip() for block in BLOCK.findall(TEXT) for one in block.split(";") if one.strip()]


@pytest.fixture(scope="module")
def engines(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[str], Any]]:
    """Both engines with the views of a load."""
    folder = tmp_path_factory.mktemp("page")
    export(folder / "lake", SHOPS["mysql-9.7"])
    options = LoadOptions((str(folder / "lake"),), str(folder / "tables"), ("shop.orders",), scd2=True)
    load(options, lambda: nullcontext(spark))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute((folder / "tables/views.sql").read_text("utf-8"))
    for statement in (folder / "tables/views.spark.sql").read_text("utf-8").split(";\n"):
        if statement.strip():
            spark.sql(statement)

    def with_spark(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(sql.replace("shop.", "shop_")).collect()]

    return {"spark": with_spark, "duckdb": lambda sql: connection.execute(sql).fetchall()}


@pytest.mark.parametrize("sql", STATEMENTS, ids=lambda sql: " ".join(sql.split())[:40])
def test_a_query_of_the_page_has_one_answer(sql: str, engines: dict[str, Callable[[str], Any]]) -> None:
    found = engines["spark"](sql)
    assert found
    assert found == engines["duckdb"](sql)


def test_history_and_versions_agree_on_the_past(engines: dict[str, Callable[[str], Any]]) -> None:
    from_history, from_versions = STATEMENTS[-2:]
    assert engines["duckdb"](from_history) == engines["duckdb"](from_versions)
