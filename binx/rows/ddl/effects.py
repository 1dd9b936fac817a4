"""Effects of statements on tables, as recorded in the data set, so that readers need not parse SQL.

An :class:`Effect` is one change of one table. It is derived from the parsed statement and the
catalog before and after it, so that IF EXISTS and the like are resolved if possible.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from binx.rows.absent import Absent, added_value
from binx.rows.columns.schema import (
    DEFAULT_CONTEXT,
    NO_AUTO_VALUE_ON_ZERO,
    Change,
    ChangeKind,
    ColumnDefinition,
    StatementContext,
    TableDefinition,
    folded_name,
)
from binx.rows.columns.types import DEFAULT_ARROW_OPTIONS, ArrowOptions, arrow_type, declared_type
from binx.rows.ddl.catalog import Followed
from binx.rows.ddl.catalog_alter import clauses_of
from binx.rows.ddl.clauses import NO_CHANGE
from binx.rows.ddl.parsed_statements import (
    AddKey,
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropPrimaryKey,
    DropTables,
    Key,
    MoveRows,
    NamedTable,
    NotUnderstood,
    PartitionMove,
    RenameTables,
    Statement,
    TruncateTable,
    no_rows_of,
)
from binx.rows.ddl.recomputed_columns import computed_anew
from binx.rows.ddl.table_keys import same_name

_XA = re.compile(r"(?is)^\s*XA\s+(?P<step>PREPARE|COMMIT|ROLLBACK)\s+(?P<xid>.+?)\s*$")
_STEPS = {"PREPARE": "prepared", "COMMIT": "committed", "ROLLBACK": "rolled_back"}


class ColumnEffect(NamedTuple):
    """A column that a statement added, changed or dropped, or a column of the resulting table.

    Attributes:
        action: ``added``, ``dropped``, ``renamed``, ``retyped``; None in a list of all columns.
        name: its name after the statement; of a dropped column, the last one.
        former: its name before, if different.
        mysql_type: as in INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE; None if the action does not change it.
        arrow_type: the Arrow type of its values in ``changes/``.
        charset: the character set of text, ENUM and SET.
        nullable: whether NULL is allowed.
        known: added: whether the log shows which value existing rows have; retyped: False if these got values
            that are no conversion of the former ones: all rows, because a generated column is computed again;
            or, with a ``value``, those with that value or NULL, because the column becomes AUTO_INCREMENT.
        value: added: that value, in the format of the schema record's ``absent``; retyped: what NULL becomes
            if NULL is no longer allowed and the SQL mode is not strict.
        misfit: the text of the value if the Arrow type cannot hold it.
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


class Parent(NamedTuple):
    """A table to which a foreign key refers, and whose changes change the rows that refer to it.

    Attributes:
        deletes: whether deletes do (ON DELETE CASCADE, SET NULL).
        columns: the columns of which updates do (ON UPDATE CASCADE, SET NULL).
    """

    db: str
    table: str
    deletes: bool
    columns: tuple[str, ...]


class Effect(NamedTuple):
    """One change of a table by a statement; docs/dataset.md lists the fields of each action."""

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
    parents: tuple[Parent, ...] = ()
    xid: str | None = None
    reason: str | None = None


