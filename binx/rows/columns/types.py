"""Logical column types, and the SQL, Arrow and Avro types that they map to.

A :class:`LogicalType` is independent of how a server version encodes values:
signedness, character set, members and MariaDB's own
types are resolved. :mod:`binx.rows.columns.stored` derives it from a table map, :func:`declared_type`
from DDL. The decoder, Parquet, SQL and schema records share this mapping.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.rows.columns.schema import ColumnDefinition

if TYPE_CHECKING:
    import pyarrow

DECIMAL128_DIGITS = 38
"""Maximum digits of Arrow's decimal128; MySQL's DECIMAL has up to 65."""


@unique
class Kind(Enum):
    """The kinds of column values; each has one Arrow type for given options."""

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


INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

INTEGERS: dict[tuple[str, bool], Kind] = {
    (base, unsigned): Kind(f"{'u' if unsigned else ''}int{bits}")
    for unsigned in (False, True)
    for base, bits in INTEGER_BITS.items()
}
"""Integer kinds by SQL name and whether they are unsigned."""

INTEGER_NAMES: dict[Kind, str] = {
    kind: f"{name} unsigned" if unsigned else name for (name, unsigned), kind in INTEGERS.items()
}
INTEGER_RANGES: dict[Kind, range] = {
    kind: range(1 << bits) if unsigned else range(-(1 << bits - 1), 1 << bits - 1)
    for (name, unsigned), kind in INTEGERS.items()
    for bits in (INTEGER_BITS[name],)
}

INTEGER_BASES = frozenset(INTEGER_BITS)
GEOMETRY_BASES = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
)
"""In the order of the numbers that table maps give them (``Field::geometry_type``, sql/field.h)."""
TEXT_BASES = ("tinytext", "text", "mediumtext", "longtext")
BLOB_BASES = ("tinyblob", "blob", "mediumblob", "longblob")
CHARACTER_BASES = frozenset({"char", "varchar", *TEXT_BASES, "enum", "set"})
"""Types whose values have a charset."""

_BYTES_OF = {"char": "binary", "varchar": "varbinary", **dict(zip(TEXT_BASES, BLOB_BASES, strict=True))}

KINDS: dict[str, Kind] = {
    "float": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "bit": Kind.BITS,
    **{kind.value: kind for kind in Kind if kind not in INTEGER_NAMES},
    **dict.fromkeys(_BYTES_OF, Kind.TEXT),
    **dict.fromkeys(_BYTES_OF.values(), Kind.BINARY),
    **dict.fromkeys(GEOMETRY_BASES, Kind.GEOMETRY),
}
"""Kinds by SQL name, except integers."""


def as_bytes(base: str) -> str:
    """Return the binary type that replaces a text type with the BYTE attribute or CHARACTER SET binary."""
    return _BYTES_OF.get(base, base)


class LogicalType(NamedTuple):
    """The type of a column's values.

    Attributes:
        base: the type's name in SQL without arguments (``mediumtext``, ``point``), in lower case.
        length: BITS: bits; TEXT and BINARY: maximum bytes of a value, None if unknown;
            VECTOR: dimensions, None if unknown.
        precision: DECIMAL: total digits.
        scale: DECIMAL: digits after the point.
        fraction: DATETIME, TIMESTAMP, TIME: digits of the second's fraction, 0 to 6.
        charset: TEXT, ENUM, SET: the character set of the bytes.
        characters: CHAR and VARCHAR: maximum characters of a value; None if unknown.
        members: ENUM, SET: the members in order; None if unknown.
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
        """ENUM, SET: whether several numbers have the same text: a member is empty, or two are equal.

        The empty string is also an ENUM's error value, 0, and a SET without members.
        """
        names = ("", *(self.members or ()))
        return len(set(names)) != len(names)

    def set_text(self, number: int) -> str:
        """SET: return the members whose bits are set in a number, joined by commas."""
        return ",".join(member for bit, member in enumerate(self.members or ()) if number >> bit & 1)

    @property
    def padded_length(self) -> int | None:
        """BINARY(n): the length to which values are padded with 0x00, which the log strips."""
        return self.length if self.base == "binary" else None


