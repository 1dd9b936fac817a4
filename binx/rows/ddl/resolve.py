"""Resolve a column definition as the server does: defaults, sizes, charsets, the text of the type."""

from __future__ import annotations

from binx.event.charset import charset_or_default
from binx.rows.columns.charsets import (
    Literals,
    bytes_per_character,
    charset_of_collation,
    full_collation_name,
    reread_members,
    stored_members,
    stored_text,
)
from binx.rows.columns.schema import ColumnDefinition, Default, DefaultKind, StatementContext
from binx.rows.columns.types import (
    BLOB_BASES,
    CHARACTER_BASES,
    GEOMETRY_BASES,
    INTEGER_BASES,
    TEXT_BASES,
    as_bytes,
    declared_type,
    mysql_name,
)
from binx.rows.ddl.parsed_statements import VERSIONED, ColumnSpec, DeclaredCharset
from binx.rows.ddl.tokens import identifier

_CAPACITIES = (0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF)
_MOST_VARCHAR_BYTES = 0xFFFF
_ZEROFILL_WIDTHS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}
_NUMBERS = frozenset({*INTEGER_BASES, "float", "double", "decimal", "year"})
_BYTES = frozenset({"binary", "varbinary", *BLOB_BASES})
_DEFAULT_LENGTHS = {"char": 1, "binary": 1, "bit": 1, "vector": 2048}
_FLOAT_PRECISION = 24
"""FLOAT(p) is a DOUBLE beyond these bits."""


def _sized(family: tuple[str, ...], length: int) -> str:
    """Return the smallest type of TINYBLOB … LONGBLOB or TINYTEXT … LONGTEXT for ``length`` bytes."""
    holding = (name for name, capacity in zip(family, _CAPACITIES, strict=True) if length <= capacity)
    return next(holding, family[-1])


def _charset_name(spec: ColumnSpec, table: DeclaredCharset) -> str | None:
    return spec.charset or charset_of_collation(spec.collation) or table.charset


def _character_set(spec: ColumnSpec, table: DeclaredCharset, context: StatementContext) -> DeclaredCharset:
    """Return the charset and collation of a text column."""
    charset = _charset_name(spec, table)
    collation = full_collation_name(spec.collation, charset)
    if collation is None and spec.binary and charset is not None:
        collation = f"{charset}_bin"
    elif spec.collation is None and spec.charset is None:
        collation = table.collation
    elif collation is None:
        collation = dict(context.collations).get(charset or "")
    return DeclaredCharset(charset, collation)


def _with_size(spec: ColumnSpec, charset: DeclaredCharset, context: StatementContext) -> ColumnSpec:
    """Choose the size class for TEXT(n), BLOB(n) or a VARCHAR that is too long."""
    length = spec.arguments[0] if spec.arguments else 0
    is_text = spec.base in {"text", "varchar"}
    size = length * bytes_per_character(charset.charset) if is_text else length
    # Only MySQL 8 and newer take a length of 0 for one.
    takes_0 = not context.mariadb and (context.version is None or context.version >= 80000)
    is_sized = spec.base in {"text", "blob"} and spec.arguments and (length or takes_0)
    if is_sized or (spec.base in {"varchar", "varbinary"} and size > _MOST_VARCHAR_BYTES):
        return spec._replace(base=_sized(TEXT_BASES if is_text else BLOB_BASES, size), arguments=())
    return spec


def resolve_column(spec: ColumnSpec, table: DeclaredCharset, context: StatementContext) -> ColumnDefinition:
    """Return the column that the server creates from a column's specification."""
    charset = DeclaredCharset()
    members: tuple[str, ...] | None = None
    if spec.base in CHARACTER_BASES:
        charset = _character_set(spec, table, context)
        if charset.charset == "binary" and spec.base not in {"enum", "set"}:
            spec = spec._replace(base=as_bytes(spec.base))
        literals = Literals(context.literals, context.client)
        members = stored_members(spec.members, charset.charset, literals)
    spec = _with_size(spec, charset, context)
    if spec.base in _BYTES:
        charset = DeclaredCharset("binary", None)
    length, scale = _length_and_scale(spec)
    base = spec.base
    if base == "float" and len(spec.arguments) == 1:
        base = "float" if spec.arguments[0] <= _FLOAT_PRECISION else "double"
    nullable = False if spec.primary_key else spec.nullable
    if nullable is None:
        # MySQL makes a generated TIMESTAMP NOT NULL too, MariaDB does not.
        takes_null = context.explicit_defaults_for_timestamp or (context.mariadb and spec.generated)
        nullable = base != "timestamp" or bool(takes_null)
    column = ColumnDefinition(
        name=spec.name,
        mysql_type="",
        base=base,
        length=length,
        scale=scale,
        unsigned=spec.unsigned,
        nullable=nullable,
        charset=charset.charset,
        collation=charset.collation,
        members=members,
        invisible=spec.invisible,
        generated=f"row_{spec.period}" if spec.period else spec.generated,
        expression=spec.expression,
        default=spec.default and resolved_default(spec.default, base, charset.charset, context),
        comment=spec.comment,
        width=spec.arguments[0] if spec.arguments and base in _with_widths(context) else None,
        on_update=spec.on_update,
        formula=spec.formula,
        check=_column_check(spec, context),
        attributes=tuple(text for text in spec.attributes if text != VERSIONED),
        srid=spec.srid if base in GEOMETRY_BASES else None,
        numbered=spec.numbered,
    )
    return column._replace(mysql_type=_type_text(spec, column))


