"""Map stored columns to logical types and to the kernel's codecs.

The type comes from the table map or, if that lacks it, from the column's definition; the codec
depends on the storage format and the logical type.
"""

from __future__ import annotations

from typing import NamedTuple

from binx.errors import UnsupportedError
from binx.event.charset import DEFAULT_CHARSET, charset_or_default
from binx.event.collation import collation_charset
from binx.event.column import TEXT_TYPES, Column, ColumnType
from binx.event.format import Flavour
from binx.kernels.rows.images import Codec
from binx.rows.columns.charsets import bytes_per_character
from binx.rows.columns.schema import ColumnDefinition, Provenance
from binx.rows.columns.types import (
    BLOB_BASES,
    DECIMAL128_DIGITS,
    GEOMETRY_BASES,
    INTEGER_BASES,
    INTEGERS,
    KINDS,
    TEXT_BASES,
    ArrowOptions,
    Kind,
    LogicalType,
    as_bytes,
)

_BASES: dict[ColumnType, str] = {
    ColumnType.TINY: "tinyint",
    ColumnType.SHORT: "smallint",
    ColumnType.INT24: "mediumint",
    ColumnType.LONG: "int",
    ColumnType.LONGLONG: "bigint",
    ColumnType.FLOAT: "float",
    ColumnType.DOUBLE: "double",
    ColumnType.DECIMAL: "decimal",
    ColumnType.NEWDECIMAL: "decimal",
    ColumnType.BIT: "bit",
    ColumnType.DATE: "date",
    ColumnType.NEWDATE: "date",
    ColumnType.YEAR: "year",
    ColumnType.TIME: "time",
    ColumnType.TIME2: "time",
    ColumnType.DATETIME: "datetime",
    ColumnType.DATETIME2: "datetime",
    ColumnType.TIMESTAMP: "timestamp",
    ColumnType.TIMESTAMP2: "timestamp",
    ColumnType.STRING: "char",
    ColumnType.VARCHAR: "varchar",
    ColumnType.VAR_STRING: "varchar",
    ColumnType.MARIADB_VARCHAR_COMPRESSED: "varchar",
    ColumnType.BLOB: "blob",
    ColumnType.TINY_BLOB: "blob",
    ColumnType.MEDIUM_BLOB: "blob",
    ColumnType.LONG_BLOB: "blob",
    ColumnType.MARIADB_BLOB_COMPRESSED: "blob",
    ColumnType.ENUM: "enum",
    ColumnType.SET: "set",
    ColumnType.JSON: "json",
    ColumnType.TYPED_ARRAY: "json",
    ColumnType.GEOMETRY: "geometry",
    ColumnType.VECTOR: "vector",
    ColumnType.NULL: "binary",
}
"""The SQL type of each stored type; ``char``, ``varchar`` and ``blob`` may be bytes or text."""

_MARIADB_FIXED = {"inet4": 4, "inet6": 16, "uuid": 16}
"""MariaDB's types that are stored as BINARY, and their bytes."""

_OLD_TIMES: dict[ColumnType, tuple[Codec, tuple[int, ...]]] = {
    ColumnType.DATETIME: (Codec.CODEC_OLD_DATETIME, (8, 6, 6, 7, 7, 7, 8)),
    ColumnType.TIMESTAMP: (Codec.CODEC_OLD_TIMESTAMP, (4, 5, 5, 6, 6, 7, 7)),
    ColumnType.TIME: (Codec.CODEC_OLD_TIME, (3, 4, 4, 5, 5, 5, 6)),
}
"""Their codecs, and the bytes of a value by its fractional digits, which only MariaDB's had
(``Field_datetime_hires``, ``Field_timestamp_hires`` and ``Field_time_hires`` in its sql/field.cc)."""

MARIADB_COMPRESSED = frozenset({ColumnType.MARIADB_BLOB_COMPRESSED, ColumnType.MARIADB_VARCHAR_COMPRESSED})
"""Types whose values are compressed individually (MariaDB's ``COMPRESSED`` columns)."""

