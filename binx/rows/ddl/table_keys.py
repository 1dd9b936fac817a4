"""Add, drop, rename and sort a table's secondary and foreign keys as the server does.

Without a primary key, a UNIQUE key identifies rows: servers treat the first one whose columns are
all NOT NULL and without prefix as the primary key (sql/table.cc), and table maps record it as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

from binx.rows.columns.schema import (
    ColumnDefinition,
    ForeignKey,
    IndexDefinition,
    TableDefinition,
    folded_name,
)
from binx.rows.columns.types import GEOMETRY_BASES
from binx.rows.ddl.statements import Key

Indexes = tuple[IndexDefinition, ...]

_KEPT_IN_THE_ROW = ("char", "varchar", "binary", "varbinary")
_LONG = ("text", "blob", *GEOMETRY_BASES)
_NAME_OF_EXPRESSIONS = "functional_index"
_MOST_DIGITS = 20
GENERATED_NAME = "_ibfk_"
"""Servers name foreign keys by the table's name, this infix and a number."""


def same_name(first: str | None, second: str) -> bool:
    """Whether two column or key names are equal; the server compares them case-insensitively."""
    return first is not None and folded_name(first) == folded_name(second)


def with_index(indexes: Indexes, key: Key) -> Indexes:
    """Return the keys with one added; an unnamed key is named after its first column, as the server does."""
    name = key.name or (key.columns[0] if key.columns else _NAME_OF_EXPRESSIONS)
    taken = {"primary", *(folded_name(index.name) for index in indexes)}
    if key.if_not_exists and any(same_name(name, index.name) for index in indexes):
        return indexes
    if key.name is None and folded_name(name) in taken:
        numbered = (f"{name}_{number}" for number in count(2))
        name = next(candidate for candidate in numbered if folded_name(candidate) not in taken)
    prefixes = key.prefixes if any(key.prefixes) else ()
    return (*indexes, IndexDefinition(name, key.columns, key.unique, key.whole, prefixes))


def without_index(indexes: Indexes, name: str, if_exists: bool) -> Indexes:
    """Return the keys without the one of this name.

    Foreign keys create indexes that no statement names. If a statement drops an unknown index, the catalog
    is incomplete, so the table is left without any known key.
    """
    remaining = tuple(index for index in indexes if not same_name(name, index.name))
    return remaining if if_exists or len(remaining) < len(indexes) else ()


def renamed_index(indexes: Indexes, old: str, new: str) -> Indexes:
    """Return the keys with one renamed."""
    return tuple(index._replace(name=new) if same_name(old, index.name) else index for index in indexes)


def on_columns(indexes: Indexes, new_name: Callable[[str], str | None]) -> Indexes:
    """Return the keys after columns were renamed or dropped.

    Args:
        new_name: returns a column's name after the change; None if it was dropped.
    """
    changed = []
    for index in indexes:
        key_parts = zip(index.columns, index.prefixes or (0,) * len(index.columns), strict=True)
        renamed = [(name, prefix) for old, prefix in key_parts if (name := new_name(old)) is not None]
        if renamed or not index.columns:
            prefixes = tuple(prefix for _, prefix in renamed)
            columns = tuple(name for name, _ in renamed)
            changed.append(index._replace(columns=columns, prefixes=prefixes if any(prefixes) else ()))
    return tuple(changed)


def settled_indexes(indexes: Indexes, columns: tuple[ColumnDefinition, ...]) -> Indexes:
    """Normalize and sort the keys as the server does after a statement (sql/sql_table.cc, ``sort_keys``).

    A prefix as long as its column becomes the whole column.
    """
    by_name = {folded_name(column.name): column for column in columns}

    def settled(index: IndexDefinition) -> IndexDefinition:
        key_parts = zip(index.columns, index.prefixes, strict=False)
        prefixes = tuple(
            _settled_prefix(by_name.get(folded_name(name)), prefix) for name, prefix in key_parts
        )
        return index._replace(prefixes=prefixes if any(prefixes) else ())

    def order(index: IndexDefinition) -> tuple[bool, ...]:
        key_columns = [by_name[folded_name(name)] for name in index.columns if folded_name(name) in by_name]
        is_virtual = not index.whole or any(column.generated == "virtual" for column in key_columns)
        is_nullable = any(column.nullable for column in key_columns)
        return not index.unique, index.unique and is_nullable, is_virtual, any(index.prefixes)

    return tuple(sorted(map(settled, indexes), key=order))


def _settled_prefix(column: ColumnDefinition | None, prefix: int) -> int:
    """Return a key part's prefix length, 0 for the whole column; only text and bytes have prefixes."""
    if column is None:
        return 0
    if column.base in _KEPT_IN_THE_ROW:
        return prefix if prefix < (column.length or 0) else 0
    return prefix if column.base.endswith(_LONG) else 0


def not_null(columns: Iterable[ColumnDefinition], names: Iterable[str]) -> tuple[ColumnDefinition, ...]:
    """Return the columns, with those of these names NOT NULL: a key's, or the bounds of a period."""
    required = {folded_name(name) for name in names}
    return tuple(
        column._replace(nullable=column.nullable and folded_name(column.name) not in required)
        for column in columns
    )


def without_period(key: Key, period: tuple[str, ...]) -> Key:
    """Return a key as the server makes it: of a period, its end and its start."""
    if not any(same_name(name, column) for column in key.columns for name in period[:1]):
        return key
    replaced = (reversed(period[1:]) if same_name(period[0], name) else (name,) for name in key.columns)
    return key._replace(columns=tuple(name for names in replaced for name in names), prefixes=())


def with_foreign_keys(table: TableDefinition, keys: Iterable[Key]) -> TableDefinition:
    """Return the table with the foreign keys among ``keys`` added.

    An unnamed one is named as by servers: the table's name, ``_ibfk_``, and the next number.
    """
    foreign_keys = [*table.foreign_keys]
    prefix = f"{table.name}{GENERATED_NAME}"
    for key in keys:
        if key.references is None:
            continue
        names = (existing.name or "" for existing in foreign_keys)
        taken = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
        numbers = (int(digits) for digits in taken if digits.isdecimal() and len(digits) < _MOST_DIGITS)
        number = 1 + max(numbers, default=0)
        to, referenced, on_delete, on_update = key.references
        name = key.name or f"{prefix}{number}"
        db = to.db or table.db
        foreign_keys.append(ForeignKey(name, key.columns, db, to.name, referenced, on_delete, on_update))
    return table._replace(foreign_keys=tuple(foreign_keys))


def renamed_foreign_keys(table: TableDefinition, name: str) -> TableDefinition:
    """Return the table renamed, and with it the foreign keys that the server named."""
    old, new = f"{table.name}{GENERATED_NAME}", f"{name}{GENERATED_NAME}"
    keys = tuple(
        key._replace(name=new + key.name.removeprefix(old)) if key.name and key.name.startswith(old) else key
        for key in table.foreign_keys
    )
    return table._replace(name=name, foreign_keys=keys)
