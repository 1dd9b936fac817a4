"""A Spark session with Iceberg: ``python -m tests.spark.iceberg_session JAR WAREHOUSE``.

It has a process of its own: Iceberg's package may be of another version of Spark than the other tests have.
Each line of the input is one thing to do, as JSON, and is answered by one: ``{"load": ARGUMENTS}`` of
``binx load``, perhaps with the number of the step before which it is to be killed (``kill``), or with a
statement that another writer commits meanwhile (``other``, and a folder for ``pipes`` if in the middle of a
MERGE), ``{"sql": TEXT}``, ``{"save": TABLE, "to": FOLDER}`` as Parquet, or ``{"merge": RECIPE}`` with changes
of some ``logs`` of a ``table`` of a ``lake``.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from binx.lake.state.loaded_state import State
from binx.lake.state.output_folder import Output
from binx.lake.table_changes import read_changes
from binx.report.document import document
from binx.spark.catalog_table import CatalogTable
from binx.spark.load_run import load
from binx.spark.source.task_batches import fitted
from binx.spark.type_names import arrow_schema, spark_schema
from tests.lake.conftest import options_of


def start(jar: str, warehouse: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.host": "localhost",
        "spark.jars": jar,
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{warehouse}/ice",
        "spark.sql.catalog.hms": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.hms.type": "hive",
        "spark.sql.catalog.hms.warehouse": f"{warehouse}/hms",
        # An embedded metastore, as it is without any settings but for its place.
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={warehouse}/derby;create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # It has no tables for locks of tables unless scripts of Hive make them.
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        "spark.hadoop.hive.metastore.warehouse.dir": f"{warehouse}/hms",
        "spark.driver.extraJavaOptions": f"-Dderby.stream.error.file={warehouse}/derby.log",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session: SparkSession = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def answer(spark: SparkSession, asked: dict[str, Any]) -> Any:
    if "sql" in asked:
        return [row.asDict(recursive=True) for row in spark.sql(asked["sql"]).collect()]
    if "save" in asked:
        spark.table(asked["save"]).write.parquet(asked["to"])
        return None
    if "merge" in asked:
        recipe: dict[str, Any] = {}
        exec(asked["merge"], recipe)
        rows = read_changes(asked["lake"], asked["table"]).read_all()
        numbers = pc.shift_right(rows["_commit_version"], 32)
        rows = rows.filter(pc.is_in(numbers, pa.array(asked["logs"], pa.int64())))
        schema = spark_schema(rows.schema)
        plain = [
            row
            for batch in rows.to_batches()
            for row in fitted(batch, arrow_schema(schema)).to_pylist(maps_as_pydicts="strict")
        ]
        recipe["merge"](spark.createDataFrame(plain, schema), 0)
        return None
    if "load" in asked:
        other = asked.get("other")
        meanwhile = another_commits(spark, other, asked["pipes"]) if other else nullcontext()
        try:
            with killed_at(asked.get("kill")), meanwhile:
                summary = load(options_of(asked["load"]), lambda: nullcontext(spark))
        except Killed:
            return None
        return document("load", summary) | {"exit_code": int(summary.exit_code)}
    raise ValueError(f"nothing that is known is asked: {asked}")


class Killed(BaseException):
    """The end of a load, before a statement that it sends to the catalog, or before it commits."""


@contextmanager
def killed_at(step: int | None) -> Iterator[None]:
    """End a load before the step of a number, counted from 0, without any chance to tidy up."""
    steps, sent, committed = itertools.count(), CatalogTable.sql, Output.commit

    def sql(table: CatalogTable, text: str) -> Any:
        if next(steps) == step:
            raise Killed(text)
        return sent(table, text)

    def commit(output: Output, state: State) -> None:
        if next(steps) == step:
            raise Killed("commit")
        committed(output, state)

    with (
        patch.object(CatalogTable, "sql", sql),
        patch.object(Output, "commit", commit),
        patch.object(Output, "_give_up", lambda output: None),
    ):
        yield


@contextmanager
def another_commits(spark: SparkSession, text: str, folder: str) -> Iterator[None]:
    """Let another writer commit a statement before a load's MERGE, or while that runs, if there is a folder.

    Then a task of the MERGE stops, by way of two pipes in the folder, until the statement is committed.
    """
    sent = CatalogTable.sql

    def sql(table: CatalogTable, statement: str) -> Any:
        found = re.search(r"USING (\S+) AS changed", statement)
        if found is None:
            return sent(table, statement)
        if not folder:
            spark.sql(text)
            return sent(table, statement)
        began, ended = f"{folder}/began", f"{folder}/ended"
        os.mkfifo(began)
        os.mkfifo(ended)

        def commit() -> None:
            Path(began).read_bytes()
            spark.sql(text)
            Path(folder, "done").touch()
            Path(ended).write_bytes(b"")

        def waiting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if not Path(folder, "done").exists():
                Path(began).write_bytes(b"")
                Path(ended).read_bytes()
            yield from batches

        Thread(target=commit, daemon=True).start()
        changes = table._spark.table(found[1])
        changes.coalesce(1).mapInArrow(waiting, changes.schema).createOrReplaceTempView("waiting")
        return sent(table, statement.replace(found[1], "waiting"))

    with patch.object(CatalogTable, "sql", sql):
        yield


def main() -> None:
    spark = start(*sys.argv[1:3])
    for line in sys.stdin:
        try:
            done = {"answer": answer(spark, json.loads(line))}
        except Exception as error:
            done = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(done, default=str), flush=True)


if __name__ == "__main__":
    main()