def _with_widths(context: StatementContext) -> frozenset[str]:
    """Return the types that keep a display width, as YEAR(2) does in MariaDB."""
    return INTEGER_BASES | {"year"} if context.mariadb else INTEGER_BASES


def _column_check(spec: ColumnSpec, context: StatementContext) -> str:
    """Return the CHECK that MariaDB keeps at a column; its JSON has one without saying so."""
    if not context.mariadb:
        return ""
    if spec.checks:
        return spec.checks[-1].expression
    return f"(json_valid({identifier(spec.name)}))" if spec.is_json else ""


def with_clocks(
    columns: tuple[ColumnDefinition, ...], context: StatementContext, *, has_first: bool = True
) -> tuple[ColumnDefinition, ...]:
    """Return a statement's columns with what TIMESTAMPs get without explicit_defaults_for_timestamp.

    The first one is set to the current time by INSERT and UPDATE, all others are zero by default
    (sql/sql_table.cc, ``promote_first_timestamp_column``).

    Args:
        has_first: whether the first TIMESTAMP of the columns is the table's first one.
    """
    if context.explicit_defaults_for_timestamp:
        return columns
    resolved: list[ColumnDefinition] = []
    is_first = has_first
    for column in columns:
        is_plain = column.default is None and column.generated is None and not column.on_update
        if column.base != "timestamp" or not is_plain or column.nullable:
            resolved.append(column)
        elif is_first:
            resolved.append(with_clock(column))
        else:
            resolved.append(column._replace(default=Default(_ZERO, DefaultKind.STRING, _ZERO)))
        is_first = is_first and column.base != "timestamp"
    return tuple(resolved)


def with_clock(column: ColumnDefinition) -> ColumnDefinition:
    """Return a TIMESTAMP that INSERT and UPDATE set to the current time."""
    now = f"CURRENT_TIMESTAMP({column.length})" if column.length else "CURRENT_TIMESTAMP"
    return column._replace(default=Default(now, DefaultKind.EXPRESSION, sql=now), on_update=now)


_ZERO = "0000-00-00 00:00:00"


def resolved_default(default: Default, base: str, charset: str | None, context: StatementContext) -> Default:
    """Return a DEFAULT clause as a column of this type takes it.

    Args:
        charset: the column's character set.
    """
    kind, constant = default.kind, default.constant
    if base in {"enum", "set"} and kind is DefaultKind.NUMBER and not context.mariadb:
        # A number is a member's text in MySQL and a member's number in MariaDB.
        text = (constant.lstrip("0") or "0") if constant.isdecimal() else constant
        default = default._replace(kind=DefaultKind.STRING, constant=text)
    if base in _NUMBERS and kind is DefaultKind.BYTES and context.mariadb and default.text[:1] in "xX":
        # Only 0x… is a number; x'…' is a text.
        return default._replace(kind=DefaultKind.STRING, constant=bytes.fromhex(constant).decode("latin-1"))
    if base in CHARACTER_BASES and default.kind is DefaultKind.STRING:
        # An introducer names another character set than the session's.
        is_named = default.text.startswith("_")
        literals = Literals() if is_named else Literals(context.literals, context.client)
        return default._replace(constant=stored_text(default.constant, charset, literals))
    if kind is DefaultKind.STRING and base in _BYTES and context.literals and not constant.isascii():
        named = default.text[1:].partition("'")[0].strip() if default.text.startswith("_") else None
        encoded = charset_or_default(named or context.literals).encode(constant)
        return default._replace(kind=DefaultKind.BYTES, constant=encoded.hex())
    if base == "timestamp" and kind in (DefaultKind.STRING, DefaultKind.NUMBER):
        return default._replace(time_zone=context.time_zone)
    return default


