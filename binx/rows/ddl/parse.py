"""From the text of a QUERY event to what it does to tables.

A tokenizer and a parser by recursive descent for exactly CREATE, ALTER, DROP,
RENAME and TRUNCATE of tables and databases. sqlglot, tried first, gave up on 20 of 49 common forms
of these statements (LONG VARCHAR, COLUMN_FORMAT, INET6, ADD (a, b), CONVERT TO, RENAME
TABLE, EXCHANGE PARTITION, system versioning …), and takes 110 ms to import.

What is not understood is reported with the tables that it touches, never passed over:
see :class:`~binx.rows.ddl.statements.NotUnderstood`.
"""

from __future__ import annotations

import re

from binx.rows.columns.schema import DEFAULT_CONTEXT, StatementContext
from binx.rows.ddl.alter import alter_table, dropped_key
from binx.rows.ddl.clauses import key_behind_name, table_name
from binx.rows.ddl.create import (
    alter_database,
    create_database,
    create_sequence,
    create_table,
    drop_database,
    table_names,
)
from binx.rows.ddl.statements import (
    AddKey,
    AlterTable,
    DropKey,
    DropTables,
    NotUnderstood,
    RenameTables,
    Statement,
    TableName,
    TruncateTable,
)
from binx.rows.ddl.tokens import NotUnderstoodError, TokenReader

_LEAD = re.compile(r"[\s\0(]+|--(?=\s|$)[^\n]*|#[^\n]*|/\*(?!M?!).*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"(?:create|alter|drop|rename|truncate|set\s+statement)\b|(/\*)", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_ANY_WORD = re.compile(r"\b(?:create|alter|drop|rename|truncate)\b", re.IGNORECASE)


def is_schema_statement(sql: str) -> bool:
    """Whether a statement may change a table's columns or empty it: a quick look at its first word.

    True for some that change none (CREATE VIEW); never False for one that does.
    """
    match = _FIRST_WORD.match(sql, _behind_lead(sql))
    if match is None:
        return False
    # What an executable comment holds depends on the server, so every word counts.
    return match.group(1) is None or _ANY_WORD.search(sql) is not None


def first_word(sql: str, context: StatementContext = DEFAULT_CONTEXT) -> str:
    """What a statement does, behind comments and MariaDB's ``SET STATEMENT … FOR``, in lower case.

    Empty where it begins with no word, as with an executable comment.
    """
    match = _WORD.match(sql, _behind_lead(sql))
    word = "" if match is None else match[0].lower()
    if word != "set":
        return word
    try:
        reader = TokenReader(sql, context)
    except NotUnderstoodError:
        return word
    _skip_set_statement(reader)
    return reader.current.upper.lower()


def _behind_lead(sql: str) -> int:
    """Where a statement begins, behind white space, parentheses and comments that no server executes.

    One expression for all of them would need possessive quantifiers, to be linear where nothing follows, and
    those of Python before 3.11.5 miss some comments.
    """
    position = 0
    while match := _LEAD.match(sql, position):
        position = match.end()
    return position


def parse(sql: str, context: StatementContext = DEFAULT_CONTEXT) -> Statement | None:
    """What a statement asks for; None where it changes no table as a whole. Never raises.

    Args:
        sql: one statement; what follows a ``;`` is not read.
    """
    try:
        reader = TokenReader(sql, context)
    except NotUnderstoodError as error:
        return NotUnderstood((), str(error)) if _ANY_WORD.search(sql) else None
    _skip_set_statement(reader)
    start = reader.place
    try:
        return _statement(reader)
    except NotUnderstoodError as error:
        reader.place = start
        temporary = reader.at("CREATE", "TEMPORARY") or reader.at("CREATE", "OR", "REPLACE", "TEMPORARY")
        return NotUnderstood(_tables_touched(reader), str(error), temporary)


def _skip_set_statement(reader: TokenReader) -> None:
    """Skip MariaDB's ``SET STATEMENT variable=value, … FOR``."""
    if not reader.accept("SET", "STATEMENT"):
        return
    while not reader.at_end and not reader.accept("FOR"):
        reader.next()


def _statement(reader: TokenReader) -> Statement | None:
    if reader.accept("CREATE"):
        return _create(reader)
    if reader.accept("ALTER"):
        reader.accept_any("ONLINE", "OFFLINE")
        reader.accept("IGNORE")
        if reader.accept("TABLE"):
            return alter_table(reader)
        return alter_database(reader) if reader.accept_any("DATABASE", "SCHEMA") else None
    if reader.accept("DROP"):
        return _drop(reader)
    if reader.accept("RENAME") and reader.accept_any("TABLE", "TABLES"):
        return _rename(reader)
    if reader.accept("TRUNCATE"):
        reader.accept("TABLE")
        return TruncateTable(table_name(reader))
    return None


def _create(reader: TokenReader) -> Statement | None:
    replaces = reader.accept("OR", "REPLACE")
    temporary = reader.accept("TEMPORARY")
    if reader.accept("TABLE"):
        return create_table(reader, temporary)
    if reader.accept("SEQUENCE"):
        return create_sequence(reader, temporary)
    if reader.accept_any("DATABASE", "SCHEMA"):
        return create_database(reader)
    reader.accept_any("ONLINE", "OFFLINE")
    unique = reader.accept("UNIQUE")
    reader.accept_any("FULLTEXT", "SPATIAL", "VECTOR")
    return _create_index(reader, unique, replaces) if reader.accept("INDEX") else None


def _create_index(reader: TokenReader, unique: bool, replaces: bool) -> AlterTable:
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    name = reader.name("an index's name")
    while not reader.accept("ON"):
        if reader.at_end:
            raise reader.not_understood("ON")
        reader.next()
    table = table_name(reader)
    key = AddKey(key_behind_name(reader, name, unique, if_not_exists))
    return AlterTable(table, (DropKey(name, if_exists=True), key) if replaces else (key,))


def _drop(reader: TokenReader) -> Statement | None:
    temporary = reader.accept("TEMPORARY")
    if reader.accept_any("TABLE", "TABLES", "SEQUENCE"):
        reader.accept("IF", "EXISTS")
        return DropTables(table_names(reader), temporary)
    if reader.accept_any("DATABASE", "SCHEMA"):
        return drop_database(reader)
    reader.accept_any("ONLINE", "OFFLINE")
    if reader.accept("INDEX"):
        if_exists = reader.accept("IF", "EXISTS")
        index = reader.name("an index's name")
        reader.expect("ON")
        return AlterTable(table_name(reader), (dropped_key(index, if_exists),))
    return None


def _rename(reader: TokenReader) -> RenameTables:
    reader.accept("IF", "EXISTS")
    pairs: list[tuple[TableName, TableName]] = []
    while True:
        old = table_name(reader)
        if reader.accept("WAIT"):
            reader.number()
        else:
            reader.accept("NOWAIT")
        reader.expect("TO")
        pairs.append((old, table_name(reader)))
        if not reader.accept(","):
            return RenameTables(tuple(pairs))


def _tables_touched(reader: TokenReader) -> tuple[TableName, ...]:
    """The tables that a statement names which was not understood, as far as they can be told."""
    while not reader.at_end and not reader.accept_any("TABLE", "TABLES"):
        reader.next()
    reader.accept("IF", "NOT", "EXISTS")
    reader.accept("IF", "EXISTS")
    names: list[TableName] = []
    try:
        names.append(table_name(reader))
        while reader.accept_any(",", "TO"):
            names.append(table_name(reader))
    except NotUnderstoodError:
        return tuple(names)
    return tuple(names)
