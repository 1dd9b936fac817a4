"""``--format iceberg``: refused before anything is read where the session lacks what it takes.

With ``BINX_ICEBERG_JAR`` naming the runtime of Iceberg for the installed Spark, tables are made and read too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binx.cli.main import run as run_command
from binx.spark.loading import job
from binx.spark.loading.arguments import parse_arguments
from tests.spark.conftest import ICEBERG_JAR, Load
from tests.spark.test_delta import work
from tests.spark.test_history import logged
from tests.spark.test_state import ORDERS, orders

with_iceberg = pytest.mark.skipif(ICEBERG_JAR is None, reason="BINX_ICEBERG_JAR names no runtime of Iceberg")


@pytest.mark.skipif(ICEBERG_JAR is not None, reason="the session has Iceberg")
def test_a_session_without_icebergs_packages_is_told_which_it_needs(tmp_path: Path, load: Load) -> None:
    code, answer = load(tmp_path / "never read", tmp_path / "out", "--format", "iceberg")
    assert code == 2
    version = ".".join(pytest.importorskip("pyspark").__version__.split(".")[:2])
    assert f"org.apache.iceberg:iceberg-spark-runtime-{version}_2.13" in answer["error"]
    assert "--catalog NAME" in answer["error"]
    assert not (tmp_path / "out").exists()


def test_a_catalog_is_about_iceberg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--output", str(tmp_path / "out"), "--catalog", "lake"]
    with pytest.raises(SystemExit) as ended:
        parse_arguments(["--input", str(tmp_path), *words])
    assert (ended.value.code, "--format iceberg" in capsys.readouterr().err) == (2, True)
    assert run_command(["load", str(tmp_path), *words]) == 2
    assert "--format iceberg" in capsys.readouterr().err


@with_iceberg
def test_a_catalog_that_is_not_icebergs_is_refused(tmp_path: Path, load: Load) -> None:
    code, answer = load(tmp_path / "never read", tmp_path / "out", "--format", "iceberg")
    assert (code, "the catalog spark_catalog of this session" in answer["error"]) == (2, True)


@with_iceberg
def test_tables_follow_each_load_once_also_after_one_that_was_killed(
    tmp_path: Path, load: Load, spark: Any
) -> None:
    server = orders()
    asked = ("--format", "iceberg", "--catalog", "lake", "--scd2")
    for number, _ in enumerate(work(server)):
        server.export_all(tmp_path / "in")
        with pytest.MonkeyPatch.context() as patch:
            if number == 1:
                patch.setattr(job, "publish_tables", lambda load, catalog: None)
            code, answer = load(tmp_path / "in", tmp_path / "out", *asked)
            assert code == 0, answer
    for _ in range(2):
        current = [row.asDict() for row in spark.table("lake.shop.orders_current").collect()]
        plain = [{name: row[name] for name in row if not name.startswith("_")} for row in current]
        assert sorted(plain, key=lambda row: row["id"]) == server.rows(ORDERS)
        found = spark.table("lake.shop.orders_history").orderBy("_commit_version", "_row", "_change_type")
        rows = [
            (row["_change_type"], row["_commit_version"], row["_row"], row["name"]) for row in found.collect()
        ]
        assert sorted(rows) == sorted(logged(server, "name"))
        versions = spark.table("lake.shop.orders_scd2").where("is_current").collect()
        assert sorted(row["id"] for row in versions) == [1, 3, 4]
        assert load(tmp_path / "in", tmp_path / "out", *asked)[1]["changed"] is False
    assert spark.sql("SELECT count(*) FROM lake.shop.orders_history.snapshots").first()[0] == 3
