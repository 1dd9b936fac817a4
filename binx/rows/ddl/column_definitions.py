"""Parse column definitions: a name, a data type in any spelling, and attributes in any order.

Sources: MySQL manual, "Data Types" and sql/sql_yacc.yy's rule ``type``; MariaDB
knowledge base, "Data Types", and "SQL_MODE=ORACLE" for Oracle's names.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from binx.rows.columns.charsets import charset_name, collation_name
from binx.rows.columns.schema import DEFAULT_CONTEXT, folded_name
from binx.rows.columns.types import INTEGER_BASES, KINDS, as_bytes
from binx.rows.ddl.clauses import charset_word, check, column_name, default_clause, references
from binx.rows.ddl.parsed_statements import UNVERSIONED, VERSIONED, ColumnSpec
from binx.rows.ddl.tokens import NotUnderstoodError, TokenKind, TokenReader

_SYNONYMS: dict[str, str] = {
    "INT1": "tinyint",
    "INT2": "smallint",
    "INT3": "mediumint",
    "MIDDLEINT": "mediumint",
    "INT4": "int",
    "INTEGER": "int",
    "INT8": "bigint",
    "FLOAT4": "float",
    "FLOAT8": "double",
    "DEC": "decimal",
    "NUMERIC": "decimal",
    "FIXED": "decimal",
    "GEOMCOLLECTION": "geometrycollection",
}
_MORE_THAN_A_WORD = {"char", "varchar", "enum", "set", "json", "bool", "bits"}
_BASES = {
    base.upper(): base for base in (*INTEGER_BASES, *KINDS) if base not in _MORE_THAN_A_WORD
} | _SYNONYMS
"""The types that one word names."""

_ORACLE: dict[str, str] = {
    "VARCHAR2": "varchar",
    "RAW": "varbinary",
    "CLOB": "longtext",
    "BLOB": "longblob",
    "DATE": "datetime",
}

_SCHEMAS = frozenset({"MARIADB_SCHEMA", "MAXDB_SCHEMA", "ORACLE_SCHEMA"})

_MOST_DIGITS = 20
_NATIONAL_CHARSET = "utf8mb3"
"""What NATIONAL and NCHAR mean on every version so far."""

REFERENCES_HEEDED_SINCE = {False: 90000, True: 100500}
"""Since which version MySQL, and MariaDB, make a foreign key of REFERENCES at a column."""


@lru_cache(maxsize=4096)
def written_type(text: str) -> ColumnSpec | None:
    """Return a type as COLUMN_TYPE and schema records spell it; None if it is none of a server.

    ENUM and SET have no members if these are not known.
    """
    if text in ("enum", "set"):
        return ColumnSpec("", text)
    try:
        return column_spec(TokenReader(f"c {text}", DEFAULT_CONTEXT))
    except NotUnderstoodError:
        return None


def column_spec(reader: TokenReader) -> ColumnSpec:
    """Read a column's name, type and attributes, up to what cannot belong to it."""
    name = column_name(reader)
    spec = data_type(reader)._replace(name=name)
    while (changed := _attribute(reader, spec)) is not None:
        spec = changed
    return spec


def data_type(reader: TokenReader) -> ColumnSpec:
    """Read a data type, up to its attributes; the column has no name yet."""
    # MariaDB qualifies types that a mode changes: mariadb_schema.date.
    schema = reader.current.upper if reader.ahead().upper == "." else ""
    if schema in _SCHEMAS:
        reader.next()
        reader.next()
    has_oracle_types = schema == "ORACLE_SCHEMA" if schema else reader.context.oracle
    if has_oracle_types and (oracle := _oracle_type(reader)) is not None:
        return oracle
    has_maxdb_types = schema == "MAXDB_SCHEMA" if schema else reader.context.maxdb
    if has_maxdb_types and reader.accept("TIMESTAMP"):
        return ColumnSpec("", "datetime", _arguments(reader))
    if (character := _character_type(reader)) is not None:
        return character
    word = reader.current.upper
    if word in _SPECIAL:
        reader.next()
        return _SPECIAL[word](reader)
    if word not in _BASES:
        raise reader.not_understood("a data type")
    reader.next()
    if word == "DOUBLE":
        reader.accept("PRECISION")
    return ColumnSpec("", _BASES[word], _arguments(reader))


def _argument(reader: TokenReader) -> int:
    """Read a length, a precision or a scale; servers count a length with a point up to it."""
    token = reader.current
    is_pointed = token.kind is TokenKind.NUMBER and token.text.count(".") == 1
    whole = token.text.partition(".")[0] or "0"
    if is_pointed and token.text.replace(".", "").isdecimal() and len(whole) <= _MOST_DIGITS:
        reader.next()
        number = int(whole)
    else:
        number = reader.number()
    # MariaDB's Oracle mode writes VARCHAR2(10 CHAR).
    reader.accept_any("CHAR", "BYTE")
    return number


