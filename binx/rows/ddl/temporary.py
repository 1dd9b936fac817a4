"""Which part of a statement is about its connection's temporary tables, and which about tables that stay.

For the connection that made it, a temporary table stands in the place of another of its name. Servers log
what is done to one only with ``binlog_format`` STATEMENT or MIXED, and mark these statements as belonging to
their connection, but for MariaDB's RENAME TABLE. MySQL's is never about temporary tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.rows.columns.schema import StatementContext
from binx.rows.ddl.statements import (
    AlterTable,
    CreateTable,
    DropTables,
    NotUnderstood,
    RenameTables,
    Statement,
    TableName,
    TruncateTable,
)

IsTemporary = Callable[[TableName], bool]
"""Whether the connection has a temporary table of that name."""


class Parts(NamedTuple):
    """A statement in two.

    Attributes:
        temporary: what it does to temporary tables of its connection, None for nothing.
        lasting: what it does to other tables, None for nothing.
    """

    temporary: Statement | None
    lasting: Statement | None


def parts_of(parsed: Statement, context: StatementContext, is_temporary: IsTemporary) -> Parts:
    """Tell what a statement does to temporary tables from what it does to others.

    Args:
        parsed: the statement.
        context: the session that ran it.
        is_temporary: what is known of the session's tables before it.
    """
    match parsed:
        case CreateTable():
            is_about_one = parsed.temporary
        case AlterTable():
            # Of a table made before the first log nothing more is known than that.
            is_about_one = context.uses_temporary
        case RenameTables():
            return _renames(parsed, context, is_temporary)
        case DropTables() if not parsed.temporary:
            named = [context.uses_temporary and is_temporary(table) for table in parsed.tables]
            dropped = [
                DropTables(tuple(t for t, own in zip(parsed.tables, named, strict=True) if own is wanted))
                for wanted in (True, False)
            ]
            return Parts(*(one if one.tables else None for one in dropped))
        case DropTables() | NotUnderstood():
            is_about_one = parsed.temporary
        case TruncateTable():
            is_about_one = context.uses_temporary and is_temporary(parsed.table)
        case _:
            is_about_one = False
    return Parts(parsed, None) if is_about_one else Parts(None, parsed)


def _renames(parsed: RenameTables, context: StatementContext, is_temporary: IsTemporary) -> Parts:
    """Each name is what those to the left have made of it."""
    renamed: dict[TableName, bool] = {}
    pairs: tuple[list[tuple[TableName, TableName]], ...] = ([], [])
    for old, new in parsed.pairs:
        own = context.mariadb and renamed.pop(old, is_temporary(old))
        if own:
            renamed[old], renamed[new] = False, True
        pairs[0 if own else 1].append((old, new))
    return Parts(*(RenameTables(tuple(some)) if some else None for some in pairs))


__all__ = ["Parts", "parts_of"]
