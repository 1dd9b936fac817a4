"""Restore rows that foreign keys deleted or set to NULL along with undone changes.

In MariaDB, in MySQL before 9.6, and later with ``innodb_native_foreign_keys``, the storage engine executes
``ON DELETE CASCADE`` and ``SET NULL`` below the binary log. What these rows were is asked of the state of
their table before the change. Tables whose state is not complete, or whose foreign key a collation compares,
are listed with the command that shows their rows. Rows that followed a key (``ON UPDATE CASCADE``) follow it
back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import BinxError, RefusedError
from binx.lake.before_changes import TablesBefore, texts_of
from binx.lake.dataset.spans import FILE_BITS
from binx.lake.from_logs import data_set_of_logs
from binx.lake.table_name import TableName
from binx.log.binlog_file import BinlogFile
from binx.log.scanning import OnDamage
from binx.rows.change_groups import BatchImages, ChangePlace, Images, columns_of
from binx.rows.columns.schema import TableDefinition, folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import state_command
from binx.slices.renaming import DatabaseNames
from binx.slices.sql.compared_rows import key_texts
from binx.sql.dialect import SqlDialect
from binx.sql.tables import SqlTable
from binx.undo.conditions import MarkedText, RestoringSql
from binx.undo.foreign_keys import (
    CASCADE,
    CHANGES_NOTHING,
    SET_NULL,
    Child,
    ForeignKeys,
    Name,
    gone_rows,
    rows_with,
)
from binx.undo.names_today import NamesToday
from binx.undo.self_check import UndoCheck

MOST_VALUES = 1_000_000
"""Maximum number of referenced values that are kept."""

_MOST_SHOWN = 100
"""Maximum number of values in a command that shows rows."""

_Values = Collection[str] | None
"""Referenced values that went away, as texts; None if they are not known."""


class _Action(NamedTuple):
    """What a foreign key did as rows that it refers to were deleted, or updated."""

    child: Child
    deleted: bool

    @property
    def does(self) -> str:
        return self.child.key.on_delete if self.deleted else self.child.key.on_update

    @property
    def deletes(self) -> bool:
        return self.deleted and self.does == CASCADE

    @property
    def is_followed(self) -> bool:
        """Whether rows got the new values of those that they refer to."""
        return not self.deleted and self.does == CASCADE


@dataclass(slots=True)
class RestoredRows:
    """What foreign keys did along with undone changes.

    Attributes:
        texts: the statements that restore rows, by the change after whose undoing they stand.
        unknown: one sentence for each table with rows that are not restored.
    """

    texts: dict[ChangePlace, list[MarkedText]] = field(default_factory=lambda: defaultdict(list))
    unknown: list[str] = field(default_factory=list)


class LostParents:
    """Collects the referenced values that undone changes removed.

    Attributes:
        keys: the foreign keys of the tables known so far.
        tables: the tables as they were at the last of these changes.
        count: the number of values.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self.tables = catalog, catalog.copy()
        self.keys = ForeignKeys(catalog)
        self.count = 0
        self._values: dict[int, dict[int, list[tuple[_Action, str]]]] = defaultdict(lambda: defaultdict(list))

    def take(self, table: Name, images: BatchImages) -> None:
        """Add row changes that are undone, of a table that others may refer to."""
        children = self.keys.to(table)
        if children and self.tables.statements != self._catalog.statements:
            self.tables = self._catalog.copy()
        for child in children:
            for gone in gone_rows(child, images):
                self.count += 1
                if self.count <= MOST_VALUES:
                    values = self._values[gone.place.version][gone.place.row]
                    values.append((_Action(child, gone.deleted), gone.value))

    def places(self, version: int) -> set[int]:
        """Return the changes of a transaction after whose undoing rows are restored.

        Of consecutive deletes from a table it is the first one: one statement can insert their rows.
        """
        tables = {
            row: values[0][0].child.parent if values[0][0].deleted else None
            for row, values in self._values.get(version, {}).items()
        }
        return {row for row, table in tables.items() if table is None or tables.get(row - 1) != table}

    def values(self) -> dict[ChangePlace, dict[_Action, set[str]]]:
        """Return the values by place, oldest first."""
        by_place: dict[ChangePlace, dict[_Action, set[str]]] = {}
        for version, rows in sorted(self._values.items()):
            places = self.places(version)
            for row in sorted(rows):
                if row in places:
                    values = by_place[ChangePlace(version, row)] = defaultdict(set)
                for action, value in rows[row]:
                    values[action].add(value)
        return by_place