def _arguments(reader: TokenReader) -> tuple[int, ...]:
    """Read ``(n)`` or ``(n, m)`` if it follows."""
    return tuple(reader.listed(_argument)) if reader.at("(") else ()


def _character_type(reader: TokenReader) -> ColumnSpec | None:
    """Read CHAR, VARCHAR, NCHAR, NATIONAL … in all their spellings."""
    is_national = reader.accept("NATIONAL")
    words = () if is_national else ("NCHAR", "NVARCHAR")
    word = reader.accept_any("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER", *words)
    if word is None:
        if is_national:
            raise reader.not_understood("CHAR or VARCHAR")
        return None
    varying = ("VARYING", "VARCHAR", "VARCHARACTER") if word == "NCHAR" else ("VARYING",)
    is_varying = "VAR" in word or reader.accept_any(*varying) is not None
    charset = _NATIONAL_CHARSET if is_national or word.startswith("N") else None
    return ColumnSpec("", "varchar" if is_varying else "char", _arguments(reader), charset=charset)


def _long_type(reader: TokenReader) -> ColumnSpec:
    """Read what follows LONG: LONG VARBINARY is a MEDIUMBLOB, all else a MEDIUMTEXT."""
    if reader.accept("VARBINARY"):
        return ColumnSpec("", "mediumblob")
    if not (reader.accept("CHAR", "VARYING") or reader.accept("CHARACTER", "VARYING")):
        reader.accept_any("VARCHAR", "VARCHARACTER")
    return ColumnSpec("", "mediumtext")


def _oracle_type(reader: TokenReader) -> ColumnSpec | None:
    """Read a type that has another meaning under MariaDB's sql_mode=ORACLE."""
    if reader.accept("NUMBER"):
        arguments = _arguments(reader)
        return ColumnSpec("", "decimal" if arguments else "double", arguments)
    word = reader.accept_any(*_ORACLE)
    return None if word is None else ColumnSpec("", _ORACLE[word], _arguments(reader))


def _json(reader: TokenReader) -> ColumnSpec:
    if reader.context.mariadb:
        return ColumnSpec("", "longtext", charset="utf8mb4", collation="utf8mb4_bin", is_json=True)
    return ColumnSpec("", "json")


def _year(reader: TokenReader) -> ColumnSpec:
    """Read YEAR, which servers take as UNSIGNED and ZEROFILL whatever follows."""
    spec = ColumnSpec("", "year", _arguments(reader))
    while reader.accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
        pass
    return spec


def _real(reader: TokenReader) -> ColumnSpec:
    return ColumnSpec("", "float" if reader.context.real_as_float else "double", _arguments(reader))


def _members(base: str) -> Callable[[TokenReader], ColumnSpec]:
    return lambda reader: ColumnSpec("", base, members=tuple(reader.listed(TokenReader.literal)))


_NUMBERED: dict[str, Any] = {"nullable": False, "numbered": True}
_SERIAL = {**_NUMBERED, "unique": True}

_SPECIAL: dict[str, Callable[[TokenReader], ColumnSpec]] = {
    "LONG": _long_type,
    "SERIAL": lambda _: ColumnSpec("", "bigint", unsigned=True)._replace(**_SERIAL),
    "BOOL": lambda _: ColumnSpec("", "tinyint", (1,)),
    "BOOLEAN": lambda _: ColumnSpec("", "tinyint", (1,)),
    "JSON": _json,
    "REAL": _real,
    "YEAR": _year,
    "ENUM": _members("enum"),
    "SET": _members("set"),
}
"""The types that are more than a word and its arguments, by their first word."""

_Rule: TypeAlias = Callable[[TokenReader, ColumnSpec], ColumnSpec]


