"""Conditions on other rows, without which an undo statement would fail or change these too.

A key may be taken again, a row may refer to the one to delete, and a referenced row may be gone. If a
condition does not hold, the statement does nothing and the row is listed, instead of an error that ends the
script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.ddl.tokens import identifier
from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.slices.options import OnConflict
from binx.slices.rendering import Changes, Part, Parts, Piece
from binx.slices.sql.change_rows import BatchSql, joined
from binx.slices.sql.changed_values import changed_rows
from binx.slices.sql.foreign_keys import CASCADE, CHANGES_NOTHING, Child, Name, Ties, columns_of
from binx.slices.sql.referring_rows import MarkedText
from binx.slices.sql.replaced_rows import keeping_rows
from binx.slices.sql.session import row_marks
from binx.slices.sql.tables import SqlDialect, SqlTable
from binx.slices.sql.undo_check import TableCheck, UndoCheck


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
        ties: Ties,
        checked: pa.BooleanArray | None = None,
    ) -> None:
        super().__init__(table, images, dialect)
        self._check = check
        self._ties = ties
        check.know(written for written, _ in ties.to)
        self._checked = checked

    def _table_check(self, operation: str | None = None) -> TableCheck:
        return self._check.of(self._table, self._dialect, operation)

    def _shown(self, check: TableCheck, rows: Mapping[int, Images]) -> dict[int, Iterator[Part]]:
        """Return the values that identify a row to people."""
        return {place: self._literals(b"", place, rows[place]) for place in check.shown if place in rows}

    def deletable(self, known: Mapping[int, Images]) -> Parts:
        """A condition that no row refers to the one to delete, which the foreign key would change or protect.

        Args:
            known: for each column of the row, the image that has its value.
        """
        rows = next(iter(known.values()))
        for written, child in self._ties.to:
            parts, which = self._unless_referred_to(written, child, known), None
            places = columns_of(self._table.columns, child.key.referenced)
            if self._replaced is not None and places is not None:
                # Those that refer to the row refer to the one that it replaced when that is back.
                kept = pc.and_(self._replaced, keeping_rows(self._images, places))
                which = pc.invert(rows.pick(kept))
                parts = _where(which, parts)
            if child.key.on_delete == CHANGES_NOTHING:
                parts = self._where_checked(rows, parts, which)
            yield from parts

    def updatable(self, group: ChangeGroup, known: Mapping[int, Images]) -> Parts:
        """A condition that an update neither duplicates a key nor leaves a row without its parent."""
        before = group.before
        assert before is not None
        for places in self._unique_keys():
            which = self._changed_keys(group, places)
            if which is not None and {*self._table.key} <= {*known}:
                yield from _where(which, self._unless_taken(places, before, known))
        for written, child in self._ties.to:
            which = self._changed_keys(group, columns_of(self._table.columns, child.key.referenced))
            if which is not None and child.key.on_update != CASCADE:
                parts = self._unless_referred_to(written, child, known)
                yield from self._where_checked(before, _where(which, parts), which)
        for written, child in self._ties.of:
            own = columns_of(self._table.columns, child.key.columns)
            which = self._changed_keys(group, own)
            if which is not None and own is not None:
                parts = self._if_there(written, child, own, before)
                yield from self._where_checked(before, _where(which, parts), which)

    def _where_checked(self, rows: Images, parts: Parts, which: pa.BooleanArray | None = None) -> Parts:
        """Restrict parts to the rows that are undone with foreign key checks."""
        if self._checked is None:
            yield from parts
            return
        checked = rows.pick(self._checked)
        checked = checked if which is None else pc.and_(which, checked)
        if checked.true_count:
            yield from _where(checked, parts)

    def _may_lack(self) -> bool:
        """Whether inserted rows may lack their parents, which must not end the script."""
        some = self._checked is None or self._checked.true_count
        return bool(self._ties.of and some) and self._check.on_conflict is OnConflict.SKIP

    def _insert_if_there(self, before: Images) -> Parts:
        """An INSERT of a row that does nothing if its parent is gone or its key is taken."""
        table, inserted, check = self._table, self._inserted(before), self._table_check("insert")
        names = ", ".join(table.names[place] for place in inserted)
        yield f"INSERT INTO {table.name} ({names}) SELECT ".encode()
        for number, place in enumerate(inserted):
            yield from self._literals(b", " if number else b"", place, before)
        yield b" FROM DUAL WHERE TRUE"
        for written, child in self._ties.of:
            places = columns_of(table.columns, child.key.columns)
            if places is not None and {*places} <= {*before.columns}:
                yield from self._where_checked(before, self._if_there(written, child, places, before))
        first = table.names[inserted[0]]
        yield f" ON DUPLICATE KEY UPDATE {first}={table.name}.{first}".encode()
        shown = self._shown(check, dict.fromkeys(before.columns, before))
        yield from check.behind_row([b"ROW_COUNT()>0"], shown)

    def _unique_keys(self) -> Iterator[tuple[int, ...]]:
        if not self._table.key:
            return
        yield self._table.key
        definition = self._images.changes.table.resolved.definition
        for index in definition.indexes if definition is not None else ():
            places = columns_of(self._table.columns, index.columns)
            if index.unique and index.whole and not any(index.prefixes) and places:
                yield places

    def _changed_keys(self, group: ChangeGroup, places: tuple[int, ...] | None) -> pa.BooleanArray | None:
        """Return which updates changed any of some columns; None if none did."""
        before, after = group.before, group.after
        assert before is not None
        assert after is not None
        if not places or not {*places} <= {*before.columns} & {*after.columns}:
            return None
        which = reduce(pc.or_, [changed_rows(self._images, place, before, after) for place in places])
        return which if which.true_count else None

    def _unless_taken(self, places: tuple[int, ...], before: Images, known: Mapping[int, Images]) -> Parts:
        names = [self._table.names[place] for place in places]
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {self._table.name} WHERE ".encode()
        yield from self._has_values(names, places, dict.fromkeys(places, before))
        yield from self._not_itself(known)
        yield b" LIMIT 1) AS taken)"

    def _not_itself(self, known: Mapping[int, Images]) -> Parts:
        yield b" AND NOT ("
        yield from self._has_key(known)
        yield b")"

    def _unless_referred_to(self, written: Name, child: Child, known: Mapping[int, Images]) -> Parts:
        places = columns_of(self._table.columns, child.key.referenced)
        if places is None or len(places) != len(child.key.columns) or not {*places} <= {*known}:
            return
        name = ".".join(map(identifier, written))
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        yield from self._has_values(map(identifier, child.key.columns), places, known)
        if child.name == self._table.logged:
            yield from self._not_itself(known)
        yield b" LIMIT 1) AS referring)"

    def _if_there(self, written: Name, child: Child, places: tuple[int, ...], before: Images) -> Parts:
        """A condition that the row's parent exists; a NULL in its foreign key refers to nothing."""
        name = ".".join(map(identifier, written))
        yield b" AND ("
        for place in places:
            yield from self._compared(b"", place, before)
            yield b" IS NULL OR "
        own = columns_of(self._table.columns, child.key.referenced) if child.name == child.parent else None
        if own is not None and {*own} <= {*before.columns}:
            # A row may refer to itself.
            for number, (place, referred) in enumerate(zip(places, own, strict=True)):
                yield from self._compared(b" AND " if number else b"", place, before)
                yield from self._compared(b"=", referred, before)
            yield b" OR "
        yield f"EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        referenced = map(identifier, child.key.referenced)
        yield from self._has_values(referenced, places, dict.fromkeys(places, before))
        yield b" LIMIT 1) AS referred_to))"


