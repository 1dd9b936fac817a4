"""The data types of MySQL's and MariaDB's grammar, with all their synonyms.

Sources: MySQL manual, "Data Types" and sql/sql_yacc.yy's rule ``type``; MariaDB
knowledge base, "Data Types", and "SQL_MODE=ORACLE" for Oracle's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.rows.ddl.tokens import TokenReader

SYNONYMS: dict[str, str] = {
    "TINYINT": "tinyint",
    "INT1": "tinyint",
    "SMALLINT": "smallint",
    "INT2": "smallint",
    "MEDIUMINT": "mediumint",
    "MIDDLEINT": "mediumint",
    "INT3": "mediumint",
    "INT": "int",
    "INTEGER": "int",
    "INT4": "int",
    "BIGINT": "bigint",
    "INT8": "bigint",
    "FLOAT": "float",
    "FLOAT4": "float",
    "DOUBLE": "double",
    "FLOAT8": "double",
    "DECIMAL": "decimal",
    "DEC": "decimal",
    "NUMERIC": "decimal",
    "FIXED": "decimal",
    "BIT": "bit",
    "DATE": "date",
    "TIME": "time",
    "DATETIME": "datetime",
    "TIMESTAMP": "timestamp",
    "YEAR": "year",
    "BINARY": "binary",
    "VARBINARY": "varbinary",
    "TINYBLOB": "tinyblob",
    "BLOB": "blob",
    "MEDIUMBLOB": "mediumblob",
    "LONGBLOB": "longblob",
    "TINYTEXT": "tinytext",
    "TEXT": "text",
    "MEDIUMTEXT": "mediumtext",
    "LONGTEXT": "longtext",
    "GEOMETRY": "geometry",
    "POINT": "point",
    "LINESTRING": "linestring",
    "POLYGON": "polygon",
    "MULTIPOINT": "multipoint",
    "MULTILINESTRING": "multilinestring",
    "MULTIPOLYGON": "multipolygon",
    "GEOMETRYCOLLECTION": "geometrycollection",
    "GEOMCOLLECTION": "geometrycollection",
    "VECTOR": "vector",
    "INET4": "inet4",
    "INET6": "inet6",
    "UUID": "uuid",
}
"""The types that one word names."""

_ORACLE: dict[str, str] = {
    "VARCHAR2": "varchar",
    "RAW": "varbinary",
    "CLOB": "longtext",
    "BLOB": "longblob",
    "DATE": "datetime",
}

INTEGER_BASES = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
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
"""The types whose values have a charset."""

NATIONAL_CHARSET = "utf8mb3"
"""What NATIONAL and NCHAR mean on every version so far."""


class DataType(NamedTuple):
    """A data type as written, without its attributes."""

    base: str
    arguments: tuple[int, ...] = ()
    members: tuple[str | bytes, ...] | None = None
    unsigned: bool = False
    serial: bool = False
    charset: str | None = None
    collation: str | None = None


def _arguments(reader: TokenReader) -> tuple[int, ...]:
    """Read ``(n)`` or ``(n, m)`` if it follows."""
    if not reader.accept("("):
        return ()
    numbers = [reader.number()]
    # MariaDB's Oracle mode writes VARCHAR2(10 CHAR).
    if not reader.accept("CHAR"):
        reader.accept("BYTE")
    while reader.accept(","):
        numbers.append(reader.number())
    reader.expect(")")
    return tuple(numbers)


def _members(reader: TokenReader) -> tuple[str | bytes, ...]:
    """Read the members of ENUM or SET."""
    reader.expect("(")
    members = [reader.literal()]
    while reader.accept(","):
        members.append(reader.literal())
    reader.expect(")")
    return tuple(members)


def _varying(reader: TokenReader) -> str:
    return "varchar" if reader.accept("VARYING") else "char"


def _character_type(reader: TokenReader) -> DataType | None:
    """Read CHAR, VARCHAR, NCHAR, NATIONAL … in all their spellings."""
    charset = None
    if reader.accept("NATIONAL"):
        charset = NATIONAL_CHARSET
        if reader.accept_any("VARCHAR", "VARCHARACTER"):
            base = "varchar"
        elif reader.accept_any("CHAR", "CHARACTER"):
            base = _varying(reader)
        else:
            raise reader.not_understood("CHAR or VARCHAR")
    elif reader.accept("NVARCHAR"):
        charset, base = NATIONAL_CHARSET, "varchar"
    elif reader.accept("NCHAR"):
        charset = NATIONAL_CHARSET
        base = "varchar" if reader.accept_any("VARCHAR", "VARCHARACTER") else _varying(reader)
    elif reader.accept_any("VARCHAR", "VARCHARACTER"):
        base = "varchar"
    elif reader.accept_any("CHAR", "CHARACTER"):
        base = _varying(reader)
    else:
        return None
    return DataType(base, _arguments(reader), charset=charset)


def _long_type(reader: TokenReader) -> DataType:
    """Read what follows LONG: LONG VARBINARY is a MEDIUMBLOB, all else a MEDIUMTEXT."""
    if reader.accept("VARBINARY"):
        return DataType("mediumblob")
    if reader.accept_any("CHAR", "CHARACTER"):
        reader.expect("VARYING")
    else:
        reader.accept_any("VARCHAR", "VARCHARACTER")
    return DataType("mediumtext")


def _oracle_type(reader: TokenReader) -> DataType | None:
    """Read a type that has another meaning under MariaDB's sql_mode=ORACLE."""
    if reader.accept("NUMBER"):
        arguments = _arguments(reader)
        return DataType("decimal", arguments) if arguments else DataType("double")
    base = _ORACLE.get(reader.current.upper)
    if base is None:
        return None
    reader.next()
    return DataType(base, _arguments(reader))


