"""Table names, charset options and keys, as CREATE and ALTER TABLE share them."""

from __future__ import annotations

from binx.rows.charsets import charset_name, collation_name
from binx.rows.ddl_statements import Charset, TableName
from binx.rows.ddl_tokens import TokenKind, TokenReader

_KEY_WORDS = ("KEY", "INDEX")


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


def is_key_or_constraint(reader: TokenReader) -> bool:
    """Whether the next item of a table's list is a key, constraint or period, not a column."""
    following = reader.ahead()
    if reader.at_any("CONSTRAINT", "PRIMARY", "KEY", "INDEX", "UNIQUE", "FOREIGN", "CHECK"):
        return True
    if reader.at_any("FULLTEXT", "SPATIAL"):
        return True
    if reader.at("VECTOR"):
        return following.upper in {*_KEY_WORDS, "("}
    return reader.at("PERIOD", "FOR")


def key_or_constraint(reader: TokenReader) -> tuple[str, ...] | None:
    """Read a key, constraint or period up to its comma; returns the columns if it is the primary key."""
    if reader.accept("CONSTRAINT") and not reader.at_any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
        reader.name("a constraint's name")
    if not reader.accept("PRIMARY"):
        reader.skip_to_comma()
        return None
    reader.expect("KEY")
    reader.accept("IF", "NOT", "EXISTS")
    while not reader.at("("):
        if reader.at_end or reader.at_any(",", ")"):
            raise reader.not_understood("the primary key's columns")
        reader.next()
    columns = key_columns(reader)
    reader.skip_to_comma()
    return columns


def key_columns(reader: TokenReader) -> tuple[str, ...]:
    """Read ``(column [(length)] [ASC | DESC], …)``; of ``period WITHOUT OVERLAPS`` comes the period."""
    columns: list[str] = []
    reader.expect("(")
    while True:
        name = reader.name("a key column")
        if reader.at("("):
            reader.skip_parentheses()
        reader.accept_any("ASC", "DESC")
        reader.accept("WITHOUT", "OVERLAPS")
        columns.append(name)
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(columns)
