"""The schema is the one that pyarrow's own writer gives."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.export.parquet_format.reading import opened, written
from tests.export.parquet_format.tables import SCHEMA, TYPES, many_rows

ROWS = many_rows(10, 1)
JSON = pa.RecordBatch.from_arrays(
    [pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a": 1}']))], names=["document"]
)


def by_pyarrow(rows: pa.RecordBatch) -> pq.ParquetFile:
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, rows.schema, version="2.6", store_decimal_as_integer=True) as writer:
        writer.write_batch(rows)
    return opened(stream.getvalue())


def facts(file: pq.ParquetFile) -> list[tuple[Any, ...]]:
    columns = [file.schema.column(place) for place in range(len(file.schema))]
    return [
        (
            one.path,
            one.physical_type,
            str(one.logical_type),
            one.converted_type,
            one.length,
            one.max_definition_level,
            one.max_repetition_level,
        )
        for one in columns
    ]


def text(file: pq.ParquetFile) -> list[str]:
    """The schema as pyarrow prints it, without the address on its first line."""
    return str(file.schema).splitlines()[1:]


@pytest.mark.parametrize("name", TYPES)
def test_each_type(name: str) -> None:
    rows = ROWS.select([name])
    ours, theirs = opened(written(rows)), by_pyarrow(rows)
    assert facts(ours) == facts(theirs)
    assert text(ours) == text(theirs)
    assert ours.schema_arrow == theirs.schema_arrow


def test_json_is_json() -> None:
    ours, theirs = opened(written(JSON)), by_pyarrow(JSON)
    assert text(ours) == text(theirs)
    assert ours.schema_arrow == theirs.schema_arrow == JSON.schema


@pytest.mark.parametrize("precision", range(1, 39))
def test_decimals_of_each_precision(precision: int) -> None:
    rows = pa.RecordBatch.from_arrays([pa.array([1], pa.decimal128(precision, 0))], names=["a"])
    assert text(opened(written(rows))) == text(by_pyarrow(rows))


def test_what_may_not_be_null_is_required() -> None:
    fields = [pa.field(field.name, field.type, nullable=False) for field in SCHEMA]
    rows = pa.RecordBatch.from_arrays(many_rows(0, 1).columns, schema=pa.schema(fields))
    assert text(opened(written(rows))) == text(by_pyarrow(rows))


def test_metadata_stand_in_the_footer() -> None:
    rows = ROWS.select(["int64"]).replace_schema_metadata({"binx.schema_version": "0123abcd"})
    metadata = opened(written(rows)).metadata
    assert metadata.metadata[b"binx.schema_version"] == b"0123abcd"
    assert metadata.metadata.keys() == by_pyarrow(rows).metadata.metadata.keys()
    assert metadata.created_by.startswith("binx version ")
    assert metadata.format_version == "2.6"