def _attribute(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec | None:
    """Read one attribute; None where none follows."""
    for words, rule in _BY_FIRST_WORD.get(reader.current.upper, ()):
        if reader.accept(*words):
            return spec._replace(**rule) if isinstance(rule, dict) else rule(reader, spec)
    # MariaDB lets engines have attributes of their own, all as name=value.
    if reader.current.kind in {TokenKind.WORD, TokenKind.NAME} and reader.ahead().upper == "=":
        start = reader.index
        for _ in range(3):
            reader.next()
        return _with_attribute(spec, reader.normal_from(start))
    return None


def _with_attribute(spec: ColumnSpec, written: str) -> ColumnSpec:
    return spec._replace(attributes=(*spec.attributes, written))


def _kept(name: str) -> _Rule:
    """Return the rule of an attribute with ``[=] value`` that is kept as it is written."""

    def rule(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
        reader.accept("=")
        start = reader.index
        reader.next()
        return _with_attribute(spec, f"{name} {reader.normal_from(start)}")

    return rule


def _comment(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("=")
    return spec._replace(comment=reader.next().text)


def _compressed(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    written = "COMPRESSED"
    if reader.accept("="):
        written += f"={reader.next().text}"
    return _with_attribute(spec, written)


def _srid(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("=")
    return spec._replace(srid=reader.number())


def _byte(_: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    return spec._replace(base=as_bytes(spec.base), charset=None)


def _charset(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    name = charset_word(reader)
    return spec if name.upper() == "DEFAULT" else spec._replace(charset=charset_name(name))


def _collate(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("=")
    return spec._replace(collation=collation_name(charset_word(reader)))


def _on_update(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    start = reader.index
    default_clause(reader)
    return spec._replace(on_update=reader.normal_from(start))


def _generated(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    if reader.accept("ROW"):
        period = reader.next().upper.lower()
        return spec._replace(period=period, nullable=False, expression=(period,))
    start = reader.index
    tokens = reader.skip_parentheses()
    formula = reader.normal_from(start, expression=True)
    text = "\0".join(token.upper or token.text for token in tokens)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    names = (folded_name(token.text) for token in tokens if token.kind in (TokenKind.WORD, TokenKind.NAME))
    expression = (digest, *dict.fromkeys(names))
    return spec._replace(generated="virtual", expression=expression, formula=formula)


def _primary(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("KEY")
    return spec._replace(primary_key=True)


def _unique(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("KEY")
    return spec._replace(unique=True)


def _constraint(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    name = None if reader.at("CHECK") else reader.name("a constraint's name")
    reader.expect("CHECK")
    return spec._replace(checks=(*spec.checks, check(reader, name)))


def _check(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    return spec._replace(checks=(*spec.checks, check(reader, None)))


def _references(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    target, context = references(reader), reader.context
    since = REFERENCES_HEEDED_SINCE[context.mariadb]
    is_heeded = context.version is None or context.version >= since
    return spec._replace(references=target) if is_heeded else spec


_KEPT = ("COLUMN_FORMAT", "STORAGE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE")

_ATTRIBUTES: dict[str, dict[str, Any] | _Rule] = {
    "UNSIGNED": {"unsigned": True},
    "SIGNED": {},
    "ZEROFILL": {"unsigned": True, "zerofill": True},
    "COMPRESSED": _compressed,
    "SRID": _srid,
    "REF_SYSTEM_ID": _srid,
    "BINARY": {"binary": True},
    "BYTE": _byte,
    "ASCII": {"charset": "latin1"},
    "UNICODE": {"charset": "ucs2"},
    "CHARSET": _charset,
    "CHARACTER SET": _charset,
    "CHAR SET": _charset,
    "COLLATE": _collate,
    "NOT NULL": {"nullable": False},
    "NOT SECONDARY": lambda _, spec: _with_attribute(spec, "NOT SECONDARY"),
    "NULL": {"nullable": True},
    "SERIAL DEFAULT VALUE": _SERIAL,
    "DEFAULT": lambda reader, spec: spec._replace(default=default_clause(reader)),
    "ON UPDATE": _on_update,
    "GENERATED ALWAYS AS": _generated,
    "GENERATED AS": _generated,
    "AS": _generated,
    "VIRTUAL": {"generated": "virtual"},
    "STORED": {"generated": "stored"},
    "PERSISTENT": {"generated": "stored"},
    "PRIMARY": _primary,
    # KEY alone at a column has always meant its primary key.
    "KEY": _primary,
    "UNIQUE": _unique,
    "CONSTRAINT": _constraint,
    "CHECK": _check,
    "REFERENCES": _references,
    "INVISIBLE": {"invisible": True},
    "VISIBLE": {"invisible": False},
    "AUTO_INCREMENT": _NUMBERED,
    "COMMENT": _comment,
    **{name: _kept(name) for name in _KEPT},
    VERSIONED: lambda _, spec: _with_attribute(spec, VERSIONED),
    UNVERSIONED: lambda _, spec: _with_attribute(spec, UNVERSIONED),
}
"""All attributes of MySQL's and MariaDB's grammars: what they set, or the rule that reads on."""

_BY_FIRST_WORD: dict[str, list[tuple[list[str], dict[str, Any] | _Rule]]] = defaultdict(list)
for _text, _rule in _ATTRIBUTES.items():
    _BY_FIRST_WORD[_text.split()[0]].append((_text.split(), _rule))
