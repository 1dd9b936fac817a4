"""Columns of a life: by statements, and by the schema records of files.

Names in an ALTER TABLE refer to the table before the statement, whatever its clauses do: columns may be
renamed in a circle, and a name that was given up may be reused for another column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from binx.lake.dataset.files import FileColumn, Value, Version
from binx.lake.dataset.loaded_chains import ChangePosition
from binx.lake.tables.epochs import differ, key_of, shown_columns
from binx.lake.tables.lives import ColumnChange, SchemaSpan, TableColumn, TableHistory
from binx.rows.columns.schema import folded_name


def column_of(life: TableHistory, definition: Mapping[str, Any], number: int | None = None) -> TableColumn:
    """Return a column as a statement defines it, with this id or a new one."""
    return TableColumn(
        life.new_id() if number is None else number,
        definition["name"],
        definition.get("arrow_type") or "",
        definition.get("mysql_type") or "",
        definition.get("charset") or "",
        nullable=definition.get("nullable") is not False,
    )


def column_of_file(life: TableHistory, column: FileColumn, number: int | None = None) -> TableColumn:
    """Return a column as a schema record describes it, with this id or a new one."""
    return TableColumn(
        life.new_id() if number is None else number,
        column.source_name,
        column.arrow_type,
        column.mysql_type,
        column.charset,
    )


def is_repeated(life: TableHistory, effect: Mapping[str, Any]) -> bool:
    """Whether an ALTER TABLE adds a column that is there, or gives its name to one that is not."""
    clauses = effect.get("changes") or ()
    there = {folded_name(column.name) for column in life.epochs[-1].columns}
    formers = [folded_name(clause.get("former") or clause["name"]) for clause in clauses]
    kept = there.difference(
        former for former, clause in zip(formers, clauses, strict=True) if clause["action"] != "added"
    )
    return any(
        folded_name(clause["name"]) in kept and (clause["action"] == "added" or former not in there)
        for former, clause in zip(formers, clauses, strict=True)
    )


def columns_after(
    life: TableHistory, effect: Mapping[str, Any]
) -> tuple[tuple[TableColumn, ...], list[ColumnChange]]:
    """Return the columns after an ALTER TABLE, and the changes of values."""
    by_name, changes = _after_clauses(life, effect.get("changes") or ())
    if effect.get("columns") is None:
        return tuple(by_name.values()), changes
    return tuple(_column_after(life, column, by_name, changes) for column in effect["columns"]), changes


def _after_clauses(
    life: TableHistory, clauses: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, TableColumn], list[ColumnChange]]:
    """Return the columns after an ALTER TABLE's clauses, by lower-case name, and the changes of values."""
    old = {folded_name(column.name): column for column in life.epochs[-1].columns}
    # A changed column keeps its place; added ones come last.
    columns: list[TableColumn | None] = list(old.values())
    places = {name: place for place, name in enumerate(old)}
    changes = []
    for clause in clauses:
        former = folded_name(clause.get("former") or clause["name"])
        before = None if clause["action"] == "added" else old.get(former)
        if before is not None:
            columns[places[former]] = None
        if clause["action"] == "dropped":
            continue
        if clause["action"] == "renamed" and before is not None:
            after = replace(before, name=clause["name"])
        elif clause["action"] == "retyped" and before is not None:
            after = column_of(life, clause, before.id)
            # It numbers rows, or is computed again, which no log tells.
            is_numbered = clause.get("known") is False and clause.get("value") is not None
            is_computed = clause.get("known") is False and not is_numbered
            former_column = None if is_computed else before
            changes.append(ColumnChange(before.id, former_column, numbers=is_numbered))
        else:
            after = column_of(life, clause)
            value = Value(clause.get("value"), clause.get("misfit"))
            changes.append(ColumnChange(after.id, None, value, known=bool(clause.get("known"))))
        if before is None:
            columns.append(after)
        else:
            columns[places[former]] = after
    return {folded_name(column.name): column for column in columns if column is not None}, changes


def _column_after(
    life: TableHistory,
    definition: Mapping[str, Any],
    by_name: Mapping[str, TableColumn],
    changes: list[ColumnChange],
) -> TableColumn:
    """Return a column after a statement; changes without a clause are added."""
    former = by_name.get(folded_name(definition["name"]))
    after = column_of(life, definition, None if former is None else former.id)
    if former is None:
        changes.append(ColumnChange(after.id, None))
    elif all(change.id != former.id for change in changes) and differ(former, after):
        changes.append(ColumnChange(former.id, former))
    return after


def epoch_of_file(life: TableHistory, version: Version, position: ChangePosition) -> SchemaSpan:
    """Return an epoch whose columns are known only from the rows; columns are matched by name."""
    old = {folded_name(column.name): column for column in life.epochs[-1].columns}
    columns, changes = [], []
    for column in shown_columns(version):
        before = old.get(folded_name(column.source_name))
        after = column_of_file(life, column, None if before is None else before.id)
        columns.append(after)
        if before is None:
            known = column.added is not None
            changes.append(ColumnChange(after.id, None, column.added, known=known))
        elif differ(before, after):
            changes.append(ColumnChange(after.id, before))
    return SchemaSpan(position, tuple(columns), key_of(version, columns), tuple(changes))
