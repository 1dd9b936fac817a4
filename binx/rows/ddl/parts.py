"""Table names and charset options, as all schema statements share them."""

from __future__ import annotations

from binx.rows.columns.charsets import charset_name, collation_name
from binx.rows.ddl.statements import Charset, TableName
from binx.rows.ddl.tokens import TokenKind, TokenReader


def table_name(reader: TokenReader) -> TableName:
    """Read ``[db.]table``; a leading dot, as ODBC writes it, means the default database."""
    reader.accept(".")
    first = reader.name("a table's name")
    if reader.accept("."):
        return TableName(first, reader.name("a table's name"))
    return TableName(None, first)


def charset_option(reader: TokenReader) -> Charset | None:
    """Read one of a table's or database's ``[DEFAULT] CHARACTER SET [=] c`` and ``COLLATE [=] c``."""
    start = 1 if reader.at("DEFAULT") else 0
    if reader.ahead(start).upper in {"CHARSET", "COLLATE"}:
        skipped = start + 1
    elif (reader.ahead(start).upper, reader.ahead(start + 1).upper) in {
        ("CHARACTER", "SET"),
        ("CHAR", "SET"),
    }:
        skipped = start + 2
    else:
        return None
    collates = reader.ahead(start).upper == "COLLATE"
    for _ in range(skipped):
        reader.next()
    reader.accept("=")
    name = charset_word(reader)
    if name.upper() == "DEFAULT":
        return Charset()
    return Charset(None, collation_name(name)) if collates else Charset(charset_name(name), None)


def charset_word(reader: TokenReader) -> str:
    """Read the name of a charset or collation, which may stand in quotes."""
    if reader.current.kind is TokenKind.STRING:
        return reader.next().text
    return reader.name("a character set")


def merged(first: Charset, second: Charset) -> Charset:
    """Two charset options of one statement."""
    return Charset(second.charset or first.charset, second.collation or first.collation)
