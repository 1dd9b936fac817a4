"""Sessions that cannot start, and what else a session of Spark reads."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pyspark
import pytest

from bench.changes import Shop
from binx.errors import BinxError
from binx.lake.options import LoadOptions
from binx.log.binlog_file import BinlogFile
from binx.log.index.writer import write_index
from binx.spark import java, register, session
from binx.spark.load_run import load
from tests.cli.process import on_terminal
from tests.conftest import PROJECT, SHOPS, TESTDATA
from tests.exports import export


def test_no_java_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BinxError, match=r"no java is on PATH.*apt install openjdk-17-jre-headless"):
        java.find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match="has no bin/java"):
        java.find_java()


def test_a_java_that_is_no_program_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("no program")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(BinxError, match=r"bin/java does not run \(Exec format error\).*apt install"):
        java.find_java()


def test_a_load_names_what_it_waits_for(tmp_path: Path) -> None:
    export(tmp_path / "lake", [TESTDATA / "mysql-9.7" / "small" / "all_types.binlog"])
    code = "import os\nos.environ['JAVA_HOME'] = '/nowhere'"
    shown = on_terminal("load", tmp_path / "lake", "--output", tmp_path / "out", width=200, code=code)
    assert shown.code == 1
    *stages, said = shown.out.split("\r\x1b[K")
    assert stages == ["binx: load: reading manifests …", "binx: load: starting Spark …"]
    assert "has no bin/java" in said


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
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    with pytest.raises(BinxError, match=f"Java 17 or newer, and .* is {version}:"):
        java.find_java()
    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    assert java.find_java() == str(program)
    program.write_text("#!/bin/sh\necho 'openjdk version \"25.0.2\"' >&2\n")
    for spark, oldest in (("3.5.1", 8), ("4.0.5", 17)):
        monkeypatch.setattr(pyspark, "__version__", spark)
        told = f"Spark {spark} needs Java {oldest} to 23, and .* is 25: install Java 17"
        with pytest.raises(BinxError, match=told):
            java.find_java()


def test_no_pyspark_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    with pytest.raises(BinxError, match=r"-m pip install 'binx-binlog\[spark\]'"):
        session.check_pyspark()


def test_a_spark_without_data_sources_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As 3.5, which loads all the same."""
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    monkeypatch.delitem(sys.modules, "binx.spark.source.data_source", raising=False)
    with pytest.raises(BinxError, match=r"4\.0 or later is needed: .* -m pip install"):
        register(None)  # type: ignore[arg-type]


def test_spark_reads_an_index_file(spark: Any, tmp_path: Path) -> None:
    index = tmp_path / "log.parquet"
    with BinlogFile.open(str(TESTDATA / "mysql-9.7" / "shop" / "mysql-bin.000003")) as file:
        write_index(file, str(index))
    expected = pq.read_table(index, columns=["gtid", "start", "rows", "tables"]).to_pylist()
    rows = spark.read.parquet(str(index)).select("gtid", "start", "rows", "tables").orderBy("start").collect()
    assert [row.asDict(recursive=True) for row in rows] == expected


def test_progress_never_runs_back_and_ends_at_all_of_it(tmp_path: Path, spark: Any) -> None:
    from binx.lake.options import LoadOptions
    from binx.spark.load_run import load

    Shop(2_000).write_log(tmp_path / "in", 2_000)
    told: list[tuple[int, int]] = []
    options = LoadOptions((str(tmp_path / "in"),), str(tmp_path / "out"))
    load(options, lambda: nullcontext(spark), lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] > 0


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