def declared_type(column: ColumnDefinition) -> LogicalType:
    """Return the logical type of a declared column; equal to that of its logged rows."""
    base, length = column.base, column.length
    kind = INTEGERS[base, column.unsigned] if base in INTEGER_BASES else KINDS[base]
    match kind:
        case Kind.DATETIME | Kind.TIMESTAMP | Kind.TIME:
            return LogicalType(kind, base, fraction=length or 0)
        case Kind.DECIMAL:
            return LogicalType(kind, base, precision=length or 10, scale=column.scale or 0)
        case Kind.BITS:
            return LogicalType(Kind.BOOL if length == 1 else kind, base, length=length)
        case Kind.ENUM | Kind.SET:
            return LogicalType(kind, base, charset=column.charset, members=column.members)
        case Kind.VECTOR | Kind.BINARY:
            return LogicalType(kind, base, length=length)
        case Kind.TEXT:
            characters = None if base in TEXT_BASES else length
            return LogicalType(kind, base, charset=column.charset, characters=characters)
    return LogicalType(kind, base)


class ArrowOptions(NamedTuple):
    """User options for Arrow types.

    Args:
        unsigned_as_decimal: BIGINT UNSIGNED becomes decimal128(20, 0), not uint64.
        raw_text: leave CHAR, VARCHAR and TEXT as binary, in the column's own character set.
        exact_values: leave ENUM and SET as numbers if their members' texts are ambiguous, and write JSON
            documents as SQL expressions if their text does not show the types of all values.
    """

    unsigned_as_decimal: bool = False
    raw_text: bool = False
    exact_values: bool = False


DEFAULT_ARROW_OPTIONS = ArrowOptions()


_ESCAPED = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\0", "\n": "\\n", "\r": "\\r"})


def quote_text(text: str) -> str:
    """Write a string literal as servers show ENUM and SET members (sql/sql_show.cc, append_unescaped)."""
    return f"'{text.translate(_ESCAPED)}'"


def bytes_literal(digits: str) -> str:
    """Write bytes, given by hexadecimal digits, as a literal."""
    return f"x'{digits}'"


def mysql_name(logical: LogicalType) -> str:
    """Return the SQL type as in INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 8.0.19+.

    Unknown lengths, signedness and members are omitted; the character set is not included.
    """
    if logical.kind in INTEGER_NAMES:
        return INTEGER_NAMES[logical.kind]
    argument: int | str | None = None
    if logical.kind is Kind.DECIMAL:
        argument = f"{logical.precision},{logical.scale}"
    elif logical.fraction:
        argument = logical.fraction
    elif logical.members is not None:
        argument = ",".join(map(quote_text, logical.members)) or None
    elif logical.base in {"char", "varchar"}:
        argument = logical.characters
    elif logical.base in {"bit", "binary", "varbinary", "vector"}:
        argument = logical.length
    return logical.base if argument is None else f"{logical.base}({argument})"


_ARROW: dict[Kind, str] = {
    Kind.INT24: "int32",
    # Spark widens small unsigned Parquet types to wrong values, so they go one signed size up.
    Kind.UINT8: "int16",
    Kind.UINT16: "int32",
    Kind.UINT24: "int32",
    Kind.UINT32: "int64",
    Kind.BITS: "int64",
    Kind.DATE: "date32",
    Kind.DATETIME: "timestamp[us]",
    Kind.TIME: "duration[us]",
    Kind.YEAR: "int16",
    **dict.fromkeys((Kind.TEXT, Kind.SET, Kind.DECIMAL, Kind.INET4, Kind.INET6, Kind.UUID), "string"),
}
"""Arrow type names that differ from the kind's name."""


