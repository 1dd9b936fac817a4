"""The columns of binx as Spark has them: types, and batches that are cast to them.

A type is what Spark makes of it when it reads the same column from the Parquet files of a data set, so that
rows of both can be united: unsigned integers are the next larger signed type or a decimal, a TIME is a bigint
of microseconds. What Spark does not take from Python (unsigned integers, dictionaries) is cast on the way.
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
    """The Arrow type as which Spark takes another."""
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
    """The schema of Spark for batches of an Arrow schema of binx."""
    from pyspark.sql.pandas.types import from_arrow_schema

    taken = pa.schema([(field.name, _taken(field.type)) for field in schema])
    found: StructType = from_arrow_schema(taken, prefer_timestamp_ntz=True)
    return found


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects batches of a schema to have."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Before pyspark 4.3 there is no such parameter, and times are in UTC by default.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    converted: pa.Schema = to_arrow_schema(schema, **zone)
    return converted


def fitted(batch: pa.RecordBatch, target: pa.Schema, *, whole: bool = False) -> pa.RecordBatch:
    """A batch of binx with the columns, their order and the types that Spark expects."""
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
