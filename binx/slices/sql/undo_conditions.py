"""What must hold of other rows, or else a statement that undoes a change would fail, or change them too.

A key may be taken again, a row may refer to what is to go, and what a row referred to may be gone. Where a
condition does not hold the statement does nothing, and the row is listed, instead of an error that ends all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.images import BatchImages, ChangeGroup, Images
from binx.slices.options import OnConflict
from binx.slices.pieces import Changes, Part, Piece, assembled, kernel_part
from binx.slices.sql.change_rows import BatchSql
from binx.slices.sql.foreign_keys import CASCADE, CHANGES_NOTHING, Child, Name, columns_of
from binx.slices.sql.literals import identifier
from binx.slices.sql.tables import SqlDialect, SqlTable
from binx.slices.sql.undo_check import TableCheck, UndoCheck
from binx.slices.texts import changed_values


class Ties(NamedTuple):
    """The foreign keys to and of one table, with the other table's name in the script."""

    to: Sequence[tuple[Name, Child]]
    of: Sequence[tuple[Name, Child]]


class ConditionsSql(BatchSql):
    """Conditions on other rows than the one that a statement is about.

    Args:
        checked: which changes are undone with foreign key checks; None where all are.
    """

    def __init__(
        self,
        table: SqlTable,
        images: BatchImages,
        dialect: SqlDialect,
        ties: Ties,
        checked: pa.BooleanArray | None = None,
    ) -> None:
        super().__init__(table, images, dialect)
        self._ties = ties
        self._checked = checked

    def deletable(self, known: Mapping[int, Images]) -> Iterator[bytes | Part]:
        """That no row refers to the one to be deleted, as the foreign key would change that, or forbid it.

        Args:
            known: the row, by the images that tell its columns.
        """
        for written, child in self._ties.to:
            parts = self._unless_referred_to(written, child, known)
            if child.key.on_delete == CHANGES_NOTHING:
                parts = self._where_checked(next(iter(known.values())), parts)
            yield from parts

    def updatable(self, group: ChangeGroup, known: Mapping[int, Images]) -> Iterator[bytes | Part]:
        """That an update meets no other row with a key's values, and leaves none without what it needs."""
        before = group.before
        assert before is not None
        assert group.after is not None
        for places in self._unique_keys():
            which = self._changed(group, places)
            if which is not None and all(place in known for place in self._table.key):
                yield from _where(which, self._unless_taken(places, before, known))
        for written, child in self._ties.to:
            referenced = columns_of(self._table, child.key.referenced)
            which = self._changed(group, referenced)
            if which is not None and child.key.on_update != CASCADE:
                parts = self._unless_referred_to(written, child, known)
                yield from self._where_checked(before, _where(which, parts), which)
        for written, child in self._ties.of:
            own = columns_of(self._table, child.key.columns)
            which = self._changed(group, own)
            if which is not None and own is not None:
                parts = self.if_there(written, child, own, before)
                yield from self._where_checked(before, _where(which, parts), which)

    def _where_checked(
        self, rows: Images, parts: Iterable[bytes | Part], which: pa.BooleanArray | None = None
    ) -> Iterator[bytes | Part]:
        """Parts for those of some rows that are undone with foreign key checks."""
        if self._checked is None:
            yield from parts
            return
        checked = rows.pick(self._checked)
        checked = checked if which is None else pc.and_(which, checked)
        if checked.true_count:
            yield from _where(checked, parts)

    def may_lack(self, check: UndoCheck) -> bool:
        """Whether rows that are inserted may lack what they refer to, which must not end the script."""
        some = self._checked is None or self._checked.true_count
        return bool(self._ties.of and some) and check.on_conflict is OnConflict.SKIP

    def insert_if_there(self, before: Images, check: TableCheck) -> Iterator[bytes | Part]:
        """An INSERT of a row that does nothing where what it refers to is gone, or its key is taken."""
        table, inserted = self._table, self._inserted(before)
        names = ", ".join(table.names[place] for place in inserted)
        yield f"INSERT INTO {table.name} ({names}) SELECT ".encode()
        for number, place in enumerate(inserted):
            yield from self._literals(b", " if number else b"", place, before)
        yield b" FROM DUAL WHERE TRUE"
        for written, child in self._ties.of:
            places = columns_of(table, child.key.columns)
            if places is not None and {*places} <= {*before.columns}:
                yield from self._where_checked(before, self.if_there(written, child, places, before))
        first = table.names[inserted[0]]
        yield f" ON DUPLICATE KEY UPDATE {first}={table.name}.{first}".encode()
        shown = {
            place: self._literals(b"", place, before) for place in check.shown if place in before.columns
        }
        yield from check.behind_row([b"ROW_COUNT()>0"], shown)

    def _unique_keys(self) -> Iterator[tuple[int, ...]]:
        if not self._table.key:
            return
        yield self._table.key
        definition = self._images.changes.table.resolved.definition
        for index in definition.indexes if definition is not None else ():
            places = columns_of(self._table, index.columns)
            if index.unique and index.whole and not any(index.prefixes) and places:
                yield places

    def _changed(self, group: ChangeGroup, places: tuple[int, ...] | None) -> pa.BooleanArray | None:
        """For which updates one of some columns is another than before; None for none of them."""
        assert group.before is not None
        assert group.after is not None
        if not places or not {*places} <= {*group.before.columns} & {*group.after.columns}:
            return None
        changed = [changed_values(self._images, place, group.before, group.after) for place in places]
        which = changed[0]
        for more in changed[1:]:
            which = pc.or_(which, more)
        return which if which.true_count else None

    def _values(
        self, names: Iterable[str], places: Iterable[int], rows: Mapping[int, Images]
    ) -> Iterator[bytes | Part]:
        """That columns of some table have the values of columns of this one."""
        lead = ""
        for name, place in zip(names, places, strict=True):
            yield f"{lead}{name}=".encode()
            yield from self._literals(b"", place, rows[place], exact=True)
            lead = " AND "

    def _unless_taken(
        self, places: tuple[int, ...], before: Images, known: Mapping[int, Images]
    ) -> Iterator[bytes | Part]:
        table = self._table
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {table.name} WHERE ".encode()
        yield from self._values(
            [table.names[place] for place in places], places, dict.fromkeys(places, before)
        )
        yield from self._not_itself(known)
        yield b" LIMIT 1) AS taken)"

    def _not_itself(self, known: Mapping[int, Images]) -> Iterator[bytes | Part]:
        table = self._table
        yield b" AND NOT ("
        yield from self._values([table.names[place] for place in table.key], table.key, known)
        yield b")"

    def _unless_referred_to(
        self, written: Name, child: Child, known: Mapping[int, Images]
    ) -> Iterator[bytes | Part]:
        places = columns_of(self._table, child.key.referenced)
        if places is None or len(places) != len(child.key.columns) or not {*places} <= {*known}:
            return
        name = ".".join(map(identifier, written))
        yield f" AND NOT EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        yield from self._values(map(identifier, child.key.columns), places, known)
        if child.name == self._table.logged:
            yield from self._not_itself(known)
        yield b" LIMIT 1) AS referring)"

    def if_there(
        self, written: Name, child: Child, places: tuple[int, ...], before: Images
    ) -> Iterator[bytes | Part]:
        """That there is what the row refers to; one with a NULL in its foreign key refers to nothing."""
        name = ".".join(map(identifier, written))
        yield b" AND ("
        for place in places:
            yield from self._literals(b"", place, before, exact=True)
            yield b" IS NULL OR "
        own = columns_of(self._table, child.key.referenced) if child.name == child.parent else None
        if own is not None and {*own} <= {*before.columns}:
            # A row may refer to itself.
            for number, (place, referred) in enumerate(zip(places, own, strict=True)):
                yield from self._literals(b" AND " if number else b"", place, before, exact=True)
                yield from self._literals(b"=", referred, before, exact=True)
            yield b" OR "
        yield f"EXISTS (SELECT 1 FROM (SELECT 1 FROM {name} WHERE ".encode()
        yield from self._values(map(identifier, child.key.referenced), places, dict.fromkeys(places, before))
        yield b" LIMIT 1) AS referred_to))"