def _json(reader: TokenReader) -> DataType:
    if reader.context.mariadb:
        return DataType("longtext", charset="utf8mb4", collation="utf8mb4_bin")
    return DataType("json")


def _real(reader: TokenReader) -> DataType:
    return DataType("float" if reader.context.real_as_float else "double", _arguments(reader))


_SPECIAL: dict[str, Callable[[TokenReader], DataType]] = {
    "LONG": _long_type,
    "SERIAL": lambda _: DataType("bigint", unsigned=True, serial=True),
    "BOOL": lambda _: DataType("tinyint", (1,)),
    "BOOLEAN": lambda _: DataType("tinyint", (1,)),
    "JSON": _json,
    "REAL": _real,
    "ENUM": lambda reader: DataType("enum", members=_members(reader)),
    "SET": lambda reader: DataType("set", members=_members(reader)),
}
"""The types that are more than a word and its arguments, by their first word."""


def data_type(reader: TokenReader) -> DataType:
    """Read a data type, up to its attributes."""
    # MariaDB qualifies types that a mode changes: mariadb_schema.date.
    if reader.at_any("MARIADB_SCHEMA", "MAXDB_SCHEMA") and reader.ahead().upper == ".":
        reader.next()
        reader.next()
    elif reader.context.oracle and (oracle := _oracle_type(reader)) is not None:
        return oracle
    if (character := _character_type(reader)) is not None:
        return character
    word = reader.current.upper
    if word in _SPECIAL:
        reader.next()
        return _SPECIAL[word](reader)
    if word not in SYNONYMS:
        raise reader.not_understood("a data type")
    reader.next()
    if word == "DOUBLE":
        reader.accept("PRECISION")
    return DataType(SYNONYMS[word], _arguments(reader))


_BYTES_OF = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}


def as_bytes(base: str) -> str:
    """The type of bytes that stands for a text type with the BYTE attribute or CHARACTER SET binary."""
    return _BYTES_OF.get(base, base)
