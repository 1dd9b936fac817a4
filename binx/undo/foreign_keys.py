"""Foreign keys of the tables in logs, and the values by which rows refer to one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import pyarrow.compute as pc

from binx.event.rows_events import UNFOLLOWED
from binx.rows.change_groups import BatchImages, ChangePlace, columns_of
from binx.rows.columns.schema import ForeignKey
from binx.rows.columns.types import INTEGER_NAMES, Kind, bytes_literal, declared_type
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.tokens import identifier
from binx.slices.renaming import DatabaseNames
from binx.slices.sql.compared_rows import BETWEEN, key_texts
from binx.source.wording import listed
from binx.sql.literals import text_literal
from binx.sql.session_settings import flagged_rows

LISTED = 20
"""Maximum number of values and keys listed for rows that are not restored."""

CASCADE, SET_NULL, CHANGES_NOTHING = "CASCADE", "SET NULL", "RESTRICT"

_NUMBERS = frozenset({*INTEGER_NAMES, Kind.DECIMAL, Kind.FLOAT32, Kind.FLOAT64, Kind.YEAR})

Name = tuple[str, str]


class Child(NamedTuple):
    """A foreign key and the table that has it.

    Attributes:
        kinds: those of its columns; None where they are not known.
    """

    name: Name
    key: ForeignKey
    kinds: tuple[Kind | None, ...]

    @property
    def compares_text(self) -> bool:
        """Whether a collation decides what its values refer to."""
        return any(kind in {None, Kind.TEXT} for kind in self.kinds)

    @property
    def parent(self) -> Name:
        """The referenced table."""
        return self.key.db, self.key.table


class ForeignKeysOf(NamedTuple):
    """The foreign keys to and of a table, with the other table's name in a script."""

    children: Sequence[tuple[Name, Child]]
    parents: Sequence[tuple[Name, Child]]


class Gone(NamedTuple):
    """A referenced row that was deleted or got other values.

    Attributes:
        now: its new value; None if that is NULL, or the row was deleted.
    """

    place: ChangePlace
    value: str
    now: str | None
    deleted: bool


class ForeignKeys:
    """The foreign keys of a catalog's tables, kept up to date with it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen = -1
        self._of: dict[Name, list[Child]] = {}
        self._to: dict[Name, list[Child]] = {}

    def of(self, name: Name) -> list[Child]:
        """Return the foreign keys of a table."""
        self._look()
        return self._of.get(name, [])

    def to(self, name: Name) -> list[Child]:
        """Return the foreign keys that refer to a table."""
        self._look()
        return self._to.get(name, [])

    def around(self, name: Name, databases: DatabaseNames) -> ForeignKeysOf:
        """Return the foreign keys to and of a table; ``databases`` are those of the script."""
        return ForeignKeysOf(
            [((databases[child.name[0]], child.name[1]), child) for child in self.to(name)],
            [((databases[child.parent[0]], child.parent[1]), child) for child in self.of(name)],
        )

    def _look(self) -> None:
        if self._seen == self._catalog.statements:
            return
        self._seen = self._catalog.statements
        self._of, self._to = defaultdict(list), defaultdict(list)
        for definition in self._catalog:
            name = definition.db, definition.name
            for key in definition.foreign_keys:
                columns = (definition.column(column) for column in key.columns)
                kinds = tuple(None if column is None else declared_type(column).kind for column in columns)
                child = Child(name, self._with_columns(key), kinds)
                if child.key.referenced:
                    self._of[name].append(child)
                    self._to[child.parent].append(child)

    def _with_columns(self, key: ForeignKey) -> ForeignKey:
        """Resolve a foreign key without referenced columns to the primary key."""
        parent = self._catalog.lookup(key.db, key.table)
        if key.referenced or parent is None or len(parent.primary_key) != len(key.columns):
            return key
        return key._replace(referenced=parent.primary_key)


def gone_rows(child: Child, images: BatchImages) -> Iterator[Gone]:
    """Yield the rows whose referenced value was removed or changed, and that the foreign key followed.

    Rows whose followers are logged are not among them.
    """
    columns = columns_of(images.columns, child.key.referenced)
    if not columns:
        return
    unfollowed = flagged_rows(images, UNFOLLOWED)
    followed = None if unfollowed is None else pc.invert(unfollowed)
    for group in images.groups():
        before, after = group.before, group.after
        action = child.key.on_delete if after is None else child.key.on_update
        if before is None or action == CHANGES_NOTHING or not {*columns} <= {*before.columns}:
            continue
        if followed is not None:
            chosen = before.pick(followed)
            before = images.marked(before, chosen)
            after = None if after is None else images.marked(after, chosen)
        values = key_texts(images, columns, before).to_pylist()
        now = [None] * len(values) if after is None else values
        if after is not None and {*columns} <= {*after.columns}:
            now = key_texts(images, columns, after).to_pylist()
        for place, value, new in zip(images.places(before), values, now, strict=True):
            if value is not None and value != new:
                yield Gone(place, value, new, after is None)


def rows_with(child: Child, values: Iterable[str]) -> str:
    """Return a condition on the rows that refer to some values."""
    names = [identifier(name) for name in child.key.columns]
    rows = (
        [_literal(text, kind) for text, kind in zip(value.split(BETWEEN), child.kinds, strict=True)]
        for value in sorted(values)
    )
    if len(names) == 1:
        return f"{names[0]} IN ({', '.join(literal for (literal,) in rows)})"
    return " OR ".join(
        f"({' AND '.join(f'{name} = {literal}' for name, literal in zip(names, row, strict=True))})"
        for row in rows
    )


def _literal(text: str, kind: Kind | None) -> str:
    if kind in _NUMBERS:
        return text
    if kind is Kind.BINARY:
        return bytes_literal(text.removeprefix("0x"))
    return text_literal(text)


def listed_keys(keys: Collection[str], count: int | None = None) -> str:
    """List the texts of some keys.

    Args:
        count: how many there are if they are not all given.
    """
    texts = [key.replace(BETWEEN, ", ") for key in islice(keys, LISTED)]
    return listed(texts, LISTED, separator="; ", count=len(keys) if count is None else count)
