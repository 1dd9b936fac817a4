"""Binary logs read by Spark itself: the same rows and types as from the Parquet files of a data set."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.spark import register
from tests.conftest import TESTDATA
from tests.exports import export

pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no data sources in Python")

MYSQL = TESTDATA / "mysql-9.7"
SHOP = MYSQL / "shop"
LOGS = sorted(SHOP.glob("mysql-bin.00*"))
ORDER = ["_commit_version", "_row", "_change_type"]


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    register(spark)
    return spark


def read(spark: Any, path: Path, **options: object) -> Any:
    return spark.read.format("binlog").options(**options).load(str(path))


def in_order(frame: Any) -> pa.Table:
    return frame.toArrow().sort_by([(name, "ascending") for name in ORDER])


def test_types_and_values_are_those_that_spark_reads_from_the_data_set(source: Any, tmp_path: Path) -> None:
    log = MYSQL / "small" / "all_types.binlog"
    (report,) = export(tmp_path, [log])
    entries = [entry for entry in report.manifest["files"] if entry["kind"] == "changes"]
    for entry in entries:
        expected = source.read.parquet(str(tmp_path / entry["path"]))
        found = read(source, log, table=f"{entry['db']}.{entry['table']}")
        assert [(field.name, field.dataType) for field in found.schema] == [
            (field.name, field.dataType) for field in expected.schema
        ]
        assert in_order(found).to_pylist() == in_order(expected).to_pylist()
    assert len(entries) > 1


def test_a_schema_that_is_given_is_honoured(source: Any) -> None:
    schema = "total DECIMAL(30,4), id BIGINT, _change_type STRING, later STRING"
    reader = source.read.format("binlog").schema(schema).option("table", "shop.orders")
    frame = reader.load(str(LOGS[0]))
    assert [field.simpleString() for field in frame.schema] == [
        "total:decimal(30,4)",
        "id:bigint",
        "_change_type:string",
        "later:string",
    ]
    whole = read(source, LOGS[0], table="shop.orders").selectExpr(
        "cast(total as decimal(30,4)) total", "cast(id as bigint) id", "_change_type", "null later"
    )
    assert sorted(map(repr, frame.collect())) == sorted(map(repr, whole.collect()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of logs that grows."""
    made = tmp_path / "logs"
    made.mkdir()
    return made


def test_a_stream_over_a_growing_folder_gives_what_a_read_gives(
    source: Any, folder: Path, tmp_path: Path
) -> None:
    def run() -> None:
        stream = source.readStream.format("binlog").options(table="shop.orders", splitBytes="200K")
        schema = read(source, SHOP, table="shop.orders").schema
        query = (
            stream.schema(schema)
            .load(str(folder))
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except Exception as error:
            # Spark gives a process of Python ten seconds to begin, which a busy machine may not.
            if "failed to connect back" not in str(error):
                raise
            run()

    shutil.copy(LOGS[0], folder)
    half = LOGS[1].read_bytes()[: LOGS[1].stat().st_size // 2]
    (folder / LOGS[1].name).write_bytes(half)
    run()
    before = source.read.parquet(str(tmp_path / "out")).count()
    for log in LOGS[1:]:
        shutil.copy(log, folder)
    (folder / LOGS[0].name).unlink()
    run()
    expected = in_order(read(source, SHOP, table="shop.orders"))
    assert 0 < before < expected.num_rows
    assert in_order(source.read.parquet(str(tmp_path / "out"))).to_pylist() == expected.to_pylist()
