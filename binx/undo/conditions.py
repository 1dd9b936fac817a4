"""Conditions on other rows, without which an undo statement would fail or change these too.

A key may be taken again, a row may refer to the one to delete, and a referenced row may be gone. If a
condition does not hold, the statement does nothing and the row is listed, instead of an error that ends the
script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.change_groups import BatchImages, ChangeGroup, Images, columns_of
from binx.rows.ddl.tokens import identifier
from binx.slices.rendering import STATEMENT_BYTES, Changes, MergedChanges, Part, Parts
from binx.slices.sql.change_rows import BatchSql, joined
from binx.slices.sql.compared_rows import changed_rows, keeping_rows
from binx.sql.dialect import SqlDialect
from binx.sql.session_settings import row_marks
from binx.sql.tables import SqlTable
from binx.undo.foreign_keys import CASCADE, CHANGES_NOTHING, Child, ForeignKeysOf, Name
from binx.undo.options import OnConflict
from binx.undo.self_check import TableCheck, UndoCheck

MarkedText = tuple[int, bytes]
"""Statements, and the :class:`~binx.sql.session_settings.RowMark` of the session that they run in."""


class ConditionsSql(BatchSql):
    """Conditions on rows other than the one that a statement changes.

    Args:
        checked: which changes are undone with foreign key checks; None if all are.
    """

    def __init__(
        self,
        table: SqlTable,
        images: BatchImages,
        dialect: SqlDialect,
        check: UndoCheck,
        foreign_keys: ForeignKeysOf,
        checked: pa.BooleanArray | None = None,
    ) -> None:
        super().__init__(table, images, dialect)
        self._check = check
        self._foreign_keys = foreign_keys
        check.know(script_name for script_name, _ in foreign_keys.children)
        self._checked = checked

    def _table_check(self, operation: str | None = None) -> TableCheck:
        return self._check.of(self._table, self._dialect, operation)

    def _shown(self, check: TableCheck, rows: Mapping[int, Images]) -> dict[int, Iterator[Part]]:
        """Return the values that identify a row to people."""
        return {index: self._literals(b"", index, rows[index]) for index in check.shown if index in rows}

    def deletable(self, image_of: Mapping[int, Images]) -> Parts:
        """A condition that no row refers to the one to delete, which the foreign key would change or protect.

        Args:
            image_of: for each column of the row, the image that has its value.
        """
        rows = next(iter(image_of.values()))
        for script_name, child in self._foreign_keys.children:
            parts, mask = self._unless_referred_to(script_name, child, image_of), None
            indexes = columns_of(self._table.columns, child.key.referenced)
            if self._replaced is not None and indexes is not None:
                # Those that refer to the row refer to the one that it replaced when that is back.
                kept = pc.and_(self._replaced, keeping_rows(self._images, indexes))
                mask = pc.invert(rows.pick(kept))
                parts = _where(mask, parts)
            if child.key.on_delete == CHANGES_NOTHING:
                parts = self._where_checked(rows, parts, mask)
            yield from parts

    def updatable(self, group: ChangeGroup, image_of: Mapping[int, Images]) -> Parts:
        """A condition that an update neither duplicates a key nor leaves a row without its parent."""
        before = group.before
        assert before is not None
        for key in self._unique_keys():
            mask = self._changed_keys(group, key)
            if mask is not None and {*self._table.key} <= {*image_of}:
                yield from _where(mask, self._unless_taken(key, before, image_of))
        for script_name, child in self._foreign_keys.children:
            mask = self._changed_keys(group, columns_of(self._table.columns, child.key.referenced))
            if mask is not None and child.key.on_update != CASCADE:
                parts = self._unless_referred_to(script_name, child, image_of)
                yield from self._where_checked(before, _where(mask, parts), mask)
        for script_name, child in self._foreign_keys.parents:
            indexes = columns_of(self._table.columns, child.key.columns)
            mask = self._changed_keys(group, indexes)
            if mask is not None and indexes is not None:
                parts = self._if_there(script_name, child, indexes, before)
                yield from self._where_checked(before, _where(mask, parts), mask)

    def _where_checked(self, rows: Images, parts: Parts, mask: pa.BooleanArray | None = None) -> Parts:
        """Restrict parts to the rows that are undone with foreign key checks."""
        if self._checked is None:
            yield from parts
            return
        checked = rows.pick(self._checked)
        checked = checked if mask is None else pc.and_(mask, checked)
        if checked.true_count:
            yield from _where(checked, parts)

    def _may_lack(self) -> bool:
        """Whether inserted rows may lack their parents, which must not end the script."""
        some = self._checked is None or self._checked.true_count
        return bool(self._foreign_keys.parents and some) and self._check.on_conflict is OnConflict.SKIP

    def _insert_if_there(self, before: Images) -> Parts:
        """An INSERT of a row that does nothing if its parent is gone or its key is taken."""
        table, inserted, check = self._table, self._inserted(before), self._table_check("insert")
        names = ", ".join(table.names[index] for index in inserted)
        yield f"INSERT INTO {table.name} ({names}) SELECT ".encode()
        for number, index in enumerate(inserted):
            yield from self._literals(b", " if number else b"", index, before)
        yield b" FROM DUAL WHERE TRUE"
        for script_name, child in self._foreign_keys.parents:
            indexes = columns_of(table.columns, child.key.columns)
            if indexes is not None and {*indexes} <= {*before.columns}:
                yield from self._where_checked(before, self._if_there(script_name, child, indexes, before))
        first = table.names[inserted[0]]
        yield f" ON DUPLICATE KEY UPDATE {first}={table.name}.{first}".encode()
        shown = self._shown(check, dict.fromkeys(before.columns, before))
        yield from check.behind_row([b"ROW_COUNT()>0"], shown)

    def _unique_keys(self) -> Iterator[tuple[int, ...]]:
        if not self._table.key:
            return
        yield self._table.key
        definition = self._images.changes.table.resolved.definition
        for unique in definition.indexes if definition is not None else ():
            indexes = columns_of(self._table.columns, unique.columns)
            if unique.unique and unique.whole and not any(unique.prefixes) and indexes:
                yield indexes

    def _changed_keys(self, group: ChangeGroup, indexes: tuple[int, ...] | None) -> pa.BooleanArray | None:
        """Return which updates changed any of some columns; None if none did."""
        before, after = group.before, group.after
        assert before is not None
        assert after is not None
        if not indexes or not {*indexes} <= {*before.columns} & {*after.columns}:
            return None
        mask = reduce(pc.or_, [changed_rows(self._images, index, before, after) for index in indexes])
        return mask if mask.true_count else None

    def _unless_taken(
        self, indexes: tuple[int, ...], before: Images, image_of: Mapping[int, Images]
    ) -> Parts:
        names = [self._table.names[index] for index in indexes]
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {self._table.name} WHERE ".encode()
        yield from self._has_values(names, indexes, dict.fromkeys(indexes, before))
        yield from self._not_itself(image_of)
        yield b" LIMIT 1) AS taken)"

    def _not_itself(self, image_of: Mapping[int, Images]) -> Parts:
        yield b" AND NOT ("
        yield from self._has_key(image_of)
        yield b")"

    def _unless_referred_to(self, script_name: Name, child: Child, image_of: Mapping[int, Images]) -> Parts:
        indexes = columns_of(self._table.columns, child.key.referenced)
        if indexes is None or len(indexes) != len(child.key.columns) or not {*indexes} <= {*image_of}:
            return
        name = ".".join(map(identifier, script_name))
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        yield from self._has_values(map(identifier, child.key.columns), indexes, image_of)
        if child.name == self._table.logged:
            yield from self._not_itself(image_of)
        yield b" LIMIT 1) AS referring)"

    def _if_there(self, script_name: Name, child: Child, indexes: tuple[int, ...], before: Images) -> Parts:
        """A condition that the row's parent exists; a NULL in its foreign key refers to nothing."""
        name = ".".join(map(identifier, script_name))
        yield b" AND ("
        for index in indexes:
            yield from self._compared(b"", index, before)
            yield b" IS NULL OR "
        targets = (
            columns_of(self._table.columns, child.key.referenced) if child.name == child.parent else None
        )
        if targets is not None and {*targets} <= {*before.columns}:
            # A row may refer to itself.
            for number, (index, referred) in enumerate(zip(indexes, targets, strict=True)):
                yield from self._compared(b" AND " if number else b"", index, before)
                yield from self._compared(b"=", referred, before)
            yield b" OR "
        yield f"EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        referenced = map(identifier, child.key.referenced)
        yield from self._has_values(referenced, indexes, dict.fromkeys(indexes, before))
        yield b" LIMIT 1) AS referred_to))"