def arrow_type(logical: LogicalType, options: ArrowOptions = DEFAULT_ARROW_OPTIONS) -> pyarrow.DataType:
    """Return the Arrow type of the column's values.

    DECIMAL of more than 38 digits is a string. ENUM and SET are numbers if their members are unknown, or if
    some are equal and ``exact_values`` is set. JSON is a string with the ``arrow.json`` extension type.
    """
    # Here and not above, so that what needs no Arrow does not import it.
    import pyarrow as pa

    by_number = logical.members is None or (options.exact_values and logical.has_equal_members)
    match logical.kind:
        case Kind.DECIMAL if logical.precision <= DECIMAL128_DIGITS:
            return pa.decimal128(logical.precision, logical.scale)
        case Kind.UINT64 if options.unsigned_as_decimal:
            return pa.decimal128(20, 0)
        case Kind.BITS if logical.length == 64:
            return pa.uint64()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        case Kind.TEXT if options.raw_text:
            return pa.binary()
        case Kind.ENUM:
            return pa.uint16() if by_number else pa.dictionary(pa.int32(), pa.string())
        case Kind.SET if by_number:
            return pa.uint64()
        case Kind.JSON:
            return pa.json_(pa.string())
        case Kind.GEOMETRY:
            return pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())])
        case Kind.VECTOR:
            return pa.list_(pa.float32())
    return pa.type_for_alias(_ARROW.get(logical.kind, logical.kind.value))


_AVRO: dict[Kind, str | dict[str, Any]] = {
    **{kind: "long" if bounds.stop > 1 << 31 else "int" for kind, bounds in INTEGER_RANGES.items()},
    Kind.UINT64: {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0},
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BOOL: "boolean",
    Kind.BITS: "long",
    Kind.DATE: {"type": "int", "logicalType": "date"},
    Kind.DATETIME: {"type": "long", "logicalType": "local-timestamp-micros"},
    Kind.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    Kind.TIME: {"type": "long", "mysql": "time", "unit": "microseconds"},
    Kind.YEAR: "int",
    Kind.TEXT: "string",
    Kind.BINARY: "bytes",
}


def avro_type(logical: LogicalType, record_name: str = "geometry") -> str | dict[str, Any]:
    """Return the Avro type of the column's values (Avro specification 1.11, "Logical Types").

    Facts that Avro cannot express are in the attribute ``mysql``, which readers ignore: a TIME
    exceeds the range of ``time-micros``, so it is a long of microseconds; ENUM members need
    not be Avro names, so ENUM and SET are strings with ``members``.

    Args:
        record_name: the record name for a GEOMETRY; unique in its schema.
    """
    uint64 = _AVRO[Kind.UINT64]
    assert isinstance(uint64, dict)
    match logical.kind:
        case Kind.BITS if logical.length == 64:
            return uint64
        case Kind.DECIMAL if logical.precision > DECIMAL128_DIGITS:
            return {"type": "string", "mysql": mysql_name(logical)}
        case Kind.DECIMAL:
            return {**uint64, "precision": logical.precision, "scale": logical.scale}
        case Kind.ENUM | Kind.SET if logical.members is not None:
            return {"type": "string", "mysql": logical.base, "members": list(logical.members)}
        case Kind.ENUM:
            return {"type": "int", "mysql": "enum"}
        case Kind.SET:
            return {**uint64, "mysql": "set"}
        case Kind.JSON | Kind.INET4 | Kind.INET6 | Kind.UUID:
            return {"type": "string", "mysql": logical.base}
        case Kind.VECTOR:
            return {"type": "array", "items": "float", "mysql": mysql_name(logical)}
        case Kind.GEOMETRY:
            fields = [{"name": "srid", "type": "long"}, {"name": "wkb", "type": "bytes"}]
            return {"type": "record", "name": record_name, "fields": fields, "mysql": logical.base}
    return _AVRO[logical.kind]


def can_misfit(logical: LogicalType) -> bool:
    """Whether the column may have values that the Arrow type cannot hold.

    Zero and partial dates, a TIMESTAMP of 0, and ENUM or SET numbers beyond the known members.
    """
    if logical.kind in {Kind.ENUM, Kind.SET}:
        return logical.members is not None
    return logical.kind in {Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP}
