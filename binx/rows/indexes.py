"""A table's keys other than PRIMARY: where there is no primary key, a UNIQUE one tells rows apart.

Servers treat the first UNIQUE key whose columns are all NOT NULL and taken whole as the
primary key of a table without one (sql/table.cc), and table maps name it as that.
"""

from __future__ import annotations

from collections.abc import Callable

from binx.rows.ddl_statements import Key
from binx.rows.schema import IndexDefinition

Indexes = tuple[IndexDefinition, ...]

_NAME_OF_EXPRESSIONS = "functional_index"


def same_name(first: str | None, second: str) -> bool:
    """Whether two names of columns or keys are one: the server compares them without regard to case."""
    return first is not None and first.casefold() == second.casefold()


def with_index(indexes: Indexes, key: Key) -> Indexes:
    """The keys and one more; without a name it is called after its first column, as the server does."""
    name = key.name
    if name is None:
        name = _free_name(indexes, key.columns[0] if key.columns else _NAME_OF_EXPRESSIONS)
    elif key.if_not_exists and any(same_name(name, index.name) for index in indexes):
        return indexes
    return (*indexes, IndexDefinition(name, key.columns, key.unique, key.whole))


def _free_name(indexes: Indexes, column: str) -> str:
    taken = {index.name.casefold() for index in indexes}
    name, number = column, 1
    while name.casefold() in taken or same_name(name, "PRIMARY"):
        number += 1
        name = f"{column}_{number}"
    return name


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
        indexes: the keys.
        now: what a column is called after the change, None where it is gone.
    """
    changed = []
    for index in indexes:
        columns = tuple(name for old in index.columns if (name := now(old)) is not None)
        if columns or not index.columns:
            changed.append(index._replace(columns=columns))
    return tuple(changed)
