"""What statements do to temporary tables, apart from what they do to others.

For the connection that made it, a temporary table stands in the place of another of its name. Servers log
what is done to one only with ``binlog_format`` STATEMENT or MIXED, and mark these statements as belonging
to their connection, but for MariaDB's RENAME TABLE. MySQL's is never about temporary tables.
"""

from __future__ import annotations

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


def without_temporary(
    parsed: Statement, own: Names, default_db: str, context: StatementContext
) -> tuple[Statement | None, Names]:
    """A statement without what it does to temporary tables, and the names of those behind it.

    Args:
        own: the temporary tables of its connection.
    """

    def key(table: TableName) -> tuple[str, str]:
        return folded(default_db if table.db is None else table.db, table.name)

    match parsed:
        case CreateTable(temporary=True):
            return None, own | {key(parsed.table)}
        case NotUnderstood(temporary=True):
            return None, own | {*map(key, parsed.tables)}
        case DropTables(temporary=True):
            return None, own.difference(map(key, parsed.tables))
        case RenameTables():
            pairs: list[tuple[TableName, TableName]] = []
            for old, new in parsed.pairs:
                if context.mariadb and key(old) in own:
                    own = own - {key(old)} | {key(new)}
                else:
                    pairs.append((old, new))
            return RenameTables(tuple(pairs)) if pairs else None, own
    if not context.uses_temporary:
        return parsed, own
    match parsed:
        case AlterTable():
            # Of a table made before the first log nothing more is known than that.
            if parsed.new_name is not None:
                own = own - {key(parsed.table)} | {key(parsed.new_name)}
            return None, own
        case DropTables():
            lasting = tuple(table for table in parsed.tables if key(table) not in own)
            left = own.difference(map(key, parsed.tables))
            return DropTables(lasting) if lasting else None, left
        case TruncateTable() if key(parsed.table) in own:
            return None, own
    return parsed, own
