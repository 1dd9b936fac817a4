"""Column definitions: a name, a type, and attributes in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from binx.rows.columns.charsets import charset_name, collation_name
from binx.rows.ddl.clauses import charset_word, default_clause, references
from binx.rows.ddl.statements import ColumnSpec
from binx.rows.ddl.tokens import TokenKind, TokenReader
from binx.rows.ddl.types import as_bytes, data_type

REFERENCES_HEEDED_SINCE = {False: 90000, True: 100500}
"""Since which version MySQL, and MariaDB, make a foreign key of REFERENCES at a column."""

_Rule: TypeAlias = Callable[[TokenReader, ColumnSpec], ColumnSpec]


def column_spec(reader: TokenReader) -> ColumnSpec:
    """Read a column's name, type and attributes, up to what cannot belong to it."""
    name = reader.name("a column's name")
    written = data_type(reader)
    spec = ColumnSpec(
        name=name,
        base=written.base,
        arguments=written.arguments,
        members=written.members,
        unsigned=written.unsigned,
        charset=written.charset,
        collation=written.collation,
        nullable=False if written.serial else None,
        unique=written.serial,
        numbered=written.serial,
    )
    while (changed := _attribute(reader, spec)) is not None:
        spec = changed
    return spec


def _attribute(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec | None:
    """Read one attribute; None where none follows."""
    for words, rule in _ATTRIBUTES.get(reader.current.upper, ()):
        if reader.accept(*words):
            return rule(reader, spec)
    # MariaDB lets engines have attributes of their own, all as name=value.
    if reader.current.kind in {TokenKind.WORD, TokenKind.NAME} and reader.ahead().upper == "=":
        for _ in range(3):
            reader.next()
        return spec
    return None


def _sets(**values: Any) -> _Rule:
    """The rule of an attribute that says all by itself."""
    return lambda _, spec: spec._replace(**values)


def _value(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    """The rule of an attribute whose value is of no interest: ``[=] value``."""
    reader.accept("=")
    reader.next()
    return spec


def _compressed(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    return _value(reader, spec) if reader.at("=") else spec


def _parentheses(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.skip_parentheses()
    return spec


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
    name = charset_word(reader)
    return spec if name.upper() == "DEFAULT" else spec._replace(collation=collation_name(name))


def _default(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    return spec._replace(default=default_clause(reader))


def _on_update(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    default_clause(reader)
    return spec


def _generated(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    if reader.accept("ROW", "START"):
        return spec._replace(period="start", nullable=False)
    if reader.accept("ROW", "END"):
        return spec._replace(period="end", nullable=False)
    reader.skip_parentheses()
    return spec._replace(generated="virtual")


def _primary(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("KEY")
    return spec._replace(primary_key=True)


def _unique(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    reader.accept("KEY")
    return spec._replace(unique=True)


def _constraint(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    if not reader.at("CHECK"):
        reader.name("a constraint's name")
    reader.expect("CHECK")
    return _parentheses(reader, spec)


def _references(reader: TokenReader, spec: ColumnSpec) -> ColumnSpec:
    found, context = references(reader), reader.context
    since = REFERENCES_HEEDED_SINCE[context.mariadb]
    if context.version is not None and context.version < since:
        return spec
    return spec._replace(references=found)


_ATTRIBUTE_RULES: tuple[tuple[str, _Rule], ...] = (
    ("UNSIGNED", _sets(unsigned=True)),
    ("SIGNED", _sets()),
    ("ZEROFILL", _sets(unsigned=True, zerofill=True)),
    ("COMPRESSED", _compressed),
    ("SRID", _srid),
    ("REF_SYSTEM_ID", _srid),
    ("BINARY", _sets(binary=True)),
    ("BYTE", _byte),
    ("ASCII", _sets(charset="latin1")),
    ("UNICODE", _sets(charset="ucs2")),
    ("CHARSET", _charset),
    ("CHARACTER SET", _charset),
    ("CHAR SET", _charset),
    ("COLLATE", _collate),
    ("NOT NULL", _sets(nullable=False)),
    ("NOT ENFORCED", _sets()),
    ("NOT SECONDARY", _sets()),
    ("NULL", _sets(nullable=True)),
    ("SERIAL DEFAULT VALUE", _sets(nullable=False, unique=True, numbered=True)),
    ("DEFAULT", _default),
    ("ON UPDATE", _on_update),
    ("GENERATED ALWAYS AS", _generated),
    ("GENERATED AS", _generated),
    ("AS", _generated),
    ("VIRTUAL", _sets(generated="virtual")),
    ("STORED", _sets(generated="stored")),
    ("PERSISTENT", _sets(generated="stored")),
    ("PRIMARY", _primary),
    # KEY alone at a column has always meant its primary key.
    ("KEY", _primary),
    ("UNIQUE", _unique),
    ("CONSTRAINT", _constraint),
    ("CHECK", _parentheses),
    ("ENFORCED", _sets()),
    ("REFERENCES", _references),
    ("INVISIBLE", _sets(invisible=True)),
    ("VISIBLE", _sets(invisible=False)),
    ("AUTO_INCREMENT", _sets(numbered=True)),
    ("COMMENT", _value),
    ("COLUMN_FORMAT", _value),
    ("STORAGE", _value),
    ("ENGINE_ATTRIBUTE", _value),
    ("SECONDARY_ENGINE_ATTRIBUTE", _value),
    ("WITH SYSTEM VERSIONING", _sets()),
    ("WITHOUT SYSTEM VERSIONING", _sets()),
)
"""All attributes of MySQL's and MariaDB's grammars; what begins alike is tried from top to bottom."""

_ATTRIBUTES: dict[str, list[tuple[list[str], _Rule]]] = {}
for _text, _rule in _ATTRIBUTE_RULES:
    _words = _text.split()
    _ATTRIBUTES.setdefault(_words[0], []).append((_words, _rule))
