"""The columns of binx as Spark has them: types, and batches that are cast to them.

A type is what Spark makes of it when it reads the same column from the Parquet files of a data set, so that
rows of both can be united: unsigned integers are the next larger signed type or a decimal, a TIME is a bigint
of microseconds. What Spark does not take from Python (unsigned integers, dictionaries) is cast on the way.
"""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import BinxError
from binx.rows.columns.arrow_schema import cast_array, with_presence_of

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


@cache
def _plain_types() -> dict[pa.DataType, DataType]:
    from pyspark.sql import types

    return {
        pa.bool_(): types.BooleanType(),
        pa.int8(): types.ByteType(),
        pa.int16(): types.ShortType(),
        pa.int32(): types.IntegerType(),
        pa.int64(): types.LongType(),
        pa.uint8(): types.ShortType(),
        pa.uint16(): types.IntegerType(),
        pa.uint32(): types.LongType(),
        pa.uint64(): types.DecimalType(20, 0),
        pa.float32(): types.FloatType(),
        pa.float64(): types.DoubleType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
        pa.timestamp("us", tz="UTC"): types.TimestampType(),
        pa.duration("us"): types.LongType(),
        pa.string(): types.StringType(),
        pa.binary(): types.BinaryType(),
    }


def spark_type(data_type: pa.DataType) -> DataType:
    """The type of Spark that holds the values of an Arrow type of binx."""
    from pyspark.sql import types

    if isinstance(data_type, pa.BaseExtensionType):
        return spark_type(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return spark_type(data_type.value_type)
    if pa.types.is_decimal(data_type):
        return types.DecimalType(data_type.precision, data_type.scale)
    if pa.types.is_struct(data_type):
        return types.StructType(
            [types.StructField(field.name, spark_type(field.type)) for field in data_type]
        )
    if pa.types.is_map(data_type):
        return types.MapType(spark_type(data_type.key_type), spark_type(data_type.item_type))
    if pa.types.is_list(data_type):
        return types.ArrayType(spark_type(data_type.value_type))
    return _plain_types()[data_type]


def spark_schema(schema: pa.Schema) -> StructType:
    """The schema of Spark for batches of an Arrow schema of binx."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, spark_type(field.type)) for field in schema])


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects batches of a schema to have."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Before pyspark 4.3 there is no such parameter, and times are in UTC by default.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    converted: pa.Schema = to_arrow_schema(schema, **zone)
    return converted


def fitted(batch: pa.RecordBatch, target: pa.Schema, *, whole: bool = False) -> pa.RecordBatch:
    """A batch of binx with the columns, their order and the types that Spark expects.

    Raises:
        BinxError: a column cannot be cast, or is not expected.
    """
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
    if array.type == wanted:
        return array
    if isinstance(array, pa.ExtensionArray):
        return _fitted(array.storage, wanted)
    if isinstance(array, pa.DictionaryArray):
        return _fitted(array.dictionary_decode(), wanted)
    if pa.types.is_struct(array.type) and pa.types.is_struct(wanted):
        parts = [_fitted(pc.struct_field(array, field.name), field.type) for field in wanted]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=mask)
    if pa.types.is_list(array.type) and pa.types.is_list(wanted):
        values = _fitted(array.flatten(), wanted.value_type)
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        zero = pa.array([0], pa.int32())
        offsets = pa.concat_arrays([zero, pc.cumulative_sum(lengths).cast(pa.int32())])
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(offsets, values, type=wanted, mask=mask)
    if pa.types.is_map(array.type) and pa.types.is_map(wanted):
        return array.cast(wanted)
    return cast_array(array, wanted)


__all__ = ["arrow_schema", "fitted", "spark_schema", "spark_type"]
