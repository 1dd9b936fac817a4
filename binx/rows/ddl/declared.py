"""The type of a column's values by its definition alone, where no row of the table was logged yet."""

from __future__ import annotations

from binx.rows.columns.schema import ColumnDefinition
from binx.rows.columns.types import INTEGERS, Kind, LogicalType
from binx.rows.ddl.types import BLOB_BASES, GEOMETRY_BASES, TEXT_BASES

_PLAIN = {
    "float": Kind.FLOAT32, "double": Kind.FLOAT64, "date": Kind.DATE, "year": Kind.YEAR, "json": Kind.JSON,
    "inet4": Kind.INET4, "inet6": Kind.INET6, "uuid": Kind.UUID,
}  # fmt: skip
_TIMES = {"datetime": Kind.DATETIME, "timestamp": Kind.TIMESTAMP, "time": Kind.TIME}


def declared_type(column: ColumnDefinition) -> LogicalType:
    """What a column holds that is defined so; the same as rows of it are read as."""
    base = column.base
    if (base, column.unsigned) in INTEGERS:
        return LogicalType(INTEGERS[base, column.unsigned], base)
    if base in _PLAIN:
        return LogicalType(_PLAIN[base], base)
    if base in _TIMES:
        return LogicalType(_TIMES[base], base, fraction=column.length or 0)
    if base == "decimal":
        return LogicalType(Kind.DECIMAL, base, precision=column.length or 10, scale=column.scale or 0)
    if base == "bit":
        return LogicalType(Kind.BOOL if column.length == 1 else Kind.BITS, base, length=column.length)
    if base in {"enum", "set"}:
        kind = Kind.ENUM if base == "enum" else Kind.SET
        return LogicalType(kind, base, charset=column.charset, members=column.members)
    if base in GEOMETRY_BASES:
        return LogicalType(Kind.GEOMETRY, base)
    if base == "vector":
        return LogicalType(Kind.VECTOR, base, length=column.length)
    if base in {"binary", "varbinary", *BLOB_BASES}:
        return LogicalType(Kind.BINARY, base, length=column.length)
    characters = None if base in TEXT_BASES else column.length
    return LogicalType(Kind.TEXT, base, charset=column.charset, characters=characters)


__all__ = ["declared_type"]
