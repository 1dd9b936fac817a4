"""DataFrames of what the driver gives to tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.spark.type_names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TAKES_ARROW = 4
"""The version of Spark from which a DataFrame can be made of Arrow's tables."""

_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_LOCAL_BYTES = "spark.sql.execution.arrow.localRelationThreshold"


def frame_of(spark: SparkSession, parts: Sequence[pa.RecordBatch]) -> DataFrame:
    """Return a DataFrame with a partition for each of some batches of rows; it needs no shuffle.

    Spark 3.5 takes rows one by one and sends them through Python processes of their own. These collect their
    garbage after each task, which takes longer than many a task of a load.
    """
    if int(spark.version.partition(".")[0]) < _TAKES_ARROW:
        rows = [[tuple(row.values()) for row in part.to_pylist()] for part in parts]
        spread = spark.sparkContext.parallelize(rows, len(rows)).flatMap(iter)
        columns = (f"{field.name} {sql_name(field.type)}" for field in parts[0].schema)
        return spark.createDataFrame(spread, ", ".join(columns), verifySchema=False)
    # Spark would cut large batches, and divide what is small among partitions by itself.
    settings = {_BATCH_ROWS: str(max(part.num_rows for part in parts)), _LOCAL_BYTES: "0"}
    former = {name: str(spark.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        return spark.createDataFrame(pa.Table.from_batches(parts))
    finally:
        for name, value in former.items():
            spark.conf.set(name, value)


def spread_of(spark: SparkSession, values: Sequence[str | bytes], kind: pa.DataType) -> DataFrame:
    """Return a DataFrame with one column, ``value``, spread over as many tasks as run at once."""
    count = min(len(values), spark.sparkContext.defaultParallelism)
    parts = [pa.record_batch({"value": pa.array(values[part::count], kind)}) for part in range(count)]
    return frame_of(spark, parts)
