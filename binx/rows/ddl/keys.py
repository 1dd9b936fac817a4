"""Keys and constraints, as CREATE TABLE, ALTER TABLE and CREATE INDEX write them."""

from __future__ import annotations

from binx.rows.ddl.parts import table_name
from binx.rows.ddl.statements import Key, References
from binx.rows.ddl.tokens import TokenKind, TokenReader

_KEY_WORDS = ("KEY", "INDEX")
_CONSTRAINT_WORDS = ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK")
NO_CHANGE = "RESTRICT"
_OTHER_KINDS = ("FULLTEXT", "SPATIAL", "VECTOR")


def is_key_or_constraint(reader: TokenReader) -> bool:
    """Whether the next item of a table's list is a key or constraint, not a column."""
    if reader.at("VECTOR"):
        return reader.ahead().upper in {*_KEY_WORDS, "("}
    return reader.at_any("CONSTRAINT", *_CONSTRAINT_WORDS, *_KEY_WORDS, *_OTHER_KINDS)


def key_or_constraint(reader: TokenReader) -> Key | None:
    """Read a key or constraint up to its comma; None for a CHECK.

    Raises:
        NotUnderstoodError: a key without columns.
    """
    name = None
    if_not_exists = False
    if reader.accept("CONSTRAINT"):
        if_not_exists = reader.accept("IF", "NOT", "EXISTS")
        if not reader.at_any(*_CONSTRAINT_WORDS):
            name = reader.name("a constraint's name")
    if reader.at("CHECK"):
        reader.skip_to_comma()
        return None
    if reader.accept("FOREIGN", "KEY"):
        return _foreign_key(reader, name)
    primary = reader.accept("PRIMARY")
    unique = not primary and reader.accept("UNIQUE")
    if not primary and not unique:
        reader.accept_any(*_OTHER_KINDS)
    reader.accept_any(*_KEY_WORDS)
    if_not_exists = reader.accept("IF", "NOT", "EXISTS") or if_not_exists
    if not reader.at_any("(", "USING", "TYPE"):
        name = reader.name("a key's name")
    key = key_behind_name(reader, None if primary else name, unique, if_not_exists)
    reader.skip_to_comma()
    return Key(key.columns, primary=True, if_not_exists=if_not_exists) if primary else key


def _foreign_key(reader: TokenReader, name: str | None) -> Key | None:
    """Read ``[IF NOT EXISTS] [name] (column, …) REFERENCES …``."""
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    if not reader.at("("):
        own = reader.name("a foreign key's name")
        name = own if name is None else name
    columns = key_columns(reader)
    reader.expect("REFERENCES")
    found = references(reader)
    reader.skip_to_comma()
    return Key(columns, name, if_not_exists=if_not_exists, references=found)


def references(reader: TokenReader) -> References:
    """Read what stands behind REFERENCES."""
    table = table_name(reader)
    columns = key_columns(reader) if reader.at("(") else ()
    actions = {"DELETE": NO_CHANGE, "UPDATE": NO_CHANGE}
    while True:
        if reader.accept("MATCH"):
            reader.name("FULL, PARTIAL or SIMPLE")
        elif reader.at("ON") and reader.ahead().upper in actions:
            reader.expect("ON")
            event = reader.next().upper
            actions[event] = _action(reader)
        else:
            return References(table, columns, actions["DELETE"], actions["UPDATE"])


def _action(reader: TokenReader) -> str:
    if reader.accept("SET", "NULL"):
        return "SET NULL"
    if reader.accept("SET", "DEFAULT"):
        return "SET DEFAULT"
    if reader.accept("CASCADE"):
        return "CASCADE"
    if not reader.accept("NO", "ACTION"):
        reader.expect("RESTRICT")
    return NO_CHANGE


def key_behind_name(reader: TokenReader, name: str | None, unique: bool, if_not_exists: bool) -> Key:
    """Read ``[USING kind] (part, …)``."""
    while not reader.at("("):
        if reader.at_end or reader.at_any(",", ")"):
            raise reader.not_understood("a key's columns")
        reader.next()
    columns, prefixes, whole = _parts(reader)
    return Key(columns, name, unique=unique, whole=whole, if_not_exists=if_not_exists, prefixes=prefixes)


def key_columns(reader: TokenReader) -> tuple[str, ...]:
    """Read ``(column, …)``."""
    return _parts(reader)[0]


def _parts(reader: TokenReader) -> tuple[tuple[str, ...], tuple[int, ...], bool]:
    """Read ``(column [(length)] | (expression) [ASC | DESC], …)``.

    Gives the columns, the length of each, 0 where there is none, and whether no part is an expression.
    Of MariaDB's ``period WITHOUT OVERLAPS`` comes the period.
    """
    columns: list[str] = []
    prefixes: list[int] = []
    whole = True
    reader.expect("(")
    while True:
        if reader.current.kind in {TokenKind.WORD, TokenKind.NAME}:
            columns.append(reader.name("a key's column"))
            prefixes.append(0)
            if reader.accept("("):
                prefixes[-1] = reader.number()
                reader.expect(")")
        if reader.at("("):
            whole = False
            reader.skip_parentheses()
        reader.accept_any("ASC", "DESC")
        reader.accept("WITHOUT", "OVERLAPS")
        if not reader.accept(","):
            break
    reader.expect(")")
    return tuple(columns), tuple(prefixes), whole
