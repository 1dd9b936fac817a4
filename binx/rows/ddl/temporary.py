"""What statements do to temporary tables, apart from what they do to others.

For the connection that made it, a temporary table stands in the place of another of its name. Servers log
what is done to one only with ``binlog_format`` STATEMENT or MIXED, and mark these statements as belonging
to their connection, but for MariaDB's RENAME TABLE. MySQL's is never about temporary tables.
"""

from __future__ import annotations

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

Names = frozenset[tuple[str, str]]
"""Databases and names of temporary tables of a connection, in lower case."""


def folded(db: str, name: str) -> tuple[str, str]:
    """A table's name as all spellings of it have it."""
    return db.casefold(), name.casefold()


class Parts(NamedTuple):
    """What a statement does to temporary tables of its connection, and to others; None for nothing."""

    temporary: Statement | None
    lasting: Statement | None


def parts_of(parsed: Statement, own: Names, default_db: str, context: StatementContext) -> Parts:
    """Tell what a statement does to temporary tables from what it does to others.

    Args:
        own: the temporary tables of its connection.
    """

    def key(table: TableName) -> tuple[str, str]:
        return folded(default_db if table.db is None else table.db, table.name)

    match parsed:
        case CreateTable(temporary=True) | DropTables(temporary=True) | NotUnderstood(temporary=True):
            return Parts(parsed, None)
        case AlterTable() if context.uses_temporary:
            # Of a table made before the first log nothing more is known than that.
            return Parts(parsed, None)
        case TruncateTable() if context.uses_temporary and key(parsed.table) in own:
            return Parts(parsed, None)
        case DropTables() if context.uses_temporary:
            mine = tuple(table for table in parsed.tables if key(table) in own)
            others = tuple(table for table in parsed.tables if key(table) not in own)
            return Parts(DropTables(mine) if mine else None, DropTables(others) if others else None)
        case RenameTables() if context.mariadb:
            pairs: dict[bool, list[tuple[TableName, TableName]]] = {True: [], False: []}
            for old, new in parsed.pairs:
                # Each name is what those to the left have made of it.
                is_own = key(old) in own
                own = own - {key(old)} | {key(new)} if is_own else own
                pairs[is_own].append((old, new))
            return Parts(*(RenameTables(tuple(pairs[own])) if pairs[own] else None for own in (True, False)))
    return Parts(None, parsed)
