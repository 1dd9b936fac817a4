"""Arrow's types for those of Spark, as which Spark reads Parquet that pyarrow wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

if TYPE_CHECKING:
    import pyarrow as pa

SORTABLE = (
    BinaryType, BooleanType, ByteType, DateType, DecimalType, IntegerType, LongType, ShortType, StringType,
    TimestampNTZType, TimestampType,
)  # fmt: skip
"""Types of which equal values are the same value: all but floating point, which has two zeros."""


def arrow_type(kind: DataType) -> pa.DataType:
    """The type that Spark reads as its own again."""
    import pyarrow as pa

    match kind:
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case ArrayType():
            return pa.list_(arrow_type(kind.elementType))
        case MapType():
            return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
        case StructType():
            return pa.struct([(one.name, arrow_type(one.dataType)) for one in kind.fields])
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case TimestampNTZType():
            return pa.timestamp("us")
    plain = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
    }
    return plain[kind.simpleString()]


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns of files that Spark reads with this schema."""
    import pyarrow as pa

    return pa.schema([(one.name, arrow_type(one.dataType)) for one in schema.fields])
