"""The schemas of exported files as Spark reads them, from the records that manifests list.

With a schema given, Spark opens no file before it runs, and files of one version are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from .manifests import SchemaRecord, TableName
from .outcome import LoadError

#: The columns in front of a table's own; files lack those that their table cannot have.
EXPORT_SCHEMA: tuple[tuple[str, DataType], ...] = (
    ("_change_type", StringType()),
    ("_commit_version", LongType()),
    ("_commit_timestamp", TimestampType()),
    ("_row", LongType()),
    ("_transaction", StringType()),
    ("_event_timestamp", TimestampType()),
    ("_position", LongType()),
    ("_present", BinaryType()),
    ("_json_diff", StringType()),
    ("_misfits", MapType(StringType(), StringType())),
)

_PLAIN: Mapping[str, DataType] = {
    "bool": BooleanType(),
    "int8": ByteType(),
    "int16": ShortType(),
    "uint8": ShortType(),
    "int32": IntegerType(),
    "uint16": IntegerType(),
    "int64": LongType(),
    "uint32": LongType(),
    "uint64": DecimalType(20, 0),
    "float": FloatType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
    "date32[day]": DateType(),
    "timestamp[us]": TimestampNTZType(),
    "timestamp[us, tz=UTC]": TimestampType(),
    "duration[us]": LongType(),
    "extension<arrow.json>": StringType(),
}
_DECIMAL = re.compile(r"decimal128\((\d+), (\d+)\)")
_DICTIONARY = re.compile(r"dictionary<values=(.+), indices=\w+, ordered=\d>")
_LIST = re.compile(r"list<\w+: (.+?)(?: not null)?>")
_STRUCT = re.compile(r"struct<(.+)>")
_MEMBER = re.compile(r"(\w+): ([^,]+?)(?: not null)?")


def spark_type(arrow: str) -> DataType:
    """The type as which Spark reads a column of the Arrow type, given as Arrow prints it.

    Raises:
        ValueError: no file of changes has columns of that type.
    """
    if arrow in _PLAIN:
        return _PLAIN[arrow]
    if found := _DECIMAL.fullmatch(arrow):
        return DecimalType(int(found[1]), int(found[2]))
    if found := _DICTIONARY.fullmatch(arrow):
        return spark_type(found[1])
    if found := _LIST.fullmatch(arrow):
        return ArrayType(spark_type(found[1]))
    if found := _STRUCT.fullmatch(arrow):
        members = [_MEMBER.fullmatch(member) for member in found[1].split(", ")]
        if all(members):
            return StructType([StructField(one[1], spark_type(one[2])) for one in members if one])
    raise ValueError(f"{arrow!r} is no type of the data set")


def file_schema(table: TableName, record: SchemaRecord) -> StructType:
    """The schema of the files of one version of a table.

    Raises:
        LoadError: the record does not tell the types.
    """
    try:
        own = [
            StructField(name, spark_type(kind))
            for name, kind in zip(record.columns, record.types, strict=True)
        ]
    except ValueError as error:
        raise LoadError(
            f"the schema record {record.version} of {table} lacks the column types ({error}): export"
            " the binary log again with this version of binx"
        ) from error
    return StructType([*(StructField(name, kind) for name, kind in EXPORT_SCHEMA), *own])
