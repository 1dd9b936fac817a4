"""Secondary and foreign keys of a table, and how statements add, change and rename them.

Without a primary key, a UNIQUE key identifies rows: servers treat the first one whose columns are
all NOT NULL and without prefix as the primary key (sql/table.cc), and table maps record it as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

from binx.rows.columns.schema import ColumnDefinition, ForeignKey, IndexDefinition, TableDefinition
from binx.rows.columns.types import GEOMETRY_BASES
from binx.rows.ddl.statements import Key

Indexes = tuple[IndexDefinition, ...]

_KEPT_IN_THE_ROW = ("char", "varchar", "binary", "varbinary")
_LONG = ("text", "blob", *GEOMETRY_BASES)
_NAME_OF_EXPRESSIONS = "functional_index"
_MOST_DIGITS = 20
GENERATED_NAME = "_ibfk_"
"""Stands between a table's name and a number in the names that servers give foreign keys."""


def same_name(first: str | None, second: str) -> bool:
    """Whether two names of columns or keys are one: the server compares them without regard to case."""
    return first is not None and first.casefold() == second.casefold()


def with_index(indexes: Indexes, key: Key) -> Indexes:
    """The keys and one more; without a name it is called after its first column, as the server does."""
    name = key.name or (key.columns[0] if key.columns else _NAME_OF_EXPRESSIONS)
    taken = {"primary", *(index.name.casefold() for index in indexes)}
    if key.if_not_exists and any(same_name(name, index.name) for index in indexes):
        return indexes
    if key.name is None and name.casefold() in taken:
        numbered = (f"{name}_{number}" for number in count(2))
        name = next(one for one in numbered if one.casefold() not in taken)
    prefixes = key.prefixes if any(key.prefixes) else ()
    return (*indexes, IndexDefinition(name, key.columns, key.unique, key.whole, prefixes))


def without_index(indexes: Indexes, name: str, if_exists: bool) -> Indexes:
    """The keys without one.

    A foreign key makes an index that no statement names; who drops what is not known here knows more than
    the catalog, so from then on it claims no key at all.
    """
    left = tuple(index for index in indexes if not same_name(name, index.name))
    return left if if_exists or len(left) < len(indexes) else ()


def renamed_index(indexes: Indexes, old: str, new: str) -> Indexes:
    """The keys, one of them with another name."""
    return tuple(index._replace(name=new) if same_name(old, index.name) else index for index in indexes)


def on_columns(indexes: Indexes, now: Callable[[str], str | None]) -> Indexes:
    """The keys after a change of columns.

    Args:
        now: what a column is called after the change, None where it is gone.
    """
    changed = []
    for index in indexes:
        parts = zip(index.columns, index.prefixes or (0,) * len(index.columns), strict=True)
        left = [(name, prefix) for old, prefix in parts if (name := now(old)) is not None]
        if left or not index.columns:
            prefixes = tuple(prefix for _, prefix in left)
            columns = tuple(name for name, _ in left)
            changed.append(index._replace(columns=columns, prefixes=prefixes if any(prefixes) else ()))
    return tuple(changed)


def settled_indexes(indexes: Indexes, columns: tuple[ColumnDefinition, ...]) -> Indexes:
    """Sort the keys as the server does after a statement (sql/sql_table.cc, ``sort_keys``).

    A prefix of all that a column holds has become the whole column.
    """
    known = {column.name.casefold(): column for column in columns}

    def settled(index: IndexDefinition) -> IndexDefinition:
        parts = zip(index.columns, index.prefixes, strict=False)
        prefixes = tuple(_settled_prefix(known.get(name.casefold()), prefix) for name, prefix in parts)
        return index._replace(prefixes=prefixes if any(prefixes) else ())

    def order(index: IndexDefinition) -> tuple[bool, ...]:
        parts = [known[name.casefold()] for name in index.columns if name.casefold() in known]
        is_virtual = not index.whole or any(column.generated == "virtual" for column in parts)
        is_nullable = any(column.nullable for column in parts)
        return not index.unique, index.unique and is_nullable, is_virtual, any(index.prefixes)

    return tuple(sorted(map(settled, indexes), key=order))


def _settled_prefix(column: ColumnDefinition | None, prefix: int) -> int:
    """The length of a part of a column in a key, 0 for all of it; only text and bytes have parts."""
    if column is None:
        return 0
    if column.base in _KEPT_IN_THE_ROW:
        return prefix if prefix < (column.length or 0) else 0
    return prefix if column.base.endswith(_LONG) else 0


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
        numbers = (int(digits) for digits in taken if digits.isdecimal() and len(digits) < _MOST_DIGITS)
        number = 1 + max(numbers, default=0)
        to, referenced, on_delete, on_update = key.references
        name = key.name or f"{prefix}{number}"
        db = to.db or table.db
        found.append(ForeignKey(name, key.columns, db, to.name, referenced, on_delete, on_update))
    return table._replace(foreign_keys=tuple(found))


def renamed_foreign_keys(table: TableDefinition, name: str) -> TableDefinition:
    """A table with another name, which the names that the server gave its foreign keys follow."""
    old, new = f"{table.name}{GENERATED_NAME}", f"{name}{GENERATED_NAME}"
    keys = tuple(
        key._replace(name=new + key.name.removeprefix(old)) if key.name and key.name.startswith(old) else key
        for key in table.foreign_keys
    )
    return table._replace(name=name, foreign_keys=keys)
