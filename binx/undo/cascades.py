"""Restore rows that foreign keys deleted or changed, which most servers do not log.

In MariaDB, in MySQL before 9.6, and later with ``innodb_native_foreign_keys``, the storage engine executes
``ON DELETE CASCADE`` and ``SET NULL`` below the binary log: the log has the referenced row, but not the rows
that referred to it. They are reconstructed
from their last images in the given logs. Passes over the logs collect the values that rows may have referred
to, following the foreign keys; a final pass replays the referring rows as the server changed them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.selection.table_filter import TableFilter
from binx.rows.columns.schema import folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.table_statements import table_effect
from binx.rows.ddl.tokens import identifier
from binx.rows.images import BatchImages, ChangePlace, Images
from binx.rows.statements import Statement
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.search import Selected
from binx.slices.sql.compared_rows import BETWEEN, key_texts
from binx.source.wording import shortened
from binx.sql.tables import SqlDialect, SqlTable
from binx.undo.check import UndoCheck
from binx.undo.conditions import RestoringSql
from binx.undo.foreign_keys import (
    CASCADE,
    Child,
    ForeignKeys,
    Name,
    columns_of,
    folded,
    gone_rows,
    listed_keys,
)
from binx.undo.passes import table_changes
from binx.undo.referring_rows import CHECK, CascadeResult, MarkedText, ReferringRow, ReferringRows

_SHOWN = 60
"""Maximum number of characters of a statement to show."""

_Wanted = dict[Child, set[str]]
"""Folded values that rows may have referred to, by foreign key."""

_Step = tuple[ChangePlace, int, Callable[..., object], tuple[object, ...]]
_DDL, _BEFORE, _AFTER, _GONE = range(-1, 3)


class Cascades:
    """Finds the rows that foreign keys deleted or changed along with rows that are undone.

    Args:
        before: the tables known before the first log; the logs need not have all of their rows.

    Attributes:
        keys: the foreign keys of the tables known so far.
    """

    def __init__(self, catalog: Catalog, before: Catalog, databases: DatabaseNames = SAME_NAMES) -> None:
        self._databases = databases
        self._before = before
        self.keys = ForeignKeys(catalog, databases)
        self._wanted: _Wanted = defaultdict(set)
        # Whether undone changes that foreign keys may have followed are deletes, by version and row.
        self._undone: dict[int, dict[int, bool]] = defaultdict(dict)

    def take(self, table: SqlTable, images: BatchImages) -> None:
        """Add row changes that are undone, of tables that others may refer to."""
        for child in self.keys.to(table.logged):
            for gone in gone_rows(child, images):
                self._wanted[child].add(child.fold(gone.value))
                self._undone[gone.place.version][gone.place.row] = gone.deleted

    def restored_behind(self, version: int) -> list[int]:
        """Return the changes of a transaction behind whose undoing rows are restored.

        Of consecutive deletes it is the first one, so that one statement can insert their rows.
        """
        deleted = self._undone.get(version, {})
        return [row for row in deleted if not deleted.get(row - 1)]

    @property
    def found(self) -> bool:
        """Whether foreign keys may have deleted or changed rows."""
        return bool(self._wanted)

    def restored(
        self, every: Callable[[], Iterable[Selected]], known: Catalog, check: UndoCheck
    ) -> CascadeResult:
        """Return the statements that restore the rows deleted or changed along with those undone."""
        new = self._wanted
        wanted: _Wanted = defaultdict(set)
        while new:
            for child, values in new.items():
                wanted[child] |= values
            further = _further_values(new, every(), known.copy())
            new = {child: left for child, values in further.items() if (left := values - wanted[child])}
        steps = _Steps(wanted, self._databases, check)
        steps.read(every(), known.copy())
        rows = ReferringRows(wanted, steps.keys, self._behind())
        for _, _, do, arguments in sorted(steps.steps, key=lambda step: step[:2]):
            do(rows, *arguments)
        for row, place in rows.result.checks.items():
            rows.result.texts[place].append(row.texts[CHECK])
        rows.result.warnings = [
            f"rows of {'.'.join(name)} follow what they refer to (ON UPDATE CASCADE); whether they are as"
            " before is checked as far as these logs tell what they were"
            for name in rows.result.following
        ]
        rows.result.unknown = [*self._unknown(rows, steps)]
        return rows.result

    def _behind(self) -> dict[ChangePlace, ChangePlace]:
        """Return for each undone change the one behind which rows that followed it are restored."""
        behind: dict[ChangePlace, ChangePlace] = {}
        for version, deleted in self._undone.items():
            for row in sorted(deleted):
                place = ChangePlace(version, row)
                behind[place] = behind[ChangePlace(version, row - 1)] if deleted.get(row - 1) else place
        return behind

    def _unknown(self, rows: ReferringRows, steps: _Steps) -> Iterator[str]:
        for child, values in rows.result.asked.items():
            name, columns = ".".join(child.name), ", ".join(child.key.columns)
            went = f"rows of {name} that a foreign key deleted or changed ({columns}={listed_keys(values)})"
            if self._before.lookup(*child.name) is not None:
                yield (
                    f"{went} are restored as far as they were changed in these logs; the others are not known"
                )
            if child.name in steps.unreadable:
                yield f"{went} are not restored: the table has no key, or its columns are not known"
            for sql in rows.result.doubts.get(child, ()):
                yield f"{went} are restored as far as the logs tell them, and not what “{sql}” did to them"
        for table, keys in rows.result.stale.items():
            yield (
                f"rows of {'.'.join(table)} that a foreign key deleted or changed are not restored, as one"
                f" had changed them before: {', '.join(steps.keys[table])}={listed_keys(keys)}"
            )
        for table, keys in rows.result.alike.items():
            yield (
                f"rows of {'.'.join(table)} that a foreign key may have deleted or changed are not restored,"
                " as only a collation tells whether they referred to what was:"
                f" {', '.join(steps.keys[table])}={listed_keys(keys)}"
            )


def _further_values(new: _Wanted, selected: Iterable[Selected], catalog: Catalog) -> _Wanted:
    """Return values one step further along the foreign keys, and earlier values of the given ones."""
    further_values: _Wanted = defaultdict(set)
    keys, names = ForeignKeys(catalog), _names(new)
    for item, _ in table_changes(selected, catalog, lambda db, table: (db, table) in names):
        if isinstance(item, Statement):
            continue
        table, images = SqlTable(item.table.resolved), BatchImages(item)
        for child, values in new.items():
            if child.parent == table.logged and child.key.on_update == CASCADE:
                for gone in gone_rows(child, images):
                    if gone.now is not None and child.fold(gone.now) in values:
                        further_values[child].add(child.fold(gone.value))
                for above in keys.of(child.parent):
                    further_values[above] |= _parts_of(child, values, above)
        of = [child for child in new if child.name == table.logged]
        for group in images.groups() if of else ():
            for side in (group.before, group.after):
                referring = None if side is None else _referring(of, new, table, images, side)
                for further in keys.to(table.logged) if referring is not None else ():
                    columns = columns_of(table.columns, further.key.referenced)
                    if referring is not None and columns is not None and {*columns} <= {*referring.columns}:
                        texts = folded(further, key_texts(images, columns, referring))
                        further_values[further].update(text for text in texts.to_pylist() if text is not None)
    return further_values


def _parts_of(child: Child, values: set[str], above: Child) -> set[str]:
    """Return the values that referenced rows refer to themselves, by columns that are part of their key."""
    columns = [folded_name(name) for name in child.key.referenced]
    indexes = [columns.index(folded_name(name)) for name in above.key.columns if folded_name(name) in columns]
    if above.key.on_update != CASCADE or len(indexes) < len(above.key.columns):
        return set()
    return {BETWEEN.join(value.split(BETWEEN)[index] for index in indexes) for value in values}


def _referring(
    of: list[Child], wanted: _Wanted, table: SqlTable, images: BatchImages, side: Images
) -> Images | None:
    """Return the images of rows that refer to wanted values by a foreign key; None if there are none."""
    any_chosen = None
    for child in of:
        columns = columns_of(table.columns, child.key.columns)
        if columns is not None and {*columns} <= {*side.columns}:
            values = pa.array(sorted(wanted[child]), pa.string())
            texts = folded(child, key_texts(images, columns, side))
            chosen = pc.fill_null(pc.is_in(texts, value_set=values), False)
            any_chosen = chosen if any_chosen is None else pc.or_(any_chosen, chosen)
    if any_chosen is None or not any_chosen.true_count:
        return None
    return images.marked(side, any_chosen)


class _Steps:
    def __init__(self, wanted: _Wanted, databases: DatabaseNames, check: UndoCheck) -> None:
        self._wanted = wanted
        self._databases = databases
        self._check = check
        self._filters = {
            child.name: TableFilter((), [".".join(map(identifier, child.name))]) for child in wanted
        }
        self.steps: list[_Step] = []
        self.keys: dict[Name, tuple[str, ...]] = {}
        self.unreadable: set[Name] = set()

    def read(self, selected: Iterable[Selected], catalog: Catalog) -> None:
        names = _names(self._wanted)
        keys = ForeignKeys(catalog, self._databases)
        for item, file in table_changes(selected, catalog, lambda db, table: (db, table) in names):
            if isinstance(item, Statement):
                self._take_statement(item)
                continue
            table = SqlTable(item.table.resolved, self._databases[item.table.db])
            images = BatchImages(item)
            if any(child.name == table.logged for child in self._wanted):
                ties, dialect = keys.ties(table.logged), SqlDialect.of(file.format)
                self._follow(table, images, RestoringSql(table, images, dialect, self._check, ties))
            for child, values in self._wanted.items():
                if child.parent == table.logged:
                    self.steps += [
                        (gone.place, _GONE, ReferringRows.go, (child, gone))
                        for gone in gone_rows(child, images)
                        if child.fold(gone.value) in values
                    ]

    def _take_statement(self, statement: Statement) -> None:
        place = ChangePlace(statement.commit_version, -1)
        for name, tables in self._filters.items():
            effect = table_effect(statement, tables)
            if effect is None:
                continue
            # Statements that empty or create the table leave no row to follow, nor do column changes.
            empties = effect.type in {"create", "drop", "truncate"}
            changes = (
                effect.type == "statement" or effect.may_change_rows or _changes_columns(statement, name)
            )
            sql = shortened(statement.sql, _SHOWN) if changes and not empties else None
            if sql is not None:
                self.steps.append((place, _DDL, ReferringRows.doubt, (name, sql)))
            if empties or (sql is not None and effect.type != "statement"):
                self.steps.append((place, _DDL, ReferringRows.clear, (name,)))

    def _follow(self, table: SqlTable, images: BatchImages, statements: RestoringSql) -> None:
        name = table.logged
        of = [child for child in self._wanted if child.name == name]
        if not table.key or any(columns_of(table.columns, child.key.columns) is None for child in of):
            self.unreadable.add(name)
            return
        self.keys[name] = tuple(table.columns[index].source_name for index in table.key)
        for group in images.groups():
            before, after = group.before, group.after
            if before is not None and {*table.key} <= {*before.columns}:
                keys = key_texts(images, table.key, before).to_pylist()
                removed = zip(images.places(before), keys, strict=True)
                self.steps += [(place, _BEFORE, ReferringRows.take, (name, key)) for place, key in removed]
            if (
                after is not None
                and (referring_images := _referring(of, self._wanted, table, images, after)) is not None
            ):
                rows = self._rows(of, table, images, referring_images, statements)
                put = zip(images.places(referring_images), rows, strict=True)
                self.steps += [(place, _AFTER, ReferringRows.put, (name, row)) for place, row in put]

    def _rows(
        self,
        of: list[Child],
        table: SqlTable,
        images: BatchImages,
        referring_images: Images,
        statements: RestoringSql,
    ) -> Iterator[ReferringRow]:
        texts: dict[Child | str, list[MarkedText]] = {}
        for child in of:
            actions = {child.key.on_delete, child.key.on_update}
            if child.key.on_delete == CASCADE and CASCADE not in texts:
                texts[CASCADE] = statements.inserts(referring_images)
            if "SET NULL" in actions:
                columns, (db, name) = columns_of(table.columns, child.key.columns) or (), child.parent
                texts[child] = statements.sets(referring_images, columns, (self._databases[db], name), child)
        if any(child.key.on_update == CASCADE for child in of):
            referring = (columns_of(table.columns, child.key.columns) or () for child in of)
            texts[CHECK] = statements.checks(
                referring_images, sorted({index for indexes in referring for index in indexes})
            )
        to = (child.key.referenced for child in self._wanted if child.parent == table.logged)
        named = {folded_name(name) for names in (*to, *(child.key.columns for child in of)) for name in names}
        indexes = {
            folded_name(column.source_name): index
            for index, column in enumerate(table.columns)
            if index in referring_images.columns
            and (index in table.key or folded_name(column.source_name) in named)
        }
        values = {
            name: key_texts(images, (index,), referring_images).to_pylist() for name, index in indexes.items()
        }
        for number, place in enumerate(images.places(referring_images)):
            yield ReferringRow(
                {name: column[number] for name, column in values.items()},
                place.version,
                {action: marked[number] for action, marked in texts.items()},
            )


def _names(wanted: Iterable[Child]) -> set[Name]:
    return {name for child in wanted for name in (child.name, child.parent)}


def _changes_columns(statement: Statement, name: Name) -> bool:
    changes = statement.followed.changes if statement.followed is not None else []
    return any(
        change.definition is None
        or change.previous is None
        or change.definition.columns != change.previous.columns
        for change in changes
        if (change.db, change.table) == name
    )