_MOST_DIGITS = 65


class TypeProvenance(NamedTuple):
    """The provenance of a type's facts; None if the type has no such fact."""

    signedness: Provenance | None = None
    charset: Provenance | None = None
    members: Provenance | None = None


_Result = tuple[LogicalType, TypeProvenance]


def logical_type(column: Column, known: ColumnDefinition | None, source: Provenance) -> _Result:
    """Return a stored column's logical type, and the provenance of its facts.

    Raises:
        UnsupportedError: the type cannot be in row images.
    """
    base = _BASES.get(column.type)
    if base is None:
        raise UnsupportedError(
            f"expected a column type that servers write, found {column.type.name} ({column.type.value});"
            " a newer binx may know it"
        )
    if base in {"char", "varchar", "blob"}:
        return _text_or_bytes(column, base, known, source)
    if base in {"enum", "set"}:
        return _members(column, base, known, source)
    if base in INTEGER_BASES:
        unsigned, origin = column.unsigned, Provenance.METADATA
        if unsigned is None:
            unsigned, origin = (False, Provenance.NONE) if known is None else (known.unsigned, source)
        return LogicalType(INTEGERS[base, unsigned], base), TypeProvenance(origin)
    return _sized_type(column, base, known), TypeProvenance()


def _sized_type(column: Column, base: str, known: ColumnDefinition | None) -> LogicalType:
    """Return the logical type of a column that has only sizes: no charset, members or sign."""
    metadata, kind = column.metadata, KINDS[base]
    length, scale = (None, None) if known is None else (known.length, known.scale)
    match base:
        case "datetime" | "timestamp" | "time":
            # For MariaDB's old types, only the definition has the fractional digits.
            return LogicalType(kind, base, fraction=(length or 0) if is_old_time(column) else metadata)
        case "decimal" if column.type is ColumnType.NEWDECIMAL and metadata:
            return LogicalType(kind, base, precision=metadata >> 8, scale=metadata & 0xFF)
        case "decimal":
            precision = _MOST_DIGITS if known is None else length or 0
            return LogicalType(kind, base, precision=precision, scale=scale or 0)
        case "bit":
            return LogicalType(Kind.BOOL if metadata == 1 else kind, base, length=metadata)
        case "geometry":
            number = column.geometry_type
            if number is not None and number < len(GEOMETRY_BASES):
                return LogicalType(kind, GEOMETRY_BASES[number])
            return LogicalType(kind, base if known is None else known.base)
        case "vector":
            length = length if column.dimensionality is None else column.dimensionality
            return LogicalType(kind, base, length=length)
    return LogicalType(kind, base, length=0 if column.type is ColumnType.NULL else None)


def _charset(column: Column, known: ColumnDefinition | None, source: Provenance) -> tuple[str, Provenance]:
    """Return the charset of a column's bytes, ``binary`` if they are not text."""
    logged = None if column.collation is None else collation_charset(column.collation)
    if logged is not None:
        return logged, Provenance.METADATA
    if known is not None and known.charset is not None:
        return known.charset, source
    return DEFAULT_CHARSET, Provenance.NONE


def _most_bytes(column: Column) -> int:
    """Return a value's maximum bytes; for MariaDB's compressed columns, the metadata counts one byte more."""
    compressed = column.type is ColumnType.MARIADB_VARCHAR_COMPRESSED
    return column.metadata - 1 if compressed and column.metadata else column.metadata


def _text_or_bytes(column: Column, base: str, known: ColumnDefinition | None, source: Provenance) -> _Result:
    """Resolve CHAR, VARCHAR, TEXT, BINARY, VARBINARY, BLOB, and MariaDB's types that are stored as these."""
    if known is not None and known.base == "vector" and base == "varchar":
        return LogicalType(Kind.VECTOR, "vector", length=known.length), TypeProvenance()
    if known is not None and known.base in _MARIADB_FIXED and base == "char":
        return LogicalType(KINDS[known.base], known.base, length=column.metadata), TypeProvenance()
    name, origin = _charset(column, known, source)
    length, characters = _most_bytes(column), None
    if base == "blob":
        size = min(max(column.metadata, 1), 4)
        length, base = (1 << 8 * size) - 1, TEXT_BASES[size - 1]
    elif origin is Provenance.NONE:
        characters = known.length if known is not None else None
    else:
        characters = length // bytes_per_character(name)
    if name == "binary":
        return LogicalType(Kind.BINARY, as_bytes(base), length=length), TypeProvenance(charset=origin)
    logical = LogicalType(Kind.TEXT, base, length=length, charset=name, characters=characters)
    return logical, TypeProvenance(charset=origin)


