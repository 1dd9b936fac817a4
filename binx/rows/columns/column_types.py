"""From a column as row images store it to the type that a reader understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.errors import UnsupportedError
from binx.event.charset import DEFAULT_CHARSET, charset
from binx.event.collation import collation_charset
from binx.event.column import Column, ColumnType
from binx.event.format import Flavour
from binx.rows.columns.charsets import bytes_per_character
from binx.rows.columns.schema import ColumnDefinition, Provenance
from binx.rows.columns.types import INTEGERS, Kind, LogicalType
from binx.rows.ddl.types import BLOB_BASES, GEOMETRY_BASES, TEXT_BASES

_INTEGER_BASES: dict[ColumnType, str] = {
    ColumnType.TINY: "tinyint",
    ColumnType.SHORT: "smallint",
    ColumnType.INT24: "mediumint",
    ColumnType.LONG: "int",
    ColumnType.LONGLONG: "bigint",
}
_SIMPLE: dict[ColumnType, tuple[Kind, str]] = {
    ColumnType.FLOAT: (Kind.FLOAT32, "float"),
    ColumnType.DOUBLE: (Kind.FLOAT64, "double"),
    ColumnType.DATE: (Kind.DATE, "date"),
    ColumnType.NEWDATE: (Kind.DATE, "date"),
    ColumnType.YEAR: (Kind.YEAR, "year"),
    ColumnType.JSON: (Kind.JSON, "json"),
    ColumnType.TYPED_ARRAY: (Kind.JSON, "json"),
    ColumnType.NULL: (Kind.BINARY, "binary"),
}
_TEMPORAL: dict[ColumnType, tuple[Kind, str]] = {
    ColumnType.TIME: (Kind.TIME, "time"),
    ColumnType.TIME2: (Kind.TIME, "time"),
    ColumnType.DATETIME: (Kind.DATETIME, "datetime"),
    ColumnType.DATETIME2: (Kind.DATETIME, "datetime"),
    ColumnType.TIMESTAMP: (Kind.TIMESTAMP, "timestamp"),
    ColumnType.TIMESTAMP2: (Kind.TIMESTAMP, "timestamp"),
}
_OLD_TEMPORAL = frozenset({ColumnType.TIME, ColumnType.DATETIME, ColumnType.TIMESTAMP})
_VARIABLE = frozenset({ColumnType.VARCHAR, ColumnType.VAR_STRING, ColumnType.MARIADB_VARCHAR_COMPRESSED})
_BLOBS = frozenset(
    {
        ColumnType.BLOB,
        ColumnType.TINY_BLOB,
        ColumnType.MEDIUM_BLOB,
        ColumnType.LONG_BLOB,
        ColumnType.MARIADB_BLOB_COMPRESSED,
    }
)
_MARIADB_FIXED = {"inet4": Kind.INET4, "inet6": Kind.INET6, "uuid": Kind.UUID}
_MARIADB_FIXED_BYTES = {"inet4": 4, "inet6": 16, "uuid": 16}
_MOST_DIGITS = 65


class TypeProvenance(NamedTuple):
    """Where the facts of a type come from; None where the type has no such fact."""

    signedness: Provenance | None = None
    charset: Provenance | None = None
    members: Provenance | None = None


_Result = tuple[LogicalType, TypeProvenance]


def logical_type(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    """What a column holds, and where that is known from.

    Raises:
        UnsupportedError: a type that no row image can hold.
    """
    if column.type in _INTEGER_BASES:
        return _integer(column, known, source)
    if column.type in _SIMPLE:
        kind, base = _SIMPLE[column.type]
        return LogicalType(kind, base, length=0 if column.type is ColumnType.NULL else None), TypeProvenance()
    if column.type in _TEMPORAL:
        kind, base = _TEMPORAL[column.type]
        return LogicalType(kind, base, fraction=_fraction(column, known)), TypeProvenance()
    if column.type in _VARIABLE:
        return _characters(column, known, source, ("varchar", "varbinary"))
    if column.type in _BLOBS:
        return _blob(column, known, source)
    if column.type in _OTHERS:
        return _OTHERS[column.type](column, known, source)
    raise UnsupportedError(
        f"expected a column type that servers write, found {column.type.name} ({column.type.value});"
        " a newer binx may know it"
    )


def _integer(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    base = _INTEGER_BASES[column.type]
    if column.unsigned is not None:
        return LogicalType(INTEGERS[base, column.unsigned], base), TypeProvenance(Provenance.METADATA)
    if known is not None:
        return LogicalType(INTEGERS[base, known.unsigned], base), TypeProvenance(source)
    return LogicalType(INTEGERS[base, False], base), TypeProvenance(Provenance.NONE)


def _fraction(column: Column, known: ColumnDefinition | None) -> int:
    """Digits of the second's fraction; of MariaDB's old types only the definition tells them."""
    if column.type not in _OLD_TEMPORAL:
        return column.metadata
    return (known.length or 0) if known is not None else 0


def _decimal(column: Column, known: ColumnDefinition | None, _: Provenance) -> _Result:
    if column.type is ColumnType.NEWDECIMAL and column.metadata:
        precision, scale = column.metadata >> 8, column.metadata & 0xFF
    elif known is not None:
        precision, scale = known.length or 0, known.scale or 0
    else:
        precision, scale = _MOST_DIGITS, 0
    return LogicalType(Kind.DECIMAL, "decimal", precision=precision, scale=scale), TypeProvenance()


def _bits(column: Column, _: ColumnDefinition | None, __: Provenance) -> _Result:
    kind = Kind.BOOL if column.metadata == 1 else Kind.BITS
    return LogicalType(kind, "bit", length=column.metadata), TypeProvenance()


def _charset(column: Column, known: ColumnDefinition | None, source: Provenance) -> tuple[str, Provenance]:
    """The charset of a column's bytes: ``binary`` where they are no text."""
    if column.collation is not None:
        found = collation_charset(column.collation)
        if found is not None:
            return found, Provenance.METADATA
    if known is not None and known.charset is not None:
        return known.charset, source
    return DEFAULT_CHARSET, Provenance.NONE