def _where(which: pa.BooleanArray, parts: Iterable[bytes | Part]) -> Iterator[Part]:
    """Restrict parts to some of the statements."""
    for part in parts:
        yield Part(part, mask=which) if isinstance(part, bytes) else part._replace(mask=which)


class RestoringSql(ConditionsSql):
    """Statements that restore the rows of one batch."""

    def inserts(self, rows: Images) -> list[MarkedText]:
        """Return an INSERT for each row."""
        if self._may_lack():
            return self._texts(rows, self._insert_if_there(rows))
        around = self._table_check("insert").around_insert(self._inserted(rows))
        return self._texts(rows, self._insert(rows), around)

    def sets(self, rows: Images, columns: tuple[int, ...], written: Name, child: Child) -> list[MarkedText]:
        """Return an UPDATE for each row that restores a foreign key's columns if they are NULL."""
        check, names = self._table_check("update"), self._table.names

        def parts() -> Parts:
            yield f"UPDATE {self._table.name} SET ".encode()
            for number, place in enumerate(columns):
                yield from self._literals(f"{', ' if number else ''}{names[place]}=".encode(), place, rows)
            yield b" WHERE "
            key = self._table.key
            yield from joined(key, lambda place: self._literals(f"{names[place]}=".encode(), place, rows))
            for place in columns:
                yield f" AND {names[place]} IS NULL".encode()
            yield from self._if_there(written, child, columns, rows)
            yield from check.behind_row([b"ROW_COUNT()>0"], self._shown(check, dict.fromkeys(key, rows)))

        return self._texts(rows, parts())

    def checks(self, rows: Images, columns: Iterable[int]) -> list[MarkedText]:
        """Return for each row SQL that counts it if key and columns match, or records its key."""
        check, key = self._table_check(), dict.fromkeys(self._table.key, rows)

        def parts() -> Parts:
            yield f"SET @found=EXISTS (SELECT 1 FROM {self._table.name} WHERE ".encode()
            yield from self._has_key(key)
            for place in columns:
                yield b" AND "
                yield from self._equal(place, rows)
            yield b")"
            yield from check.behind_row([b"@found"], self._shown(check, key))

        return self._texts(rows, parts())

    def _texts(
        self, rows: Images, parts: Parts, statement: tuple[bytes, bytes, bytes] | None = None
    ) -> list[MarkedText]:
        count = self._images.size_of(rows)
        changes = Changes(
            self._images.integers("_commit_version"),
            self._images.integers("_row"),
            rows.rows,
            count,
            [*parts],
            statement=statement,
        )
        piece, marks = Piece([changes]), row_marks(self._images)
        numbers = [0] * count if marks is None else rows.pick(marks).to_pylist()
        return [(mark, b"".join(piece.text(index, index + 1))) for index, mark in enumerate(numbers)]
