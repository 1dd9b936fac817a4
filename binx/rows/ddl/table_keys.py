"""Add, drop, rename and sort a table's secondary and foreign keys as the server does.

Without a primary key, a UNIQUE key identifies rows: servers treat the first one whose columns are
all NOT NULL and without prefix as the primary key (sql/table.cc), and table maps record it as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

from binx.rows.columns.schema import (
    LONG_BASES,
    Check,
    ColumnDefinition,
    ForeignKey,
    IndexDefinition,
    StatementContext,
    TableDefinition,
    folded_name,
)
from binx.rows.ddl.clauses import VISIBILITY
from binx.rows.ddl.parsed_statements import Key

Indexes = tuple[IndexDefinition, ...]

_KEPT_IN_THE_ROW = ("char", "varchar", "binary", "varbinary")
_NAME_OF_EXPRESSIONS = "functional_index"
_MOST_DIGITS = 20
_INDEX_NAMES_NO_FOREIGN_KEY = 80016
_CHECK_NAME = "_chk_"
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
    return (*indexes, index_of(key, name))


def index_of(key: Key, name: str) -> IndexDefinition:
    """Return the key that a statement declares."""
    return IndexDefinition(
        name,
        key.columns,
        key.unique,
        key.whole,
        key.prefixes if any(key.prefixes) else (),
        kind=key.kind,
        descending=key.descending,
        expressions=key.expressions,
        options=key.options,
        without_overlaps=key.without_overlaps,
    )


def without_index(indexes: Indexes, name: str, if_exists: bool) -> Indexes:
    """Return the keys without the one of this name.

    Foreign keys create indexes that no statement names. If a statement drops an unknown index, the catalog
    is incomplete, so the table is left without any known key.
    """
    remaining = tuple(index for index in indexes if not same_name(name, index.name))
    return remaining if if_exists or len(remaining) < len(indexes) else ()


def with_visibility(indexes: Indexes, name: str, option: str) -> Indexes:
    """Return the keys with one made VISIBLE or INVISIBLE, IGNORED or NOT IGNORED."""

    def changed(index: IndexDefinition) -> IndexDefinition:
        others = tuple(other for other in index.options if other[0] not in VISIBILITY)
        return index._replace(options=(*others, (option, "")))

    return tuple(changed(index) if same_name(name, index.name) else index for index in indexes)


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
            descending = tuple(name for name in map(new_name, index.descending) if name is not None)
            prefixes = prefixes if any(prefixes) else ()
            changed.append(index._replace(columns=columns, prefixes=prefixes, descending=descending))
    return tuple(changed)


def with_key_of_references(indexes: Indexes, key: Key) -> Indexes:
    """Return the keys with the one that the server makes for a foreign key, until another serves that."""
    own = Key(key.columns, key.name or key.index_name, prefixes=(0,) * len(key.columns))
    *others, made = with_index(indexes, own)
    return (*others, made._replace(generated=True))


def _serves(index: IndexDefinition, columns: tuple[str, ...]) -> bool:
    """Whether a key begins with these whole columns."""
    names = tuple(map(folded_name, columns))
    is_first = tuple(map(folded_name, index.columns[: len(names)])) == names
    return is_first and index.whole and not index.kind and not any(index.prefixes[: len(names)])


def settled_indexes(
    indexes: Indexes,
    columns: tuple[ColumnDefinition, ...],
    key: tuple[str, ...] = (),
    *,
    mariadb: bool,
    sort: bool = True,
) -> Indexes:
    """Normalize and sort the keys as the server does after a statement (sql/sql_table.cc, ``sort_keys``).

    A prefix as long as its column becomes the whole column. Keys made for foreign keys go where others serve.

    Args:
        key: the primary key's columns.
        sort: whether the statement is one after which the server sorts them.
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
        is_virtual = not mariadb and (
            not index.whole or any(column.generated == "virtual" for column in key_columns)
        )
        # MariaDB keeps the hashes of long values in a column of its own, which may be NULL.
        is_hash = not any(index.prefixes) and any(column.base.endswith(LONG_BASES) for column in key_columns)
        is_nullable = is_hash or any(column.nullable for column in key_columns)
        if not index.unique:
            return True, index.kind == "FULLTEXT", is_virtual, False
        return False, is_nullable, is_virtual, is_hash or any(index.prefixes)

    kept: list[IndexDefinition] = [IndexDefinition("PRIMARY", key)] if key else []
    for index in sorted(indexes, key=lambda index: index.generated):
        if not (index.generated and any(_serves(other, index.columns) for other in kept)):
            kept.append(index)
    remaining = [settled(index) for index in indexes if index in kept]
    return tuple(sorted(remaining, key=order) if sort else remaining)


