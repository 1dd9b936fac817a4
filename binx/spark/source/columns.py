"""Map binx's columns to Spark: types, and batches cast to them.

A column has the type that Spark gives it when reading the Parquet files of a data set, so that rows of both
can be united: unsigned integers become the next larger signed type or a decimal, TIME becomes a bigint of
microseconds. Types that Spark does not accept from Python (unsigned integers, dictionaries) are cast.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binx.errors import BinxError
from binx.rows.columns.arrow_schema import cast_array, with_presence_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_LARGER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.duration("us"): pa.int64(),
}


def _taken(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type that Spark accepts in place of this one."""
    if isinstance(kind, pa.BaseExtensionType):
        return _taken(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _taken(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _taken(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_taken(kind.key_type), _taken(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_taken(kind.value_type))
    return _LARGER.get(kind, kind)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema for batches of an Arrow schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    taken = pa.schema([(field.name, _taken(field.type)) for field in schema])
    found: StructType = from_arrow_schema(taken, prefer_timestamp_ntz=True)
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