def _most_bytes(column: Column) -> int:
    """The most bytes of a value; MariaDB's compressed columns count a byte before it too."""
    compressed = column.type is ColumnType.MARIADB_VARCHAR_COMPRESSED
    return column.metadata - 1 if compressed and column.metadata else column.metadata


def _characters(
    column: Column, known: ColumnDefinition | None, source: Provenance, bases: tuple[str, str]
) -> _Result:
    """CHAR and VARCHAR, or BINARY and VARBINARY where the charset is binary."""
    if known is not None and known.base == "vector":
        return LogicalType(Kind.VECTOR, "vector", length=known.length), TypeProvenance()
    name, origin = _charset(column, known, source)
    if name == "binary":
        return LogicalType(Kind.BINARY, bases[1], length=_most_bytes(column)), TypeProvenance(charset=origin)
    characters: int | None = _most_bytes(column) // bytes_per_character(name)
    if origin is Provenance.NONE:
        characters = known.length if known is not None else None
    return (
        LogicalType(Kind.TEXT, bases[0], length=_most_bytes(column), charset=name, characters=characters),
        TypeProvenance(charset=origin),
    )


def _fixed(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    if known is not None and known.base in _MARIADB_FIXED:
        kind = _MARIADB_FIXED[known.base]
        return LogicalType(kind, known.base, length=column.metadata), TypeProvenance()
    return _characters(column, known, source, ("char", "binary"))


def _blob(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    place = min(max(column.metadata, 1), 4) - 1
    capacity = (1 << 8 * (place + 1)) - 1
    name, origin = _charset(column, known, source)
    if name == "binary":
        return LogicalType(Kind.BINARY, BLOB_BASES[place], length=capacity), TypeProvenance(charset=origin)
    return (
        LogicalType(Kind.TEXT, TEXT_BASES[place], length=capacity, charset=name),
        TypeProvenance(charset=origin),
    )


def _members(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    kind, base = (Kind.ENUM, "enum") if column.type is ColumnType.ENUM else (Kind.SET, "set")
    name, charset_origin = _charset(column, known, source)
    members: tuple[str, ...] | None = None
    origin = Provenance.NONE
    if column.members is not None:
        known_charset = charset(name) or charset(DEFAULT_CHARSET)
        assert known_charset is not None
        members = tuple(known_charset.decode(member) for member in column.members)
        origin = Provenance.METADATA
    elif known is not None and known.members is not None:
        members, origin = known.members, source
    return (
        LogicalType(kind, base, charset=name, members=members),
        TypeProvenance(charset=charset_origin, members=origin),
    )


def _geometry(column: Column, known: ColumnDefinition | None, _: Provenance) -> _Result:
    base = known.base if known is not None else "geometry"
    if column.geometry_type is not None and column.geometry_type < len(GEOMETRY_BASES):
        base = GEOMETRY_BASES[column.geometry_type]
    return LogicalType(Kind.GEOMETRY, base), TypeProvenance()


def _vector(column: Column, known: ColumnDefinition | None, _: Provenance) -> _Result:
    length = column.dimensionality
    if length is None and known is not None:
        length = known.length
    return LogicalType(Kind.VECTOR, "vector", length=length), TypeProvenance()


_OTHERS: dict[ColumnType, Callable[[Column, ColumnDefinition | None, Provenance], _Result]] = {
    ColumnType.DECIMAL: _decimal,
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.BIT: _bits,
    ColumnType.STRING: _fixed,
    ColumnType.ENUM: _members,
    ColumnType.SET: _members,
    ColumnType.GEOMETRY: _geometry,
    ColumnType.VECTOR: _vector,
}


def compatible(column: Column, known: ColumnDefinition, flavour: Flavour) -> bool:
    """Whether what is stored can be the column that was defined: its type, size and sign agree."""
    if column.unsigned is not None and column.type in _INTEGER_BASES and column.unsigned != known.unsigned:
        return False
    if column.type in _INTEGER_BASES:
        return known.base == _INTEGER_BASES[column.type]
    if column.type in _SIMPLE:
        return known.base == _SIMPLE[column.type][1] or column.type is ColumnType.NULL
    if column.type in _TEMPORAL:
        return known.base == _TEMPORAL[column.type][1] and _same_fraction(column, known, flavour)
    check = _CHECKS.get(column.type)
    return check is not None and check(column, known)


def _same_fraction(column: Column, known: ColumnDefinition, flavour: Flavour) -> bool:
    if column.type in _OLD_TEMPORAL:
        return flavour is Flavour.MARIADB or not known.length
    return column.metadata == (known.length or 0)


def _is_decimal(column: Column, known: ColumnDefinition) -> bool:
    if known.base != "decimal":
        return False
    if column.type is ColumnType.DECIMAL or column.metadata == 0:
        return True
    return column.metadata == (known.length or 0) << 8 | (known.scale or 0)


def _is_bits(column: Column, known: ColumnDefinition) -> bool:
    return known.base == "bit" and column.metadata == known.length


def _is_variable(column: Column, known: ColumnDefinition) -> bool:
    # MariaDB stores VECTOR as VARBINARY, four bytes an element.
    if known.base == "vector":
        return column.metadata == 4 * (known.length or 0)
    return known.base in {"varchar", "varbinary"} and _fits(column, known)


def _is_fixed(column: Column, known: ColumnDefinition) -> bool:
    if known.base in _MARIADB_FIXED_BYTES:
        return column.metadata == _MARIADB_FIXED_BYTES[known.base]
    return known.base in {"char", "binary"} and _fits(column, known)


def _fits(column: Column, known: ColumnDefinition) -> bool:
    """Whether the bytes stored are as many as the declared characters take, in some charset at least."""
    length, most_bytes = known.length or 0, _most_bytes(column)
    # The first servers of 5.1 wrote no metadata at all.
    if column.metadata == 0:
        return True
    if length == 0:
        return False
    if known.charset is not None:
        return most_bytes == length * bytes_per_character(known.charset)
    return most_bytes % length == 0 and most_bytes // length <= 4


def _is_blob(column: Column, known: ColumnDefinition) -> bool:
    family = TEXT_BASES if known.base in TEXT_BASES else BLOB_BASES
    return known.base in family and (column.metadata == family.index(known.base) + 1 or known.charset is None)


def _is_enum(column: Column, known: ColumnDefinition) -> bool:
    count = len(known.members or ())
    return known.base == "enum" and column.metadata == (1 if count < 256 else 2)


def _is_set(column: Column, known: ColumnDefinition) -> bool:
    needed = (len(known.members or ()) + 7) // 8
    return known.base == "set" and column.metadata == (8 if needed > 4 else needed)


def _is_geometry(_: Column, known: ColumnDefinition) -> bool:
    return known.base in GEOMETRY_BASES


def _is_vector(_: Column, known: ColumnDefinition) -> bool:
    return known.base == "vector"


_CHECKS: dict[ColumnType, Callable[[Column, ColumnDefinition], bool]] = {
    ColumnType.DECIMAL: _is_decimal,
    ColumnType.NEWDECIMAL: _is_decimal,
    ColumnType.BIT: _is_bits,
    ColumnType.STRING: _is_fixed,
    ColumnType.ENUM: _is_enum,
    ColumnType.SET: _is_set,
    ColumnType.GEOMETRY: _is_geometry,
    ColumnType.VECTOR: _is_vector,
    **dict.fromkeys(_VARIABLE, _is_variable),
    **dict.fromkeys(_BLOBS, _is_blob),
}