def _settled_prefix(column: ColumnDefinition | None, prefix: int) -> int:
    """Return a key part's prefix length, 0 for the whole column; only text and bytes have prefixes."""
    if column is None:
        return 0
    if column.base in _KEPT_IN_THE_ROW:
        return prefix if prefix < (column.length or 0) else 0
    return prefix if column.base.endswith(LONG_BASES) else 0


def not_null(columns: Iterable[ColumnDefinition], names: Iterable[str]) -> tuple[ColumnDefinition, ...]:
    """Return the columns, with those of these names NOT NULL: a key's, or the bounds of a period."""
    required = {folded_name(name) for name in names}
    return tuple(
        column._replace(nullable=column.nullable and folded_name(column.name) not in required)
        for column in columns
    )


def without_period(key: Key, period: tuple[str, ...]) -> Key:
    """Return a key as the server makes it: of a period, its end and its start, which are the last parts."""
    if not any(same_name(name, column) for column in key.columns for name in period[:1]):
        return key
    replaced = (reversed(period[1:]) if same_name(period[0], name) else (name,) for name in key.columns)
    return key._replace(columns=tuple(name for names in replaced for name in names), prefixes=())


def with_foreign_keys(
    table: TableDefinition, keys: Iterable[Key], context: StatementContext
) -> TableDefinition:
    """Return the table with the foreign keys among ``keys`` added.

    An unnamed one is named as by servers: the table's name, ``_ibfk_``, and the next number; in MariaDB, and
    in MySQL before 8.0.16, by its index if that has a name.
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
        to, referenced, on_delete, on_update, written = key.references
        name = key.name
        is_old = context.version is not None and context.version < _INDEX_NAMES_NO_FOREIGN_KEY
        if context.mariadb or is_old:
            name = name or key.index_name
        name = name or f"{prefix}{number}"
        actions = (referenced, on_delete, on_update, written)
        foreign_keys.append(ForeignKey(name, key.columns, to.db or table.db, to.name, *actions))
    return table._replace(foreign_keys=tuple(foreign_keys))


def renamed_table(table: TableDefinition, name: str) -> TableDefinition:
    """Return the table renamed, and with it the foreign keys and CHECKs that the server named."""
    old, new = f"{table.name}{GENERATED_NAME}", f"{name}{GENERATED_NAME}"
    keys = tuple(
        key._replace(name=new + key.name.removeprefix(old)) if key.name and key.name.startswith(old) else key
        for key in table.foreign_keys
    )
    old, new = f"{table.name}{_CHECK_NAME}", f"{name}{_CHECK_NAME}"
    checks = tuple(
        check._replace(name=new + check.name.removeprefix(old))
        if check.name and check.name.startswith(old)
        else check
        for check in table.checks
    )
    return table._replace(name=name, foreign_keys=keys, checks=checks)


def with_checks(table: TableDefinition, checks: Iterable[Check], *, mariadb: bool) -> TableDefinition:
    """Return the table with CHECK constraints added; servers name those without a name."""
    all_checks = [*table.checks]
    prefix = f"{table.name}{_CHECK_NAME}"
    for check in checks:
        names = {folded_name(existing.name or "") for existing in all_checks}
        if check.name is not None:
            if check.if_not_exists and folded_name(check.name) in names:
                continue
            name = check.name
        elif mariadb:
            name = next(name for number in count(1) if (name := f"CONSTRAINT_{number}").lower() not in names)
        else:
            digits = (name.removeprefix(folded_name(prefix)) for name in names)
            numbers = (int(text) for text in digits if text.isdecimal() and len(text) < _MOST_DIGITS)
            name = f"{prefix}{1 + max(numbers, default=0)}"
        all_checks.append(check._replace(name=name, if_not_exists=False))
    return table._replace(checks=tuple(all_checks))