def _where(which: pa.BooleanArray, parts: Iterable[bytes | Part]) -> Iterator[Part]:
    """Parts that stand only in some of the statements."""
    for part in parts:
        yield Part(part, mask=which) if isinstance(part, bytes) else part._replace(mask=which)


class RestoringSql(ConditionsSql):
    """The statements that restore rows of one batch."""

    def __init__(
        self, table: SqlTable, images: BatchImages, dialect: SqlDialect, ties: Ties, check: UndoCheck
    ) -> None:
        super().__init__(table, images, dialect, ties)
        self._check = check

    def inserts(self, rows: Images) -> list[bytes]:
        """An INSERT for each row."""
        check = self._check.of(self._table, self._dialect, "insert")
        if self.may_lack(self._check):
            return self._texts(rows, self.insert_if_there(rows, check), None)
        return self._texts(rows, self._insert(rows), check.around_insert(self._inserted(rows)))

    def sets(self, rows: Images, columns: tuple[int, ...], written: Name, child: Child) -> list[bytes]:
        """For each row an UPDATE that gives columns of a foreign key their values, where these are NULL."""
        check = self._check.of(self._table, self._dialect, "update")
        shown = {place: self._literals(b"", place, rows) for place in self._table.key}

        def parts() -> Iterator[bytes | Part]:
            yield f"UPDATE {self._table.name} SET ".encode()
            for number, place in enumerate(columns):
                lead = b", " if number else b""
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
            lead = b" WHERE "
            for place in self._table.key:
                yield from self._literals(lead + f"{self._table.names[place]}=".encode(), place, rows)
                lead = b" AND "
            for place in columns:
                yield f" AND {self._table.names[place]} IS NULL".encode()
            yield from self.if_there(written, child, columns, rows)
            yield from check.behind_row([b"ROW_COUNT()>0"], shown)

        return self._texts(rows, parts(), None)

    def checks(self, rows: Images, columns: Iterable[int]) -> list[bytes]:
        """For each row, what counts it if it has its key and its values of some columns, or keeps its key."""
        check = self._check.of(self._table, self._dialect)
        shown = {place: self._literals(b"", place, rows) for place in self._table.key}

        def parts() -> Iterator[bytes | Part]:
            lead = f"SET @found=EXISTS (SELECT 1 FROM {self._table.name} WHERE "
            for place in self._table.key:
                yield from self._literals(
                    f"{lead}{self._table.names[place]}=".encode(), place, rows, exact=True
                )
                lead = " AND "
            for place in columns:
                yield b" AND "
                yield from self._equal(place, rows)
            yield b")"
            yield from check.behind_row([b"@found"], shown)

        return self._texts(rows, parts(), None)

    def _texts(
        self, rows: Images, parts: Iterable[bytes | Part], statement: tuple[bytes, bytes, bytes] | None
    ) -> list[bytes]:
        count = self._images.size_of(rows)
        changes = Changes(
            self._images.integers("_commit_version"),
            self._images.integers("_row"),
            rows.rows,
            count,
            [kernel_part(part) for part in assembled(parts)],
            statement=statement,
        )
        piece = Piece([changes])
        return [b"".join(piece.text(place, place + 1)) for place in range(count)]