def _where(mask: pa.BooleanArray, parts: Iterable[bytes | Part]) -> Iterator[Part]:
    """Restrict parts to some of the statements."""
    for part in parts:
        yield Part(part, mask=mask) if isinstance(part, bytes) else part._replace(mask=mask)


class RestoringSql(ConditionsSql):
    """Statements that restore the rows of one batch."""

    def inserts(self, rows: Images) -> list[MarkedText]:
        """Return the statements that insert the rows."""
        if self._may_lack():
            return self._texts(rows, self._insert_if_there(rows))
        around = self._table_check("insert").around_insert(self._inserted(rows))
        return self._texts(rows, self._insert(rows), around)

    def sets(
        self, rows: Images, columns: tuple[int, ...], foreign_key: tuple[Name, Child] | None
    ) -> list[MarkedText]:
        """Return an UPDATE for each row that restores columns of a foreign key if they are NULL.

        Args:
            foreign_key: the foreign key, and the other table's name in the script; None if it was dropped.
        """
        check, names = self._table_check("update"), self._table.names

        def parts() -> Parts:
            yield f"UPDATE {self._table.name} SET ".encode()
            for number, index in enumerate(columns):
                yield from self._literals(f"{', ' if number else ''}{names[index]}=".encode(), index, rows)
            yield b" WHERE "
            key = self._table.key
            yield from joined(key, lambda index: self._literals(f"{names[index]}=".encode(), index, rows))
            for index in columns:
                yield f" AND {names[index]} IS NULL".encode()
            if foreign_key is not None:
                yield from self._if_there(*foreign_key, columns, rows)
            yield from check.behind_row([b"ROW_COUNT()>0"], self._shown(check, dict.fromkeys(key, rows)))

        return self._texts(rows, parts())

    def _texts(
        self, rows: Images, parts: Parts, statement: tuple[bytes, bytes, bytes] | None = None
    ) -> list[MarkedText]:
        count, marks = self._images.size_of(rows), row_marks(self._images)
        changes = Changes(
            self._images.integers("_commit_version"),
            self._images.integers("_row"),
            rows.rows,
            count,
            [*parts],
            None if marks is None else rows.pick(marks),
            statement,
        )
        piece = MergedChanges([changes], statement_bytes=STATEMENT_BYTES)
        runs = pairwise((0, *piece.ends))
        return [
            (mark, b"".join(piece.text(first, last)))
            for mark, (first, last) in zip(piece.marks, runs, strict=True)
        ]
