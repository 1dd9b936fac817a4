"""What each column type becomes: the one table that decoder, Parquet, SQL and schema records share.

A :class:`LogicalType` is a column as a reader understands it, freed from how a
server version encodes it: signedness, character set, members and MariaDB's own
types are settled. :mod:`binx.rows.columns.names` makes it from a table map and from DDL;
the functions here say what it is called in SQL, Arrow and Avro.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, unique
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow

DECIMAL128_DIGITS = 38
"""Digits that Arrow's decimal128 holds; MySQL's DECIMAL goes to 65."""


@unique
class Kind(Enum):
    """The kinds of values a column holds; each has one Arrow type, given its options."""

    INT8 = "int8"
    INT16 = "int16"
    INT24 = "int24"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT24 = "uint24"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal"
    BOOL = "bool"
    BITS = "bits"
    DATE = "date"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    TIME = "time"
    YEAR = "year"
    TEXT = "text"
    BINARY = "binary"
    ENUM = "enum"
    SET = "set"
    JSON = "json"
    GEOMETRY = "geometry"
    VECTOR = "vector"
    INET4 = "inet4"
    INET6 = "inet6"
    UUID = "uuid"


INTEGERS: dict[tuple[str, bool], Kind] = {
    ("tinyint", False): Kind.INT8,
    ("smallint", False): Kind.INT16,
    ("mediumint", False): Kind.INT24,
    ("int", False): Kind.INT32,
    ("bigint", False): Kind.INT64,
    ("tinyint", True): Kind.UINT8,
    ("smallint", True): Kind.UINT16,
    ("mediumint", True): Kind.UINT24,
    ("int", True): Kind.UINT32,
    ("bigint", True): Kind.UINT64,
}
"""The integer kinds by their SQL name and whether they are unsigned."""

INTEGER_NAMES: dict[Kind, str] = {
    kind: f"{name} unsigned" if unsigned else name for (name, unsigned), kind in INTEGERS.items()
}


class LogicalType(NamedTuple):
    """The type of a column's values.

    Attributes:
        base: the type's name in SQL without arguments (``mediumtext``, ``point``), in lower case.
        length: BITS: bits; TEXT and BINARY: the most bytes a value takes, None where unknown;
            VECTOR: dimensions, None where unknown.
        precision: DECIMAL: digits in all.
        scale: DECIMAL: digits after the point.
        fraction: DATETIME, TIMESTAMP, TIME: digits of the second's fraction, 0 to 6.
        charset: TEXT, ENUM, SET: the character set of the bytes.
        characters: CHAR and VARCHAR: the most characters a value has, None where unknown.
        members: ENUM, SET: the members in order, None where they are unknown.
    """

    kind: Kind
    base: str
    length: int | None = None
    precision: int = 0
    scale: int = 0
    fraction: int = 0
    charset: str | None = None
    characters: int | None = None
    members: tuple[str, ...] | None = None

    @property
    def has_equal_members(self) -> bool:
        """ENUM, SET: whether several numbers have the same text: one member is empty, or two are alike.

        The empty text is an ENUM's error value, 0, and a SET without members too.
        """
        names = ("", *(self.members or ()))
        return len(set(names)) != len(names)

    @property
    def padded_length(self) -> int | None:
        """BINARY(n): the bytes that each value is filled up to with 0x00, as the log strips them."""
        return self.length if self.base == "binary" else None


class ArrowOptions(NamedTuple):
    """What a user may choose about Arrow types.

    Args:
        unsigned_as_decimal: BIGINT UNSIGNED becomes decimal128(20, 0), not uint64.
        raw_text: leave CHAR, VARCHAR and TEXT as binary, in the column's own character set.
        exact_members: leave ENUM and SET as numbers where texts of members do not tell these.
    """

    unsigned_as_decimal: bool = False
    raw_text: bool = False
    exact_members: bool = False


DEFAULT_ARROW_OPTIONS = ArrowOptions()


_ESCAPED = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\0", "\n": "\\n", "\r": "\\r"})


def quote_text(text: str) -> str:
    """Write a string literal as servers show ENUM and SET members (sql/sql_show.cc, append_unescaped)."""
    return f"'{text.translate(_ESCAPED)}'"


def mysql_name(logical: LogicalType) -> str:
    """How SQL writes the type, as INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 8.0.19+ does.

    Lengths, signedness and members that are unknown are left out; the character set is no part of it.
    """
    if logical.kind in INTEGER_NAMES:
        return INTEGER_NAMES[logical.kind]
    argument = ""
    if logical.kind is Kind.DECIMAL:
        argument = f"{logical.precision},{logical.scale}"
    elif logical.fraction:
        argument = str(logical.fraction)
    elif logical.members is not None:
        argument = ",".join(quote_text(member) for member in logical.members)
    elif logical.base in {"char", "varchar"}:
        argument = "" if logical.characters is None else str(logical.characters)
    elif logical.base in {"bit", "binary", "varbinary", "vector"}:
        argument = "" if logical.length is None else str(logical.length)
    return f"{logical.base}({argument})" if argument else logical.base


@cache
def _arrow_table() -> dict[Kind, Callable[[LogicalType, ArrowOptions], pyarrow.DataType]]:
    """Kind to Arrow type; in a function, so that what needs no Arrow does not import it."""
    import pyarrow as pa

    def decimal(logical: LogicalType, _: ArrowOptions) -> pyarrow.DataType:
        if logical.precision > DECIMAL128_DIGITS:
            return pa.string()
        return pa.decimal128(logical.precision, logical.scale)

    def unsigned_bigint(_: LogicalType, options: ArrowOptions) -> pyarrow.DataType:
        return pa.decimal128(20, 0) if options.unsigned_as_decimal else pa.uint64()

    # Spark widens small unsigned Parquet types to wrong values, so they go one signed size up.
    return {
        Kind.INT8: lambda _, __: pa.int8(),
        Kind.INT16: lambda _, __: pa.int16(),
        Kind.INT24: lambda _, __: pa.int32(),
        Kind.INT32: lambda _, __: pa.int32(),
        Kind.INT64: lambda _, __: pa.int64(),
        Kind.UINT8: lambda _, __: pa.int16(),
        Kind.UINT16: lambda _, __: pa.int32(),
        Kind.UINT24: lambda _, __: pa.int32(),
        Kind.UINT32: lambda _, __: pa.int64(),
        Kind.UINT64: unsigned_bigint,
        Kind.FLOAT32: lambda _, __: pa.float32(),
        Kind.FLOAT64: lambda _, __: pa.float64(),
        Kind.DECIMAL: decimal,
        Kind.BOOL: lambda _, __: pa.bool_(),
        Kind.BITS: lambda logical, _: pa.uint64() if logical.length == 64 else pa.int64(),
        Kind.DATE: lambda _, __: pa.date32(),
        Kind.DATETIME: lambda _, __: pa.timestamp("us"),
        Kind.TIMESTAMP: lambda _, __: pa.timestamp("us", tz="UTC"),
        Kind.TIME: lambda _, __: pa.duration("us"),
        Kind.YEAR: lambda _, __: pa.int16(),
        Kind.TEXT: lambda _, options: pa.binary() if options.raw_text else pa.string(),
        Kind.BINARY: lambda _, __: pa.binary(),
        Kind.ENUM: lambda logical, options: (
            pa.uint16() if _by_number(logical, options) else pa.dictionary(pa.int32(), pa.string())
        ),
        Kind.SET: lambda logical, options: pa.uint64() if _by_number(logical, options) else pa.string(),
        Kind.JSON: lambda _, __: pa.json_(pa.string()),
        Kind.GEOMETRY: lambda _, __: pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())]),
        Kind.VECTOR: lambda _, __: pa.list_(pa.float32()),
        Kind.INET4: lambda _, __: pa.string(),
        Kind.INET6: lambda _, __: pa.string(),
        Kind.UUID: lambda _, __: pa.string(),
    }


def _by_number(logical: LogicalType, options: ArrowOptions) -> bool:
    """Whether the values of an ENUM or SET are written as the numbers that are logged."""
    return logical.members is None or (options.exact_members and logical.has_equal_members)


def arrow_type(logical: LogicalType, options: ArrowOptions = DEFAULT_ARROW_OPTIONS) -> pyarrow.DataType:
    """The Arrow type that the column's values are written as.

    DECIMAL of more than 38 digits is a string, ENUM and SET without known members are their
    numbers, also those with members that are alike where they are to be exact; JSON is a string with
    the ``arrow.json`` extension type.
    """
    return _arrow_table()[logical.kind](logical, options)


_AvroType: TypeAlias = "str | dict[str, Any]"


def _avro_uint64(extra: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0, **(extra or {})}


def _avro_decimal(logical: LogicalType) -> dict[str, Any]:
    if logical.precision > DECIMAL128_DIGITS:
        return {"type": "string", "mysql": mysql_name(logical)}
    return {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": logical.precision,
        "scale": logical.scale,
    }


def _avro_named_string(logical: LogicalType) -> dict[str, Any]:
    return {"type": "string", "mysql": logical.base}


def _avro_members(logical: LogicalType) -> dict[str, Any]:
    if logical.members is not None:
        return {**_avro_named_string(logical), "members": list(logical.members)}
    return {"type": "int", "mysql": "enum"} if logical.kind is Kind.ENUM else _avro_uint64({"mysql": "set"})


_AVRO: dict[Kind, Callable[[LogicalType], _AvroType]] = {
    Kind.INT8: lambda _: "int",
    Kind.INT16: lambda _: "int",
    Kind.INT24: lambda _: "int",
    Kind.INT32: lambda _: "int",
    Kind.INT64: lambda _: "long",
    Kind.UINT8: lambda _: "int",
    Kind.UINT16: lambda _: "int",
    Kind.UINT24: lambda _: "int",
    Kind.UINT32: lambda _: "long",
    Kind.UINT64: lambda _: _avro_uint64(),
    Kind.FLOAT32: lambda _: "float",
    Kind.FLOAT64: lambda _: "double",
    Kind.DECIMAL: _avro_decimal,
    Kind.BOOL: lambda _: "boolean",
    Kind.BITS: lambda logical: _avro_uint64() if logical.length == 64 else "long",
    Kind.DATE: lambda _: {"type": "int", "logicalType": "date"},
    Kind.DATETIME: lambda _: {"type": "long", "logicalType": "local-timestamp-micros"},
    Kind.TIMESTAMP: lambda _: {"type": "long", "logicalType": "timestamp-micros"},
    Kind.TIME: lambda _: {"type": "long", "mysql": "time", "unit": "microseconds"},
    Kind.YEAR: lambda _: "int",
    Kind.TEXT: lambda _: "string",
    Kind.BINARY: lambda _: "bytes",
    Kind.ENUM: _avro_members,
    Kind.SET: _avro_members,
    Kind.JSON: _avro_named_string,
    Kind.VECTOR: lambda logical: {"type": "array", "items": "float", "mysql": mysql_name(logical)},
    Kind.INET4: _avro_named_string,
    Kind.INET6: _avro_named_string,
    Kind.UUID: _avro_named_string,
}


def avro_type(logical: LogicalType, record_name: str = "geometry") -> str | dict[str, Any]:
    """The Avro type of the same values (Avro specification 1.11, "Logical Types").

    What Avro cannot say stands in the attribute ``mysql``, which readers ignore: a TIME
    exceeds ``time-micros`` on both sides, so it is a long of microseconds; ENUM members need
    not be Avro names, so ENUM and SET are strings with ``members``.

    Args:
        record_name: the name of the record that a GEOMETRY becomes; unique in its schema.
    """
    if logical.kind is Kind.GEOMETRY:
        fields = [{"name": "srid", "type": "long"}, {"name": "wkb", "type": "bytes"}]
        return {"type": "record", "name": record_name, "fields": fields, "mysql": logical.base}
    return _AVRO[logical.kind](logical)


def can_misfit(logical: LogicalType) -> bool:
    """Whether a server may hold a value in such a column that the Arrow type cannot.

    Zero and partial dates, a TIMESTAMP of 0, and ENUM or SET numbers beyond the known members.
    """
    if logical.kind in {Kind.ENUM, Kind.SET}:
        return logical.members is not None
    return logical.kind in {Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP}
