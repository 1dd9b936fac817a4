"""Names and schemas of Spark for Arrow types, as pyspark converts them."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binx.lake.published.spark_types import spark_types

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def sql_name(kind: pa.DataType) -> str:
    """Return the name in Spark SQL of a type that Spark has, as ``simpleString`` spells it."""
    from pyspark.sql.pandas.types import from_arrow_type

    return str(from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString())


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
