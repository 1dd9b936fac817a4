"""Foreign keys of tables that statements make, change and rename."""

from __future__ import annotations

from collections.abc import Iterable

from binx.rows.columns.schema import ForeignKey, TableDefinition
from binx.rows.ddl.statements import Key

GENERATED_NAME = "_ibfk_"
"""Stands between a table's name and a number in the names that servers give foreign keys."""


def with_foreign_keys(table: TableDefinition, keys: Iterable[Key]) -> TableDefinition:
    """A table with those foreign keys more that are among the keys that a statement declares for it.

    One without a name gets that which servers give: the table's, ``_ibfk_``, and the next number.
    """
    found = [*table.foreign_keys]
    prefix = f"{table.name}{GENERATED_NAME}"
    for key in keys:
        if key.references is None:
            continue
        taken = (name.removeprefix(prefix) for one in found if (name := one.name or "").startswith(prefix))
        number = 1 + max((int(digits) for digits in taken if digits.isdecimal()), default=0)
        references = key.references
        found.append(
            ForeignKey(
                key.name or f"{prefix}{number}",
                key.columns,
                references.table.db or table.db,
                references.table.name,
                references.columns,
                references.on_delete,
                references.on_update,
            )
        )
    return table._replace(foreign_keys=tuple(found))


def renamed_foreign_keys(table: TableDefinition, name: str) -> TableDefinition:
    """A table with another name, which the names that the server gave its foreign keys follow."""
    old, new = f"{table.name}{GENERATED_NAME}", f"{name}{GENERATED_NAME}"
    keys = tuple(
        key._replace(name=new + key.name.removeprefix(old)) if key.name and key.name.startswith(old) else key
        for key in table.foreign_keys
    )
    return table._replace(name=name, foreign_keys=keys)


__all__ = ["renamed_foreign_keys", "with_foreign_keys"]
