"""What a statement did to tables, as the data set records it: readers need not parse SQL again.

An :class:`Effect` is one thing done to one table. It is made of what the statement asked for and of what the
catalog knew before and behind it, so that IF EXISTS and its like are settled where they can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from binx.rows.absent import Absent, added_value, filled_value
from binx.rows.columns.schema import (
    DEFAULT_CONTEXT,
    Change,
    ChangeKind,
    ColumnDefinition,
    StatementContext,
    TableDefinition,
)
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, ArrowOptions, arrow_type
from binx.rows.ddl.catalog import Followed
from binx.rows.ddl.catalog_alter import given_default
from binx.rows.ddl.clauses import NO_CHANGE
from binx.rows.ddl.resolve import declared_type, resolve_column
from binx.rows.ddl.statements import (
    AddColumn,
    AddKey,
    AlterTable,
    ChangeColumn,
    Charset,
    CreateTable,
    DropColumn,
    DropDatabase,
    DropTables,
    Key,
    MovePartition,
    NotUnderstood,
    PartitionMove,
    RenameColumn,
    RenameTables,
    RenameTo,
    Statement,
    TableName,
    TruncateTable,
)
from binx.rows.ddl.table_keys import same_name

_XA = re.compile(r"(?is)^\s*XA\s+(?P<step>PREPARE|COMMIT|ROLLBACK)\s+(?P<xid>.+?)\s*$")
_STEPS = {"PREPARE": "prepared", "COMMIT": "committed", "ROLLBACK": "rolled_back"}


class ColumnEffect(NamedTuple):
    """A column that a statement made, changed or dropped, or that a table has behind it.

    Attributes:
        action: ``added``, ``dropped``, ``renamed``, ``retyped``; None in a list of all columns.
        name: its name behind the statement; of a dropped one the last.
        former: its name before, where that was another.
        mysql_type: as INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE has it; None where the action leaves it alone.
        arrow_type: that of its values in ``changes/``.
        charset: of text, ENUM and SET.
        nullable: whether NULL is allowed.
        known: added: whether the log tells what rows that were there hold in it.
        value: that value, spelled as the schema record's ``absent``; retyped: what NULL becomes where NULL is
            no longer allowed and the SQL mode is not strict.
        misfit: the text of the value where the Arrow type cannot hold it.
    """

    action: str | None
    name: str
    former: str | None = None
    mysql_type: str | None = None
    arrow_type: str | None = None
    charset: str | None = None
    nullable: bool | None = None
    known: bool | None = None
    value: str | None = None
    misfit: str | None = None


class Effect(NamedTuple):
    """One thing that a statement did to one table.

    Attributes:
        action: ``created``, ``altered``, ``renamed``, ``truncated``, ``dropped``; ``partitions`` where rows
            came or went with partitions; ``not_understood``; of XA transactions ``prepared``, ``committed``
            and ``rolled_back``.
        db: the table's database before the statement.
        table: its name before; None where the whole database was dropped, or where it cannot be told.
        new_db: renamed: its database behind it; partitions: that of the table on the other side.
        new_table: renamed: its name behind it; partitions: the table on the other side.
        if_not_exists: created: whether the table may have been there before.
        from_query: created: whether rows came with it, of a query or as a partition.
        columns: created, altered: all columns behind the statement, in order; None where they are not known.
        key: created, altered: the columns that tell rows apart, where the columns are known.
        changes: altered: what was done to columns, in the order of the clauses.
        parents: the tables whose deleted rows delete or change rows of this one, by its foreign keys.
        xid: the XA transaction's, as the statement has it.
        reason: not_understood: why.
    """

    action: str
    db: str = ""
    table: str | None = None
    new_db: str | None = None
    new_table: str | None = None
    if_not_exists: bool = False
    from_query: bool = False
    columns: tuple[ColumnEffect, ...] | None = None
    key: tuple[str, ...] | None = None
    changes: tuple[ColumnEffect, ...] = ()
    parents: tuple[tuple[str, str], ...] = ()
    xid: str | None = None
    reason: str | None = None


def statement_effects(
    followed: Followed | None,
    sql: str,
    default_db: str,
    context: StatementContext = DEFAULT_CONTEXT,
    options: ArrowOptions = DEFAULT_ARROW_OPTIONS,
) -> list[Effect]:
    """What a statement did.

    Args:
        followed: what the catalog made of it; None where it was no schema statement.
        sql: its text, for steps of XA transactions.
    """
    if followed is None or followed.parsed is None:
        return _xa(sql)
    return list(_Effects(followed.changes, default_db, context, options).of(followed.parsed))


def _xa(sql: str) -> list[Effect]:
    found = _XA.match(sql)
    if found is None or found["xid"].upper().endswith("ONE PHASE"):
        return []
    return [Effect(_STEPS[found["step"].upper()], xid="".join(found["xid"].upper().split()))]


class _Effects:
    def __init__(
        self, changes: list[Change], default_db: str, context: StatementContext, options: ArrowOptions
    ) -> None:
        self._changes = changes
        self._default_db = default_db
        self._context = context
        self._options = options

    def of(self, parsed: Statement) -> Iterator[Effect]:
        match parsed:
            case CreateTable():
                yield from self._created(parsed)
            case AlterTable():
                yield from self._altered(parsed)
            case RenameTables():
                for old, new in parsed.pairs:
                    yield self._effect("renamed", old)._replace(new_db=self._db(new), new_table=new.name)
            case DropTables():
                yield from (self._effect("dropped", table) for table in parsed.tables)
            case TruncateTable():
                yield self._effect("truncated", parsed.table)
            case DropDatabase():
                yield Effect("dropped", parsed.db)
            case NotUnderstood():
                named = [self._effect("not_understood", table) for table in parsed.tables]
                for effect in named or [Effect("not_understood", self._default_db)]:
                    yield effect._replace(reason=parsed.reason)

    def _db(self, table: TableName) -> str:
        return self._default_db if table.db is None else table.db

    def _effect(self, action: str, table: TableName) -> Effect:
        """An effect on a table, called as the rows before it called it where that is known."""
        db, name = self._db(table), table.name
        for change in self._changes:
            previous = change.previous
            if previous is not None and same_name(previous.name, name) and previous.db in (db, ""):
                return Effect(action, db, previous.name)
        return Effect(action, db, name)

    def _created(self, parsed: CreateTable) -> Iterator[Effect]:
        if parsed.temporary:
            return
        for change in self._changes:
            if change.kind is ChangeKind.DROPPED:
                yield self._effect("dropped", parsed.table)
            elif change.kind is ChangeKind.CREATED:
                columns, key = self._definition(change.definition)
                yield Effect(
                    "created",
                    self._db(parsed.table),
                    parsed.table.name,
                    if_not_exists=parsed.if_not_exists,
                    from_query=parsed.select,
                    columns=columns,
                    key=key,
                    parents=self._parents(parsed.keys),
                )

    def _altered(self, parsed: AlterTable) -> Iterator[Effect]:
        change = next((one for one in self._changes if one.kind is ChangeKind.ALTERED), None)
        if change is None and any(one.kind is ChangeKind.UNPARSED for one in self._changes):
            reason = self._changes[0].reason
            yield self._effect("not_understood", parsed.table)._replace(reason=reason)
        elif parsed.actions:
            previous, after = (None, None) if change is None else (change.previous, change.definition)
            columns, key = self._definition(after)
            keys = tuple(action.key for action in parsed.actions if isinstance(action, AddKey))
            yield self._effect("altered", parsed.table)._replace(
                columns=columns,
                key=key,
                changes=tuple(self._column_changes(parsed, previous, after)),
                parents=self._parents(keys),
            )
        for action in parsed.actions:
            if isinstance(action, MovePartition):
                effect = self._effect("partitions", parsed.table)
                if action.other is not None:
                    effect = effect._replace(new_db=self._db(action.other), new_table=action.other.name)
                yield effect
                yield from self._converted(action)
        renames = [action.table for action in parsed.actions if isinstance(action, RenameTo)]
        if renames:
            effect = self._effect("renamed", parsed.table)
            new_db, new_table = self._db(renames[-1]), renames[-1].name
            if (effect.db, effect.table) != (new_db, new_table):
                yield effect._replace(new_db=new_db, new_table=new_table)

    def _converted(self, action: MovePartition) -> Iterator[Effect]:
        """What MariaDB made of a table and a partition that became one another."""
        if action.other is None or action.kind is PartitionMove.ROWS:
            return
        effect = self._effect("dropped", action.other)
        if action.kind is PartitionMove.TABLE_MADE:
            made = next((one for one in self._changes if one.kind is ChangeKind.CREATED), None)
            columns, key = self._definition(None if made is None else made.definition)
            effect = effect._replace(action="created", from_query=True, columns=columns, key=key)
        yield effect

    def _parents(self, keys: tuple[Key, ...]) -> tuple[tuple[str, str], ...]:
        """The tables that foreign keys refer to whose deletions reach rows here."""
        referred = (key.references for key in keys if key.references is not None)
        return tuple((self._db(one.table), one.table.name) for one in referred if one.on_delete != NO_CHANGE)

    def _definition(
        self, definition: TableDefinition | None
    ) -> tuple[tuple[ColumnEffect, ...] | None, tuple[str, ...] | None]:
        if definition is None or definition.unknown is not None:
            return None, None
        columns = tuple(self._column(None, column) for column in definition.columns)
        return columns, definition.row_key

    def _column(
        self, action: str | None, column: ColumnDefinition, former: str | None = None
    ) -> ColumnEffect:
        return ColumnEffect(
            action,
            column.name,
            former,
            mysql_type=column.mysql_type,
            arrow_type=str(arrow_type(declared_type(column), self._options)),
            charset=column.charset,
            nullable=column.nullable,
        )

    def _column_changes(
        self, parsed: AlterTable, previous: TableDefinition | None, after: TableDefinition | None
    ) -> Iterator[ColumnEffect]:
        """What the clauses did to columns; those that IF [NOT] EXISTS made do nothing are left out."""
        for action in parsed.actions:
            if isinstance(action, DropColumn) and self._was_there(action.name, previous):
                yield ColumnEffect("dropped", action.name)
            elif isinstance(action, RenameColumn) and self._was_there(action.old, previous):
                yield ColumnEffect("renamed", action.new, action.old)
            elif isinstance(action, ChangeColumn) and self._was_there(action.old, previous):
                column = self._behind(action, after)
                former = None if same_name(action.old, column.name) else action.old
                before = None if previous is None else previous.column(action.old)
                filled = None if column.nullable else self._filled(before, column)
                yield self._with_value(self._column("retyped", column, former), filled)
            elif isinstance(action, AddColumn):
                if (
                    action.if_not_exists
                    and previous is not None
                    and self._was_there(action.column.name, previous)
                ):
                    continue
                column = self._behind(action, after)
                given = added_value(column, declared_type(column))
                yield self._with_value(self._column("added", column), given)._replace(known=given is not None)
        if previous is None or after is None:
            return
        named = [
            name
            for action in parsed.actions
            for name in (
                (action.column.name,)
                if isinstance(action, ChangeColumn | AddColumn)
                else (action.old, action.new)
                if isinstance(action, RenameColumn)
                else ()
            )
        ]
        for column in after.columns:
            # CONVERT TO CHARACTER SET changes columns that no clause names, and a primary key takes no NULL.
            before = previous.column(column.name)
            if before is None or any(same_name(name, column.name) for name in named):
                continue
            is_filled = before.nullable and not column.nullable
            if is_filled or (before.mysql_type, before.charset) != (column.mysql_type, column.charset):
                value = self._filled(before, column) if is_filled else None
                yield self._with_value(self._column("retyped", column), value)

    def _filled(self, before: ColumnDefinition | None, column: ColumnDefinition) -> Absent | None:
        return filled_value(before, column, declared_type(column), mariadb=self._context.mariadb)

    @staticmethod
    def _was_there(name: str, previous: TableDefinition | None) -> bool:
        return previous is None or previous.column(name) is not None

    def _behind(self, action: AddColumn | ChangeColumn, after: TableDefinition | None) -> ColumnDefinition:
        """The column as the statement left it."""
        found = None if after is None else after.column(action.column.name)
        if found is not None:
            return found
        column = resolve_column(action.column, Charset(), self._context)
        return column._replace(added=given_default(action.column, column))

    @staticmethod
    def _with_value(effect: ColumnEffect, value: Absent | None) -> ColumnEffect:
        return effect if value is None else effect._replace(value=value.value, misfit=value.misfit)


__all__ = ["ColumnEffect", "Effect", "statement_effects"]