def _members(column: Column, base: str, known: ColumnDefinition | None, source: Provenance) -> _Result:
    name, charset_origin = _charset(column, known, source)
    members: tuple[str, ...] | None = None
    origin = Provenance.NONE
    if column.members is not None:
        members = tuple(map(charset_or_default(name).decode, column.members))
        origin = Provenance.METADATA
    elif known is not None and known.members is not None:
        members, origin = known.members, source
    provenance = TypeProvenance(charset=charset_origin, members=origin)
    return LogicalType(KINDS[base], base, charset=name, members=members), provenance


def compatible(column: Column, known: ColumnDefinition, flavour: Flavour) -> bool:
    """Whether a stored column can be the defined one: type, size and sign agree."""
    if column.type is ColumnType.NULL:
        return True
    base, defined, metadata, length = _BASES.get(column.type), known.base, column.metadata, known.length or 0
    if base in {"char", "varchar"}:
        if defined in _MARIADB_FIXED and base == "char":
            return metadata == _MARIADB_FIXED[defined]
        # MariaDB stores VECTOR as VARBINARY, four bytes per element.
        if defined == "vector" and base == "varchar":
            return metadata == 4 * length
        return defined in {base, as_bytes(base)} and _fits(column, known)
    if base == "blob":
        family = TEXT_BASES if defined in TEXT_BASES else BLOB_BASES
        return defined in family and (metadata == family.index(defined) + 1 or known.charset is None)
    if base == "geometry":
        return defined in GEOMETRY_BASES
    return defined == base and _same_size(column, known, flavour)


