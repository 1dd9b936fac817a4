"""Statements in a form that is equal where they do the same, however a server logged them.

A replica that runs its source's statements writes some of them anew: it names the database of a table that
CREATE TABLE … SELECT made, adds IF EXISTS to DROP TABLE, and logs the end of an XA transaction with another
default database. Savepoints, and temporary tables, leave nothing behind.
"""

from __future__ import annotations

from typing import NamedTuple

from binx.rows.columns.schema import DEFAULT_CONTEXT
from binx.rows.ddl.parse import first_word, parse
from binx.rows.ddl.statements import AlterTable, CreateTable, DropTables, RenameTables, TableName
from binx.rows.ddl.tokens import NotUnderstoodError, Token, TokenKind, tokens
from binx.rows.statements import Statement

_SAVEPOINTS = ("savepoint", "release")


class Form(NamedTuple):
    """What a statement does to definitions or to its transaction.

    Attributes:
        tables: the tables that it names as those to change, with their databases.
        words: the rest of it; of a statement that is not understood the default database and the text.
        makes_rows: whether it makes a table with rows of a query, which may be logged as rows too.
    """

    tables: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    makes_rows: bool = False


def statement_form(statement: Statement) -> Form | None:
    """The form of a statement that is no change of rows; None where nothing is left of what it did."""
    if statement.kind == "other":
        return _of_transaction(statement)
    context = statement.context or DEFAULT_CONTEXT
    try:
        read = list(tokens(statement.sql, context))
    except NotUnderstoodError:
        return Form((), (statement.db, statement.sql))
    asked = parse(statement.sql, context)
    if (isinstance(asked, CreateTable) and asked.temporary) or _is_drop_of_temporary(read):
        return None
    if isinstance(asked, DropTables):
        return Form(tuple(sorted(_named(asked.tables, statement.db))), ("DROP",))
    targets = _targets(asked)
    if not targets:
        return Form((), (statement.db, *map(_word, read)))
    tables = _named(targets, statement.db)
    makes_rows = isinstance(asked, CreateTable) and asked.select
    return Form(tables, tuple(_without_databases(read, {db for db, _ in tables})), makes_rows)


def _of_transaction(statement: Statement) -> Form | None:
    """A statement about its transaction: XA and incidents stay, savepoints and ROLLBACK TO go."""
    word = first_word(statement.sql)
    if word in _SAVEPOINTS or (word == "rollback" and len(statement.sql.split()) > 1):
        return None
    return Form((), tuple(statement.sql.split()))


def _targets(asked: object) -> tuple[TableName, ...]:
    if isinstance(asked, CreateTable | AlterTable):
        return (asked.table,)
    if isinstance(asked, RenameTables):
        return tuple(name for pair in asked.pairs for name in pair)
    return ()


def _named(names: tuple[TableName, ...], default: str) -> tuple[tuple[str, str], ...]:
    return tuple((default if name.db is None else name.db, name.name) for name in names)


def _is_drop_of_temporary(read: list[Token]) -> bool:
    return [token.upper for token in read[:2]] == ["DROP", "TEMPORARY"]


def _without_databases(read: list[Token], databases: set[str]) -> list[str]:
    """The words of a statement, without the databases of its tables before a dot."""
    words = []
    place = 0
    while place < len(read):
        token = read[place]
        is_name = token.kind in (TokenKind.WORD, TokenKind.NAME) and token.text in databases
        if is_name and place + 1 < len(read) and read[place + 1].text == ".":
            place += 2
            continue
        words.append(_word(token))
        place += 1
    return words


def _word(token: Token) -> str:
    """A word as all others that mean the same: names of columns are the same in any case, texts are not."""
    return f"'{token.text}" if token.kind is TokenKind.STRING else token.text.upper()