def _length_and_scale(spec: ColumnSpec) -> tuple[int | None, int | None]:
    first = spec.arguments[0] if spec.arguments else None
    if spec.base == "decimal":
        return first or 10, spec.arguments[1] if len(spec.arguments) > 1 else 0
    if spec.base in {"datetime", "timestamp", "time"}:
        return first or 0, None
    if spec.base in {"char", "varchar", "binary", "varbinary", "bit", "vector"}:
        default = _DEFAULT_LENGTHS.get(spec.base)
        return (first or default if spec.base == "bit" else default if first is None else first), None
    return None, None


def _type_text(spec: ColumnSpec, column: ColumnDefinition) -> str:
    """Return the type as in INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 8.0.19+."""
    base, arguments = column.base, spec.arguments
    if base in INTEGER_BASES:
        # Display widths are omitted, except for TINYINT(1) and ZEROFILL, where they have a meaning.
        is_flag = base == "tinyint" and arguments == (1,) and not spec.unsigned
        width = arguments[0] if arguments else _ZEROFILL_WIDTHS[base]
        text = f"{base}({width})" if spec.zerofill or is_flag else base
    elif base in {"float", "double"}:
        text = f"{base}({','.join(map(str, arguments))})" if len(arguments) > 1 else base
    else:
        text = mysql_name(declared_type(column))
    return f"{text}{' unsigned' if spec.unsigned else ''}{' zerofill' if spec.zerofill else ''}"


def converted_spec(spec: ColumnSpec, table: DeclaredCharset, charset: DeclaredCharset) -> ColumnSpec:
    """Return a column of a statement with CONVERT TO CHARACTER SET, which overrides the column's charset."""
    if spec.base not in CHARACTER_BASES or _charset_name(spec, table) == "binary":
        return spec
    return spec._replace(charset=charset.charset, collation=charset.collation, binary=False)


def resized_spec(spec: ColumnSpec, old: ColumnDefinition, charset: DeclaredCharset) -> ColumnSpec:
    """Return a column that MySQL redefines together with CONVERT TO CHARACTER SET.

    A TEXT or BLOB, except the LONG ones, gets the size that holds as many characters as the column had
    before, whatever type is named; verified with MySQL 9.7 for all pairs of sizes.
    """
    for family in (TEXT_BASES, BLOB_BASES):
        if spec.base in family[:-1] and not spec.arguments:
            is_bytes = family is BLOB_BASES or _charset_name(spec, charset) == "binary"
            width = 1 if is_bytes else bytes_per_character(charset.charset)
            return spec._replace(base=_sized(family, _most_characters(old) * width))
    return spec


def _most_characters(column: ColumnDefinition) -> int:
    """Return the maximum characters of a column."""
    if column.base in TEXT_BASES:
        return _CAPACITIES[TEXT_BASES.index(column.base)] // bytes_per_character(column.charset)
    if column.base in BLOB_BASES:
        return _CAPACITIES[BLOB_BASES.index(column.base)]
    if column.base == "json" or column.base in GEOMETRY_BASES:
        return _CAPACITIES[-1]
    if column.base in {"char", "varchar", "binary", "varbinary"}:
        return column.length or 0
    sizes = [len(member) for member in column.members or ()]
    return sum(sizes) + len(sizes) - 1 if column.base == "set" else max(sizes, default=0)


def convert_column(column: ColumnDefinition, charset: DeclaredCharset) -> ColumnDefinition:
    """Return a column after CONVERT TO CHARACTER SET.

    TEXT, and a VARCHAR that would have too many bytes, become the TEXT that fits as many characters.
    """
    if column.base not in CHARACTER_BASES or column.charset == "binary":
        return column
    base, members = column.base, reread_members(column.members, column.charset, charset.charset)
    size = _most_characters(column) * bytes_per_character(charset.charset)
    if base in TEXT_BASES or (base == "varchar" and size > _MOST_VARCHAR_BYTES):
        base = _sized(TEXT_BASES, size)
    column = column._replace(
        base=as_bytes(base) if charset.charset == "binary" else base,
        length=None if base in TEXT_BASES else column.length,
        charset=charset.charset,
        collation=charset.collation,
        members=members,
    )
    return column._replace(mysql_type=mysql_name(declared_type(column)))
