"""Types as Spark and Delta have them, as Arrow types.

A column has the type that Spark gives it when reading the Parquet files of a data set, so that rows of both
can be united: unsigned integers become the next larger signed type or a decimal, TIME becomes a bigint of
microseconds. Spark does not accept unsigned integers and dictionaries from Python.
"""

from __future__ import annotations

import pyarrow as pa

_LARGER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.duration("us"): pa.int64(),
}


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the Arrow type that Spark has in place of this one."""
    if isinstance(kind, pa.BaseExtensionType):
        return spark_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, spark_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(spark_type(kind.value_type))
    return _LARGER.get(kind, kind)


def spark_types(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types that Spark has in place of its own."""
    return pa.schema([(field.name, spark_type(field.type)) for field in schema])