def statement_effects(
    followed: Followed | None,
    sql: str,
    default_db: str,
    context: StatementContext = DEFAULT_CONTEXT,
    options: ArrowOptions = DEFAULT_ARROW_OPTIONS,
) -> list[Effect]:
    """Return the effects of a statement.

    Args:
        followed: the statement as applied to the catalog; None if it is not DDL.
        sql: its text, for steps of XA transactions.
    """
    if followed is not None and followed.parsed is not None:
        return list(_Effects(followed.changes, default_db, context, options).of(followed.parsed))
    match = _XA.match(sql)
    if match is None or match["xid"].upper().endswith("ONE PHASE"):
        return []
    return [Effect(_STEPS[match["step"].upper()], xid="".join(match["xid"].upper().split()))]


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
                    yield self._renamed(old, new)
            case DropTables():
                yield from (self._effect("dropped", table) for table in parsed.tables)
            case TruncateTable():
                yield self._effect("truncated", parsed.table)
            case DropDatabase() | CreateDatabase(replaces=True):
                yield Effect("dropped", parsed.db)
            case CreateDatabase(if_not_exists=False):
                yield Effect("created", parsed.db)
            case NotUnderstood():
                named = [self._effect("not_understood", table) for table in parsed.tables]
                for effect in named or [Effect("not_understood", self._default_db)]:
                    yield effect._replace(reason=parsed.reason)

    def _effect(self, action: str, table: NamedTable) -> Effect:
        """Return an effect on a table, by the table's previous name if known."""
        db, name = table.qualified(self._default_db)
        for change in self._changes:
            previous = change.previous
            if previous is not None and same_name(previous.name, name) and previous.db in (db, ""):
                return Effect(action, db, previous.name)
        return Effect(action, db, name)

    def _renamed(self, old: NamedTable, new: NamedTable) -> Effect:
        new_db, new_table = new.qualified(self._default_db)
        return self._effect("renamed", old)._replace(new_db=new_db, new_table=new_table)

    def _change(self, kind: ChangeKind) -> Change | None:
        return next((change for change in self._changes if change.kind is kind), None)

    def _created(self, parsed: CreateTable) -> Iterator[Effect]:
        for change in self._changes:
            if change.kind is ChangeKind.CREATED:
                yield self._defined(
                    Effect("created", *parsed.table.qualified(self._default_db)),
                    change.definition,
                    parsed.keys,
                )._replace(if_not_exists=parsed.if_not_exists, from_query=parsed.select)
                reason = None if change.definition is None else no_rows_of(change.definition.options)
                if reason is not None:
                    yield self._effect("rows_unlogged", parsed.table)._replace(reason=reason)

    def _altered(self, parsed: AlterTable) -> Iterator[Effect]:
        change, unparsed = self._change(ChangeKind.ALTERED), self._change(ChangeKind.UNPARSED)
        if change is None and unparsed is not None:
            yield self._effect("not_understood", parsed.table)._replace(reason=unparsed.reason)
        elif parsed.actions:
            keys = [action.key for action in parsed.actions if isinstance(action, AddKey)]
            changes = tuple(self._column_changes(parsed, change))
            effect = self._effect("altered", parsed.table)._replace(changes=changes)
            if any(isinstance(action, DropPrimaryKey) for action in parsed.actions):
                effect = effect._replace(key=())
            for key in (key for key in keys if key.primary):
                effect = effect._replace(key=key.columns)
            yield self._defined(effect, None if change is None else change.definition, keys)
        for move in parsed.moves:
            yield from self._moved(parsed.table, move)
        if parsed.new_name is not None:
            effect = self._renamed(parsed.table, parsed.new_name)
            if (effect.db, effect.table) != (effect.new_db, effect.new_table):
                yield effect

    def _moved(self, table: NamedTable, move: MoveRows) -> Iterator[Effect]:
        """Yield what a clause did that moves rows, or makes a table of a partition or the reverse."""
        if move.reason is not None:
            yield self._effect("rows_unlogged", table)._replace(reason=move.reason)
            return
        effect = self._effect("partitions", table)
        if move.table is None:
            yield effect
            return
        new_db, new_table = move.table.qualified(self._default_db)
        yield effect._replace(new_db=new_db, new_table=new_table)
        if move.kind is PartitionMove.TABLE_TAKEN:
            yield self._effect("dropped", move.table)
        elif move.kind is PartitionMove.TABLE_MADE:
            created = self._change(ChangeKind.CREATED)
            effect = self._effect("created", move.table)._replace(from_query=True)
            yield self._defined(effect, None if created is None else created.definition, ())

    def _defined(self, effect: Effect, definition: TableDefinition | None, keys: Sequence[Key]) -> Effect:
        """Return the effect with columns, row key, and the parents of new foreign keys that act."""
        references = (key.references for key in keys if key.references is not None)
        parents = tuple(
            Parent(
                *reference.table.qualified(self._default_db),
                reference.on_delete != NO_CHANGE,
                () if reference.on_update == NO_CHANGE else reference.columns,
            )
            for reference in references
            if (reference.on_delete, reference.on_update) != (NO_CHANGE, NO_CHANGE)
        )
        if definition is None or definition.unknown is not None:
            return effect._replace(parents=parents)
        columns = tuple(self._column(None, column) for column in definition.columns)
        return effect._replace(columns=columns, key=definition.row_key, parents=parents)

    def _column(
        self,
        action: str | None,
        column: ColumnDefinition,
        former: str | None = None,
        filled: Absent | None = None,
        known: bool | None = None,
    ) -> ColumnEffect:
        return ColumnEffect(
            action,
            column.name,
            former,
            mysql_type=column.mysql_type,
            arrow_type=str(arrow_type(declared_type(column), self._options)),
            charset=column.charset,
            nullable=column.nullable,
            known=filled is not None if action == "added" else known,
            value=None if filled is None else filled.value,
            misfit=None if filled is None else filled.misfit,
        )

    def _column_changes(self, parsed: AlterTable, change: Change | None) -> Iterator[ColumnEffect]:
        """Yield what the statement did to columns: those that clauses name first."""
        if change is None or change.clauses is None:
            previous, after, clauses = None, None, tuple(clauses_of(parsed.actions, self._context))
        else:
            previous, after, clauses = change.previous, change.definition, change.clauses
        computed = computed_anew(parsed, previous, after)
        for former, name, column in clauses:
            if former is None and column is not None:
                yield self._column("added", column, None, added_value(column, declared_type(column)))
            elif name is None:
                yield ColumnEffect("dropped", former or "")
            elif column is None:
                yield ColumnEffect("renamed", name, former)
            else:
                before = None if previous is None or former is None else previous.column(former)
                is_numbered = column.numbered and not (before is not None and before.numbered)
                # With NO_AUTO_VALUE_ON_ZERO, only NULL is numbered, or in MariaDB nothing.
                numbers_zero = is_numbered and not self._context.sql_mode & NO_AUTO_VALUE_ON_ZERO
                is_other = numbers_zero or folded_name(name) in computed
                filled = Absent("0") if numbers_zero else None
                called = None if same_name(former, name) else former
                yield self._column("retyped", column, called, filled, False if is_other else None)
        if previous is not None and after is not None:
            named = {folded_name(clause.name) for clause in clauses if clause.name is not None}
            yield from self._unnamed_changes(named, computed, previous, after)

    def _unnamed_changes(
        self,
        named: Collection[str],
        computed: Collection[str],
        previous: TableDefinition,
        after: TableDefinition,
    ) -> Iterator[ColumnEffect]:
        """Yield what became of columns that no clause names.

        CONVERT TO CHARACTER SET changes them, a primary key takes no NULL, and generated columns read others.
        """
        for column in after.columns:
            before = previous.column(column.name)
            if before is None or folded_name(column.name) in named:
                continue
            if folded_name(column.name) in computed:
                yield self._column("retyped", column, known=False)
                continue
            facts, former = ((one.mysql_type, one.charset) for one in (column, before))
            if facts != former or (before.nullable and not column.nullable):
                yield self._column("retyped", column)
