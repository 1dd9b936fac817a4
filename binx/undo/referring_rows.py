"""Rows that refer to others by foreign keys, replayed through a log as the server changed them.

The rows of a table are kept by key, as far as they refer to rows of interest. Logged changes are applied to
them; changes by foreign keys, which are not logged, are derived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from binx.rows.columns.schema import folded_name
from binx.rows.images import ChangePlace
from binx.slices.sql.compared_rows import BETWEEN
from binx.undo.foreign_keys import CASCADE, CHANGES_NOTHING, Child, Gone, Name

MarkedText = tuple[int, bytes]
"""A statement, and the :class:`~binx.sql.session.RowMark` of the session that it runs in."""

CHECK = "CHECK"
"""Names the statement in ``texts`` that counts a row if it is unchanged, else records its key."""


@dataclass(slots=True, eq=False)
class ReferringRow:
    """A row that refers to another one, according to its last image.

    Attributes:
        columns: values of its key, of its foreign keys, and of the columns that others refer to, by folded
            name.
        texts: the statements that restore it if it was deleted, and if a foreign key was set to NULL; and the
            one that checks it.
        followed: whether a foreign key has changed it since, so that the statements would restore outdated
            values.
        doubtful: whether a foreign key may have changed or deleted it since, depending on a collation.
    """

    columns: dict[str, str | None]
    since: int
    texts: Mapping[Child | str, MarkedText]
    followed: bool = False
    doubtful: bool = False

    def value(self, names: Iterable[str]) -> str | None:
        """Return the values of some columns as one text; None if one is NULL."""
        values = [self.columns[folded_name(name)] for name in names]
        return None if None in values else BETWEEN.join(value for value in values if value is not None)

    def follow(self, names: Iterable[str], value: str | None) -> None:
        """Set the columns that a foreign key changed."""
        values = [] if value is None else value.split(BETWEEN)
        for name, now in zip_longest(names, values):
            self.columns[folded_name(name)] = now
        self.followed = True


@dataclass(slots=True)
class CascadeResult:
    """What foreign keys did along with undone changes.

    Attributes:
        texts: the statements that restore rows, by the change behind whose undoing they stand.
        stale: keys of rows that cannot be restored because a foreign key had changed them before.
        alike: keys of rows for which only a collation decides whether they referred to an undone row.
        checks: rows that change back when the undone rows do, and the change of these.
        unknown: one sentence for each group of rows that are not restored, or perhaps not all.
        warnings: sentences about rows that change back.
    """

    texts: dict[ChangePlace, list[MarkedText]] = field(default_factory=lambda: defaultdict(list))
    asked: dict[Child, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    doubts: dict[Child, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    stale: dict[Name, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    alike: dict[Name, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    checks: dict[ReferringRow, ChangePlace] = field(default_factory=dict)
    following: dict[Name, None] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class _Rows:
    """The rows of one table, by key and by referenced value; of a doubtful row, all its possible states."""

    def __init__(self, children: list[Child], key: tuple[str, ...]) -> None:
        self._children = children
        self._key = key
        self._rows: dict[str, list[ReferringRow]] = defaultdict(list)
        self._by_value: dict[Child, dict[str, dict[int, ReferringRow]]] = {
            child: defaultdict(dict) for child in children
        }

    def key_of(self, row: ReferringRow) -> str:
        return row.value(self._key) or ""

    def take(self, key: str) -> None:
        for row in self._rows.pop(key, ()):
            for child in self._children:
                value = row.value(child.key.columns)
                if value is not None:
                    self._by_value[child][child.fold(value)].pop(id(row), None)

    def put(self, row: ReferringRow) -> None:
        self.take(self.key_of(row))
        self.add(row)

    def add(self, row: ReferringRow) -> None:
        self._rows[self.key_of(row)].append(row)
        for child in self._children:
            value = row.value(child.key.columns)
            if value is not None:
                self._by_value[child][child.fold(value)][id(row)] = row

    def referring(self, child: Child, value: str) -> list[ReferringRow]:
        rows = self._by_value[child].get(child.fold(value), {}).values()
        return [row for row in rows if child.may_be_same(row.value(child.key.columns) or "", value)]

    def clear(self) -> None:
        self._rows.clear()
        for values in self._by_value.values():
            values.clear()


class ReferringRows:
    """The rows of all tables that are followed.

    Args:
        behind: for each undone change the one behind whose undoing rows that followed it are restored.
    """

    def __init__(
        self,
        children: Iterable[Child],
        keys: Mapping[Name, tuple[str, ...]],
        behind: Mapping[ChangePlace, ChangePlace],
    ) -> None:
        self._behind = behind
        self._to: dict[Name, list[Child]] = defaultdict(list)
        of: dict[Name, list[Child]] = defaultdict(list)
        for child in children:
            self._to[child.parent].append(child)
            of[child.name].append(child)
        self._tables = {name: _Rows(of[name], keys[name]) for name in of if name in keys}
        self._doubts: dict[Name, dict[str, None]] = defaultdict(dict)
        self.result = CascadeResult()

    def take(self, name: Name, key: str) -> None:
        """Remove a row that was deleted or changed."""
        self._tables[name].take(key)

    def put(self, name: Name, row: ReferringRow) -> None:
        """Store a row's new image."""
        self._tables[name].put(row)

    def doubt(self, name: Name, sql: str) -> None:
        """Record a statement that may have changed rows of a table."""
        self._doubts[name][sql] = None

    def clear(self, name: Name) -> None:
        """Forget the rows of a table, because they were removed or are no longer known."""
        if name in self._tables:
            self._tables[name].clear()

    def go(self, child: Child, gone: Gone) -> None:
        """Apply a foreign key's action to the rows that refer to a removed value."""
        self._go(child, gone, {}, certain=True)

    def _go(self, child: Child, gone: Gone, doubtful: dict[int, ReferringRow], *, certain: bool) -> None:
        """Apply the action recursively; visit each row once if it is not certain that its parent is gone."""
        action = child.key.on_delete if gone.deleted else child.key.on_update
        if action == CHANGES_NOTHING:
            return
        undone = gone.place in self._behind
        follows = action == CASCADE and not gone.deleted
        if undone and follows:
            self.result.following[child.name] = None
        elif undone:
            self.result.asked[child][gone.value] = None
            self.result.doubts[child].update(self._doubts[child.name])
        table = self._tables.get(child.name)
        if table is None:
            return
        for row in table.referring(child, gone.value):
            key = table.key_of(row)
            sure = certain and not row.doubtful and row.value(child.key.columns) == gone.value
            if not sure and id(row) in doubtful:
                continue
            if undone:
                self._restore(child, row, key, gone, certain=sure)
            before = self._referred_to(child.name, row)
            now = row
            if sure:
                table.take(key)
            else:
                row.doubtful = True
                now = replace(row, columns=dict(row.columns))
                doubtful |= {id(row): row, id(now): now}
            after: dict[Child, str] = {}
            deleted = action == CASCADE and gone.deleted
            if not deleted:
                now.follow(child.key.columns, gone.now if follows else None)
                (table.put if sure else table.add)(now)
                after = self._referred_to(child.name, now)
            for further, value in before.items():
                if after.get(further) != value:
                    further_gone = Gone(gone.place, value, after.get(further), deleted)
                    self._go(further, further_gone, doubtful, certain=sure)

    def _restore(self, child: Child, row: ReferringRow, key: str, gone: Gone, *, certain: bool) -> None:
        action = child.key.on_delete if gone.deleted else child.key.on_update
        if action == CASCADE and not gone.deleted and certain:
            # ON UPDATE CASCADE brings the row's image back. Its change in the same transaction is undone
            # after the check, and that statement looks for the row itself.
            if not row.followed and row.since != gone.place.version and not self._doubts[child.name]:
                self.result.checks[row] = self._behind[gone.place]
            return
        text = row.texts.get(CASCADE if action == CASCADE else child)
        self.result.checks.pop(row, None)
        if not certain:
            self.result.alike[child.name][key] = None
        elif row.followed or text is None:
            self.result.stale[child.name][key] = None
        else:
            self.result.texts[self._behind[gone.place]].append(text)

    def _referred_to(self, name: Name, row: ReferringRow) -> dict[Child, str]:
        """Return the row's values that other rows may refer to, by foreign key."""
        values = ((child, row.value(child.key.referenced)) for child in self._to[name])
        return {child: value for child, value in values if value is not None}
