"""Find the generated columns that an ALTER TABLE computes again."""

from __future__ import annotations

from binx.rows.columns.schema import ColumnDefinition, TableDefinition, folded_name
from binx.rows.ddl.parsed_statements import AlterTable, ChangeColumn

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")


def computed_anew(
    parsed: AlterTable, previous: TableDefinition | None, after: TableDefinition | None
) -> set[str]:
    """Return the generated columns, in lower case, whose values an ALTER TABLE may have changed.

    These are columns that get another expression, and those that read a column whose values were converted.
    """
    clauses = [action for action in parsed.actions if isinstance(action, ChangeColumn)]
    former = {folded_name(clause.column.name): clause.old for clause in clauses}
    if previous is None or after is None:
        return {folded_name(clause.column.name) for clause in clauses if clause.column.expression}
    computed: set[str] = set()
    changed: set[str] = set()
    for column in after.columns:
        name = folded_name(column.name)
        before = previous.column(former.get(name, column.name))
        if before is None:
            continue
        if column.expression and before.expression != column.expression:
            computed.add(name)
        elif not _keeps_values(before, column):
            changed |= {name, folded_name(before.name)}
    # A generated column may read another one.
    while True:
        readers = {
            folded_name(column.name)
            for column in after.columns
            if not (computed | changed).isdisjoint(column.expression[1:])
        } - computed
        if not readers:
            return computed
        computed |= readers


def _keeps_values(before: ColumnDefinition, after: ColumnDefinition) -> bool:
    """Whether an expression reads the same values after a change of a column."""
    if (before.charset, before.unsigned) != (after.charset, after.unsigned):
        return False
    if (before.nullable and not after.nullable) or (after.numbered and not before.numbered):
        return False
    wider = {before.base, after.base} <= {*_INTEGERS} or before.base == after.base == "varchar"
    return before.mysql_type == after.mysql_type or (wider and _size(before) <= _size(after))


def _size(column: ColumnDefinition) -> int:
    return _INTEGERS.index(column.base) if column.base in _INTEGERS else column.length or 0
