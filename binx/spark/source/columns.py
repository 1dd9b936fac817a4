"""Map binx's columns to Spark: schemas, and batches cast to them."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binx.errors import BinxError
from binx.rows.columns.arrow_schema import cast_array, with_presence_of
from binx.spark.type_names import spark_types

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema for batches of an Arrow schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    found: StructType = from_arrow_schema(spark_types(schema), prefer_timestamp_ntz=True)
    return found


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects of batches."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # pyspark before 4.3 has no such parameter; its times are in UTC by default.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    converted: pa.Schema = to_arrow_schema(schema, **zone)
    return converted


def fitted(batch: pa.RecordBatch, target: pa.Schema, *, whole: bool = False) -> pa.RecordBatch:
    """Return a batch with the columns, order and types that Spark expects."""
    if whole and (extra := [name for name in batch.schema.names if target.get_field_index(name) < 0]):
        raise BinxError(
            f"the table has columns that were added after the query started: {', '.join(extra)};"
            " restart the query to include them, or give the wanted columns with .schema(...)"
        )
    batch = with_presence_of(batch, target)
    arrays = []
    for field in target:
        place = batch.schema.get_field_index(field.name)
        if place < 0:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            arrays.append(_fitted(batch.column(place), field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise BinxError(
                f"column {field.name}, which is {batch.column(place).type}, cannot be read as {field.type}:"
                f" {error}"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _fitted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    both_nested = pa.types.is_nested(array.type) and pa.types.is_nested(wanted)
    return array.cast(wanted) if both_nested else cast_array(array, wanted)
