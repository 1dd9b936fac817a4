"""The data source's classes, as called by Spark.

Spark imports them in the processes that plan a query on the driver and in those that run tasks, so binx must
be installed in both.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from binx.dataset.statement_batches import statements_schema
from binx.log.index.transactions import index_schema
from binx.spark.source.data_set import DataSetSource
from binx.spark.source.read_plan import plan, table_schema
from binx.spark.source.request import ScanRequest, What, parse_request
from binx.spark.source.stream import Stream
from binx.spark.source.task_batches import read_slices
from binx.spark.type_names import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before pyspark 4.2
    SupportsTriggerAvailableNow = object  # type: ignore[assignment, misc]


def register(spark: SparkSession) -> None:
    """Register the formats ``binlog`` and ``binx`` in a session."""
    spark.dataSource.register(BinlogSource)
    spark.dataSource.register(DataSetSource)


class BinlogSource(DataSource):
    """Binary logs: row changes of a table, transactions, or statements."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._request = parse_request(dict(options))
        self._found_schema = False

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "binlog"

    def schema(self) -> StructType:
        """Return the columns; those of a table are found by a pass over the logs."""
        self._found_schema = True
        if self._request.what is What.TRANSACTIONS:
            return spark_schema(index_schema())
        if self._request.what is What.STATEMENTS:
            return spark_schema(statements_schema())
        return spark_schema(table_schema(self._request))

    def reader(self, schema: StructType) -> BinlogReader:
        """Return the reader for batch queries."""
        return BinlogReader(self._request, schema)

    def streamReader(self, schema: StructType) -> BinlogStreamReader:  # noqa: N802 - Spark's name
        """Return the reader for streams, which follows growing logs."""
        return BinlogStreamReader(self._request, schema, whole=self._found_schema)


class BinlogReader(DataSourceReader):
    """Reads logs as they are when the query is planned."""

    def __init__(self, request: ScanRequest, schema: StructType) -> None:
        self._request = request
        self._target = arrow_schema(schema)

    def partitions(self) -> list[InputPartition]:
        """Return the partitions, one for each task."""
        return [InputPartition(tuple(slices)) for slices in plan(self._request)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        # Spark passes None if there are no partitions.
        return read_slices(self._request, partition.value or (), self._target)


class BinlogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads whole transactions as they arrive."""

    def __init__(self, request: ScanRequest, schema: StructType, *, whole: bool) -> None:
        self._request = request
        self._target = arrow_schema(schema)
        self._whole = whole
        self._stream = Stream(request)
        self._aim: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset before all logs."""
        return {}

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """Return the latest readable offset; pyspark 4.1 passes no arguments, later versions both."""
        most = getattr(limit, "max_bytes", None)
        return self._stream.latest(start or {}, most, self._aim)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return no limit, or that of the option maxBytesPerTrigger."""
        most = self._request.trigger_bytes
        return ReadAllAvailable() if most is None else ReadMaxBytes(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read up to the current end of the logs."""
        self._aim = self._stream.latest({})

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the partitions of a batch, one for each task."""
        return [InputPartition(tuple(slices)) for slices in self._stream.partitions(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        return read_slices(self._request, partition.value or (), self._target, whole=self._whole)
