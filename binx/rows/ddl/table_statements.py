"""Effects of a log's statements on one table and its rows, as far as their text shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from binx.log.chain.places import shell_words
from binx.log.selection.table_filter import TableFilter
from binx.rows.columns.schema import ChangeKind
from binx.rows.ddl.catalog import Followed
from binx.rows.ddl.effects import statement_effects
from binx.rows.ddl.parse import first_word
from binx.rows.ddl.parsed_statements import (
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTables,
    changed_tables,
    renamed_tables,
)
from binx.rows.ddl.parsed_statements import Statement as SchemaStatement
from binx.rows.logged_statements import Statement

_WITH_ROWS = re.compile(r"\b(?:PARTITION|PARTITIONING|TABLESPACE|PERIOD)\b", re.IGNORECASE)
"""Words of an ALTER TABLE that may take rows away or bring others."""


class TableEffect(NamedTuple):
    """What a statement does to the table.

    Attributes:
        type: ``create``, ``drop``, ``truncate``, ``rename``, ``alter``, or ``statement`` for a change of rows
            that is logged as text.
        db: the table's database; for a change of rows the default one.
        table: the table's name; None if only the statement's text has it.
        may_change_rows: whether rows may have come, gone or changed of which the log has no images.
    """

    type: str
    db: str
    table: str | None
    may_change_rows: bool


def table_effect(statement: Statement, tables: TableFilter) -> TableEffect | None:
    """Return what a statement does to one of the tables that pass a filter; None for nothing."""
    if statement.followed is not None:
        parsed = statement.followed.parsed
        return None if parsed is None else _of_schema(parsed, statement, tables)
    if not tables.takes_text(statement.sql, statement.db):
        return None
    if statement.kind == "dml":
        return TableEffect("statement", statement.db, None, may_change_rows=True)
    return None


def _of_schema(parsed: SchemaStatement, statement: Statement, tables: TableFilter) -> TableEffect | None:
    if isinstance(parsed, DropDatabase) or (isinstance(parsed, CreateDatabase) and parsed.replaces):
        is_meant = tables.takes_any_of(parsed.db)
        return TableEffect("drop", parsed.db, None, may_change_rows=True) if is_meant else None
    name = next((name for name in changed_tables(parsed, statement.db) if tables.takes(*name)), None)
    if name is None:
        return None
    kind, may_change_rows = first_word(statement.sql) or "statement", True
    match parsed:
        case CreateTable():
            kind, may_change_rows = "create", parsed.replaces or parsed.select
        case DropTables():
            kind = "drop"
        case _ if renamed_tables(parsed):
            kind = "rename"
        case AlterTable():
            kind, may_change_rows = "alter", _WITH_ROWS.search(statement.sql) is not None
    return TableEffect(kind, *name, may_change_rows=may_change_rows)


def state_command(logs: Sequence[str], table: tuple[str, str], at: str, *options: str) -> str:
    """Return the command that writes the rows of a table as they were, as SQL.

    Args:
        logs: the paths of all logs that are known.
        at: the moment, FILE:POS.
    """
    command = ["--table", ".".join(table), "--at", at, "--format", "sql", *options]
    return f"binx state {shell_words(logs)} {shlex.join(command)}"


RESTORED_FROM = (
    "binx state needs the logs from the CREATE TABLE on, or a backup and those after it: --base FILE"
)
"""What the commands of :func:`restored_by` need."""


def restored_by(
    followed: Followed | None, db: str, logs: Sequence[str], file: str, start: int
) -> Iterator[tuple[str, str, str]]:
    """Yield the tables that a statement dropped or truncated, and the command that writes each as it was.

    Args:
        followed: the statement as applied to a catalog.
        db: the session's default database.
        logs: the paths of all logs that are known.
        file: the log's name.
        start: offset of the statement's transaction.
    """
    gone = {
        (effect.db, effect.table): effect.action == "truncated"
        for effect in statement_effects(followed, "", db)
        if effect.action in ("dropped", "truncated") and effect.table
    }
    for change in followed.changes if followed else ():
        if change.kind is ChangeKind.DROPPED and change.previous:
            gone.setdefault((change.previous.db, change.previous.name), False)
    for (schema, table), exists in gone.items():
        options = ["--no-create"] if exists else []
        yield schema, table, state_command(logs, (schema, table), f"{file}:{start}", *options)