def _same_size(column: Column, known: ColumnDefinition, flavour: Flavour) -> bool:
    metadata, length, members = column.metadata, known.length or 0, len(known.members or ())
    match known.base:
        case "datetime" | "timestamp" | "time" if is_old_time(column):
            return flavour is Flavour.MARIADB or not length
        case "datetime" | "timestamp" | "time" | "bit":
            return metadata == length
        case "decimal":
            return column.type is ColumnType.DECIMAL or metadata in {0, length << 8 | (known.scale or 0)}
        case "enum":
            return metadata == (1 if members < 256 else 2)
        case "set":
            return metadata == (8 if members > 32 else (members + 7) // 8)
    return known.base not in INTEGER_BASES or column.unsigned in {None, known.unsigned}


def _fits(column: Column, known: ColumnDefinition) -> bool:
    """Whether the stored bytes match the declared characters, in at least one charset."""
    length, most_bytes = known.length or 0, _most_bytes(column)
    # Early servers of 5.1 wrote no metadata.
    if column.metadata == 0:
        return True
    if length == 0:
        return False
    if known.charset is not None:
        return most_bytes == length * bytes_per_character(known.charset)
    return most_bytes % length == 0 and most_bytes // length <= 4


def is_old_time(column: Column) -> bool:
    """Whether the column has a temporal format from before MySQL 5.6, whose fraction MariaDB does not log."""
    return column.type in _OLD_TIMES


def defined_width(column: Column, logical: LogicalType) -> int | None:
    """Return a value's size if only the table's definition gives it, not the table map; else None."""
    return _OLD_TIMES[column.type][1][logical.fraction] if is_old_time(column) else None


class ColumnCodec(NamedTuple):
    """A codec and its parameter, see ``binx/kernels/rows/images.pyx``."""

    codec: Codec
    parameter: int = 0


_SIGNED_CODECS: dict[ColumnType, Codec] = {
    ColumnType.TINY: Codec.CODEC_COPY1,
    ColumnType.SHORT: Codec.CODEC_COPY2,
    ColumnType.INT24: Codec.CODEC_INT24,
    ColumnType.LONG: Codec.CODEC_COPY4,
    ColumnType.LONGLONG: Codec.CODEC_COPY8,
}
_UNSIGNED_CODECS: dict[Kind, Codec] = {
    Kind.UINT8: Codec.CODEC_UINT8,
    Kind.UINT16: Codec.CODEC_UINT16,
    Kind.UINT24: Codec.CODEC_UINT24,
    Kind.UINT32: Codec.CODEC_UINT32,
    Kind.UINT64: Codec.CODEC_COPY8,
}
_OTHER_CODECS: dict[ColumnType, Codec] = {
    ColumnType.FLOAT: Codec.CODEC_COPY4,
    ColumnType.DOUBLE: Codec.CODEC_COPY8,
    ColumnType.NULL: Codec.CODEC_NULL,
    ColumnType.DATE: Codec.CODEC_DATE,
    ColumnType.NEWDATE: Codec.CODEC_DATE,
    ColumnType.YEAR: Codec.CODEC_YEAR,
    ColumnType.GEOMETRY: Codec.CODEC_GEOMETRY,
    ColumnType.VECTOR: Codec.CODEC_BYTES,
    ColumnType.SET: Codec.CODEC_SET,
}
_CODECS_WITH_METADATA: dict[ColumnType, Codec] = {
    ColumnType.DATETIME2: Codec.CODEC_DATETIME,
    ColumnType.TIMESTAMP2: Codec.CODEC_TIMESTAMP,
    ColumnType.TIME2: Codec.CODEC_TIME,
}
"""Types whose metadata, the digits of a second's fraction, is the codec's parameter."""


def column_codec(column: Column, logical: LogicalType, options: ArrowOptions) -> ColumnCodec:
    """Return a column's codec.

    Raises:
        UnsupportedError: no known server has the type in row images.
    """
    stored = column.type
    if stored in _SIGNED_CODECS:
        if logical.kind is Kind.UINT64 and options.unsigned_as_decimal:
            return ColumnCodec(Codec.CODEC_UINT64_DECIMAL)
        return ColumnCodec(_UNSIGNED_CODECS.get(logical.kind, _SIGNED_CODECS[stored]))
    if stored is ColumnType.JSON:
        return ColumnCodec(Codec.CODEC_JSON, int(options.exact_values))
    if stored in _OTHER_CODECS:
        return ColumnCodec(_OTHER_CODECS[stored])
    if stored in _OLD_TIMES:
        return ColumnCodec(_OLD_TIMES[stored][0], logical.fraction)
    if stored in _CODECS_WITH_METADATA:
        return ColumnCodec(_CODECS_WITH_METADATA[stored], column.metadata)
    if stored in TEXT_TYPES:
        if logical.padded_length is not None and stored is ColumnType.STRING:
            return ColumnCodec(Codec.CODEC_PADDED, logical.padded_length)
        return ColumnCodec(Codec.CODEC_BYTES)
    if stored is ColumnType.NEWDECIMAL:
        wide = logical.precision > DECIMAL128_DIGITS
        return ColumnCodec(Codec.CODEC_DECIMAL_TEXT if wide else Codec.CODEC_DECIMAL, column.metadata)
    if stored is ColumnType.BIT:
        return ColumnCodec(Codec.CODEC_BOOL if logical.kind is Kind.BOOL else Codec.CODEC_BITS)
    if stored is ColumnType.ENUM and logical.members is None:
        return ColumnCodec(Codec.CODEC_ENUM_NUMBER)
    if stored is ColumnType.ENUM:
        return ColumnCodec(Codec.CODEC_ENUM, len(logical.members or ()))
    raise UnsupportedError(
        f"expected a column type that row images hold, found {stored.name}"
        f" in column {column.name or '(without a name)'}",
        event="TABLE_MAP",
    )
