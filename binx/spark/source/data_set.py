"""Data sets as a Spark data source: ``spark.read.format("binx")``, and streams of what they get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from binx.errors import BinxError, UsageError
from binx.lake.following import (
    CHANGES,
    DataSetOffset,
    DataSetRequest,
    FilePart,
    Follower,
    offset_of,
    read_part,
)
from binx.lake.table_changes import FACTS
from binx.lake.table_name import TableName
from binx.log.selection.times import parse_size
from binx.source.wording import did_you_mean
from binx.spark.source.request import shares
from binx.spark.source.task_batches import fitted
from binx.spark.type_names import arrow_schema, spark_schema

_TASK_BYTES = 128 << 20
_OPTIONS = ("path", "table", "tables", "splitBytes", *FACTS)


class DataSetSource(DataSource):
    """A data set of ``to-parquet``: row changes of a table or of several, transactions, or statements.

    Options: ``path``; ``table`` for one table, in its columns; ``tables``, patterns of those whose changes
    are read together (by default all), each with its name and its columns as JSON; ``statements`` or
    ``transactions``, ``true`` for these; ``splitBytes``, how much of the files a task reads.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._request, self._split = _parsed(dict(options))
        self._found_schema = False

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "binx"

    def schema(self) -> StructType:
        """Return the columns; those of a table are the ones of all its schema versions."""
        self._found_schema = True
        return spark_schema(Follower(self._request).schema())

    def reader(self, schema: StructType) -> DataSetReader:
        """Return the reader for batch queries."""
        return DataSetReader(self._request, schema, self._split)

    def streamReader(self, schema: StructType) -> DataSetStreamReader:  # noqa: N802 - Spark's name
        """Return the reader for streams."""
        return DataSetStreamReader(self._request, schema, self._split, whole=self._found_schema)


def _parsed(options: Mapping[str, str]) -> tuple[DataSetRequest, int]:
    names = {name.lower(): name for name in _OPTIONS}
    given = {}
    for written, value in options.items():
        key = written.replace("-", "").replace("_", "").lower()
        if key not in names:
            known = f"; known options: {', '.join(sorted(_OPTIONS))}"
            raise UsageError(f"unknown option {written!r}{did_you_mean(key, _OPTIONS) or known}")
        given[names[key]] = value
    facts = [kind for kind in FACTS if given.get(kind, "false").strip().lower() == "true"]
    if "path" not in given:
        raise UsageError('expected a data set of to-parquet, as .load("/lake"), found none')
    if len(facts) + ("table" in given) + ("tables" in given) > 1:
        raise UsageError(f"expected at most one of the options table, tables, {' and '.join(FACTS)}")
    path = given["path"]
    request = DataSetRequest(
        path.removeprefix("file://") if path.startswith("file:///") else path,
        facts[0] if facts else CHANGES,
        TableName.parse(given["table"]) if "table" in given else None,
        tuple(word.strip() for word in given.get("tables", "").split(",") if word.strip()),
    )
    return request, parse_size(given["splitBytes"]) if "splitBytes" in given else _TASK_BYTES


class DataSetReader(DataSourceReader):
    """Reads a data set as it is when the query is planned."""

    def __init__(self, request: DataSetRequest, schema: StructType, split: int) -> None:
        self._request, self._target, self._split = request, arrow_schema(schema), split

    def partitions(self) -> list[InputPartition]:
        """Return the partitions, one for each task."""
        follower = Follower(self._request)
        parts = follower.between(DataSetOffset(), follower.latest())
        return [InputPartition(tuple(share)) for share in shares(parts, lambda part: part.bytes, self._split)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        # Spark passes None if there are no partitions.
        return _read(self._request, partition.value or (), self._target)


class DataSetStreamReader(DataSourceStreamReader):
    """Reads what exports add to a data set; an offset says how far each export is read."""

    def __init__(self, request: DataSetRequest, schema: StructType, split: int, *, whole: bool) -> None:
        self._request, self._target, self._split = request, arrow_schema(schema), split
        self._whole = whole
        self._follower: Follower | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Tasks get the reader without what it knows of the data set."""
        return {**self.__dict__, "_follower": None}

    @property
    def _following(self) -> Follower:
        if self._follower is None:
            self._follower = Follower(self._request)
        return self._follower

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return the offset before all exports."""
        return {}

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """Return how far the data set can be read; pyspark before 4.2 passes no arguments."""
        return asdict(self._following.latest())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the partitions of a batch, one for each task.

        Raises:
            BinxError: the table got other columns while the stream ran.
        """
        parts = self._following.between(offset_of(start), offset_of(end))
        if self._whole and arrow_schema(spark_schema(self._following.schema())) != self._target:
            raise BinxError(
                f"{self._request.table} has other columns than when the stream began: start the query again",
                path=self._request.path,
            )
        return [InputPartition(tuple(share)) for share in shares(parts, lambda part: part.bytes, self._split)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        return _read(self._request, partition.value or (), self._target)


def _read(
    request: DataSetRequest, parts: tuple[FilePart, ...], target: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of parts in the columns that Spark wants; those that a part lacks are null."""
    for part in parts:
        for batch in read_part(request, part):
            yield fitted(batch, target)
