"""A Spark session with Iceberg: ``python -m tests.spark.iceberg_session JAR WAREHOUSE``.

It has a process of its own: Iceberg's package may be of another version of Spark than the other tests have.
Each line of the input is one thing to do, as JSON, and is answered by one: ``{"load": ARGUMENTS}`` of
``binx load``, ``{"publish": OUTPUT}``, perhaps with a ``catalog``, ``{"sql": TEXT}``, or
``{"merge": RECIPE}`` with changes of some ``logs`` of a ``table`` of a ``lake``.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from binx.errors import BinxError
from binx.lake.place import LakeStore
from binx.lake.state.output_folder import Output
from binx.lake.table_changes import read_changes
from binx.report.document import document
from binx.spark.catalog import CatalogTables
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
        "spark.sql.catalog.ice.warehouse": warehouse,
        "spark.sql.session.timeZone": "UTC",
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
        summary = load(options_of(asked["load"]), lambda: nullcontext(spark))
        return document("load", summary) | {"exit_code": int(summary.exit_code)}
    place = LakeStore(asked["publish"])
    catalog = CatalogTables(Output(place).state, place, asked.get("catalog", "ice"), lambda _: True)
    had_work = catalog.has_work
    if had_work:
        catalog.publish(spark)
    return {"had_work": had_work, "errors": {str(name): text for name, text in catalog.errors.items()}}


def main() -> None:
    spark = start(*sys.argv[1:3])
    for line in sys.stdin:
        try:
            done = {"answer": answer(spark, json.loads(line))}
        except (BinxError, Exception) as error:
            done = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(done, default=str), flush=True)


if __name__ == "__main__":
    main()