class _RowsThen(NamedTuple):
    """The rows of a table at a moment, and the commit version of each one's last change."""

    table: SqlTable
    images: BatchImages
    versions: list[int]

    def texts(self, names: Iterable[str]) -> pa.Array:
        return texts_of(self.images, names)


class _KeyAction(NamedTuple):
    """Rows that a foreign key deleted or set to NULL before a change."""

    place: ChangePlace
    action: _Action
    rows: _RowsThen
    chosen: list[int]


@dataclass(slots=True)
class _UnrestoredTable:
    """A table with rows that are not restored; what they referred to, None where that is not known."""

    reason: str
    place: ChangePlace
    values: dict[Child, set[str] | None] = field(default_factory=dict)


class ChildRows:
    """Finds the rows that foreign keys deleted or set to NULL along with undone changes.

    Args:
        parents: what undone changes removed.
        files: all logs, in order.
        known: the tables before the first log.
        today: the names at the end of the logs.
    """

    def __init__(
        self,
        parents: LostParents,
        files: Sequence[BinlogFile],
        known: Catalog,
        today: NamesToday,
        databases: DatabaseNames,
        on_damage: OnDamage,
    ) -> None:
        self._today = today
        self._parents, self._keys = parents, ForeignKeys(parents.tables)
        self._files, self._on_damage = files, on_damage
        self._known, self._databases = known, databases
        self._failed = ""
        self._before: TablesBefore | None = None
        self._steps: list[_KeyAction] = []
        self._listed: dict[Name, _UnrestoredTable] = {}
        # The last changes with which rows went, and lost the value of a foreign key, without a log; by key.
        self._went: dict[Name, dict[str, ChangePlace]] = defaultdict(dict)
        self._nulled: dict[Child, dict[str, ChangePlace]] = defaultdict(dict)

    def restored(
        self, check: UndoCheck, dialect: SqlDialect, rolled_back: Collection[int], *, partial: bool
    ) -> RestoredRows:
        """Return the statements that restore the rows.

        Args:
            rolled_back: commit versions of transactions that were prepared and rolled back.
            partial: whether only some rows of the transactions are undone.
        """
        lost = {at: values for at, values in self._parents.values().items() if at.version not in rolled_back}
        accounted = set() if partial else {place.version for place in lost}
        # That rows followed a key is in no image of them.
        accounted -= {
            at.version for at, values in lost.items() if any(action.is_followed for action in values)
        }
        with ExitStack() as stack:
            try:
                self._prepare(
                    {action.child.name for values in lost.values() for action in values}, accounted, stack
                )
            except BinxError as error:
                self._failed = error.message
            for place, values in lost.items():
                self._follow(place, values)
        return self._result(check, dialect)

    def _prepare(self, names: set[Name], accounted: Collection[int], stack: ExitStack) -> None:
        """Make a data set of all tables that foreign keys may reach, and those that they refer to."""
        left = [*names]
        while left:
            more = {child.name for child in self._keys.to(left.pop())} - names
            names |= more
            left += more
        if self._parents.count > MOST_VALUES:
            raise RefusedError(f"more than {MOST_VALUES:,} values were referred to")
        made = data_set_of_logs(
            self._files,
            [TableName(*name) for name in sorted(names)],
            self._known,
            exact=True,
            verify=False,
            on_damage=self._on_damage,
        )
        self._before = TablesBefore(stack.enter_context(made), accounted)

    def _follow(self, place: ChangePlace, lost: Mapping[_Action, set[str]]) -> None:
        """Follow the foreign keys whose referenced values a change, or a run of deletes, removed."""
        # A row that goes is restored with all its values.
        pending: list[tuple[_Action, _Values]] = sorted(lost.items(), key=lambda one: not one[0].deletes)
        looked_up: dict[_Action, set[str]] = defaultdict(set)
        while pending:
            action, values = pending.pop(0)
            child, seen = action.child, looked_up[action]
            if action.does == CHANGES_NOTHING or (values is None and "" in seen):
                continue
            seen |= {""} if values is None else {*values}
            step = None
            try:
                if not action.is_followed:
                    step = self._step(action, place, values, seen)
                    self._steps.append(step)
                elif child.compares_text:
                    self._check_spelling(child, place, self._rows(child.name, place, child.parent))
            except BinxError as error:
                listed = self._listed.setdefault(child.name, _UnrestoredTable(error.message, place))
                known = None if child.compares_text else listed.values.get(child, set())
                listed.values[child] = None if values is None or known is None else known.union(values)
            removed = {folded_name(name) for name in child.key.columns}
            for further in self._keys.to(child.name):
                if action.deletes or not removed.isdisjoint(map(folded_name, further.key.referenced)):
                    if step is None:
                        pending.append((_Action(further, action.deletes), None))
                    elif step.chosen:
                        texts = step.rows.texts(further.key.referenced).take(pa.array(step.chosen))
                        pending.append((_Action(further, action.deletes), {*texts.drop_null().to_pylist()}))

    def _step(self, action: _Action, place: ChangePlace, values: _Values, seen: set[str]) -> _KeyAction:
        """Find the rows that a foreign key deleted or changed; raises BinxError if they are not known."""
        child = action.child
        if values is None:
            raise RefusedError("those that they refer to are not known")
        if action.does not in (CASCADE, SET_NULL):
            raise RefusedError(f"ON DELETE or ON UPDATE {action.does} is not known")
        rows = self._rows(child.name, place, child.parent)
        texts = rows.texts(child.key.columns)
        chosen = pc.is_in(texts, value_set=pa.array([*values], pa.string()))
        if child.compares_text:
            self._check_spelling(child, place, rows)
        if child.parent == child.name and action.deleted:
            # The rows with these values are undone, or found before.
            own = pc.is_in(rows.texts(child.key.referenced), value_set=pa.array([*seen], pa.string()))
            chosen = pc.and_not(chosen, own)
        keys = key_texts(rows.images, rows.table.key, Images(None, rows.table.key)).to_pylist()
        nulled, went, found = self._nulled[child], self._went[child.name], list[int]()
        for index in pc.indices_nonzero(chosen).to_pylist():
            key, version = keys[index], rows.versions[index]
            if _is_over(went.get(key), place, version):
                continue
            if not action.deletes:
                if _is_over(nulled.get(key), place, version):
                    continue
                nulled[key] = place
            elif any(
                _is_over(self._nulled[own].get(key), place, version) for own in self._keys.of(child.name)
            ):
                raise RefusedError("a foreign key had set values of some of them to NULL before")
            else:
                went[key] = place
            found.append(index)
        self._check(action.child, place, rows, found, values)
        return _KeyAction(place, action, rows, found)

    def _check(
        self, child: Child, place: ChangePlace, rows: _RowsThen, found: Sequence[int], values: Collection[str]
    ) -> None:
        """Raise BinxError if what rows refer to had gone before, and may have taken them along."""
        for key in self._keys.of(child.name):
            if key.parent == child.parent:
                texts = rows.texts(key.key.columns).take(pa.array(found, pa.int64()))
                asked = pa.concat_arrays([texts, pa.array([*values], pa.string())])
                parent = self._definition(child.parent)
                called = self._today.name(child.parent, place.version) or child.parent
                columns = {
                    name: self._today.column(child.parent, name, place.version) for name in key.key.referenced
                }
                changes = self._tables.value_changes(parent, TableName(*called), columns, asked, place)
                if key == child and key.key.on_update == CASCADE and changes.moved:
                    raise RefusedError("some may have followed what they refer to before (ON UPDATE CASCADE)")
                for index, text in zip(found, texts.to_pylist(), strict=True):
                    version = rows.versions[index]
                    if changes.lost.get(text, -1) >= version or changes.got.get(text, -1) > version:
                        raise RefusedError(
                            f"rows of {'.'.join(child.parent)} that some refer to had gone before"
                        )

    def _check_spelling(self, child: Child, place: ChangePlace, rows: _RowsThen) -> None:
        """Raise RefusedError if rows refer to others by a text that only a collation makes equal."""
        texts, parents = rows.texts(child.key.columns), self._rows(child.parent, place, child.parent)
        exact = pc.is_in(texts, value_set=parents.texts(child.key.referenced))
        if not pc.all(pc.or_(exact, texts.is_null())).as_py():
            raise RefusedError(
                f"some values are not to the letter those of {'.'.join(child.parent)}, and only a collation"
                " tells which rows they refer to"
            )

    def _rows(self, name: Name, place: ChangePlace, parent: Name) -> _RowsThen:
        batch, versions = self._tables.rows(self._definition(name), place, TableName(*parent))
        return _RowsThen(
            SqlTable(batch.table.resolved, self._databases[name[0]]), BatchImages(batch), versions
        )

    @property
    def _tables(self) -> TablesBefore:
        if self._before is None:
            raise RefusedError(self._failed)
        return self._before

    def _definition(self, name: Name) -> TableDefinition:
        definition = self._parents.tables.lookup(*name)
        if definition is None:
            raise RefusedError(f"{'.'.join(name)} was dropped since, or its definition is not known")
        return definition

    def _result(self, check: UndoCheck, dialect: SqlDialect) -> RestoredRows:
        result = RestoredRows()
        levels = self._levels()
        for place, action, rows, chosen in sorted(
            self._steps, key=lambda step: (step.place, levels[step.action.child.name])
        ):
            child = action.child
            if child.name in self._listed or not chosen:
                continue
            batch = self._today.renamed(rows.images.changes, undone=True, state=place.version)
            if batch is None:
                continue
            table = SqlTable(batch.table.resolved, self._databases[batch.table.db])
            keys = self._today.keys if self._today.moved_after(place.version) else self._keys
            foreign_keys = keys.around(table.logged, self._databases)
            images = Images(pa.array(chosen, pa.int64()), tuple(range(len(table.columns))))
            restoring = RestoringSql(table, BatchImages(batch), dialect, check, foreign_keys)
            if action.deletes:
                result.texts[place] += restoring.inserts(images)
                continue
            columns = columns_of(rows.table.columns, child.key.columns) or ()
            parent = self._today.name(child.parent, place.version)
            names = {folded_name(table.columns[index].source_name) for index in columns}
            foreign_key = next(
                (
                    (script_name, own)
                    for script_name, own in foreign_keys.parents
                    if own.parent == parent and names == set(map(folded_name, own.key.columns))
                ),
                None,
            )
            if {*columns} <= {*table.writable}:
                result.texts[place] += restoring.sets(images, columns, foreign_key)
        result.unknown = [
            f"rows of {'.'.join(name)} that a foreign key deleted or changed are not restored:"
            f" {listed.reason}. They are shown by: {self._command(name, listed)}"
            for name, listed in self._listed.items()
        ]
        return result

    def _levels(self) -> dict[Name, int]:
        """Return the order of tables in which rows come back: after those that they refer to."""
        levels = dict.fromkeys((step.action.child.name for step in self._steps), 0)
        for _ in levels:
            for name in levels:
                for parent in (child.parent for child in self._keys.of(name)):
                    if parent != name and parent in levels:
                        levels[name] = max(levels[name], levels[parent] + 1)
        return levels

    def _command(self, name: Name, listed: _UnrestoredTable) -> str:
        """Return the command that shows a table's rows."""
        number, start = divmod(listed.place.version, 1 << FILE_BITS)
        logs = {file.commit_version(0) >> FILE_BITS: file.name for file in self._files}
        known = {child: values for child, values in listed.values.items() if values is not None}
        where: list[str] = []
        if len(known) == len(listed.values) and sum(map(len, known.values())) <= _MOST_SHOWN:
            where = ["--where", " OR ".join(rows_with(child, values) for child, values in known.items())]
        paths = [file.path for file in self._files]
        return state_command(paths, name, f"{logs.get(number, '')}:{start}", *where, "--no-create")


def _is_over(since: ChangePlace | None, place: ChangePlace, version: int) -> bool:
    """Whether a row that was last logged with a version went since then, as is known from another change."""
    if since is None or since.version < version:
        return False
    if since.version == version and since != place:
        raise RefusedError("the transaction that changed some of them had changed what they refer to before")
    return True
