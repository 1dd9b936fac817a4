"""Row changes as the statements that undo them, built whole columns at a time.

An insert is undone by DELETE, a delete by INSERT, an update by UPDATE to the before image. The row is looked
for as the change left it: by all its columns, so that a row changed again since is left alone, or on request
by its key only. Values that are not in the log cannot be restored: such changes are recorded as obstacles,
and their statements are empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows_events import RowsFlag
from binx.log.binlog_file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages, ChangeGroup, Images
from binx.slices.renaming import DatabaseNames
from binx.slices.rendering import Changes, Part, Parts
from binx.slices.sql.change_rows import SqlRows, joined
from binx.slices.sql.compared_rows import rows_logged_again
from binx.sql.dialect import SqlDialect
from binx.sql.session_settings import flagged_rows, unchecked_rows
from binx.sql.tables import SqlTable
from binx.undo.child_rows import LostParents
from binx.undo.foreign_keys import ForeignKeysOf
from binx.undo.joined_rows import JoinedGroup, JoinedSql, latest_images
from binx.undo.names_today import NamesToday
from binx.undo.obstacles import EXAMPLES, Obstacles
from binx.undo.passes import ChangedAgain
from binx.undo.self_check import UndoCheck

_UNDONE_BY = {"insert": "delete", "update": "update", "delete": "insert"}
_NOT_FULL = "binlog_row_image was not FULL"


class UndoRows(SqlRows):
    """Renders row changes as statements that undo them.

    Attributes:
        obstacles: the changes that cannot be undone.
        again: finds undone rows that were changed again.
    """

    def __init__(
        self, check: UndoCheck, parents: LostParents, today: NamesToday, databases: DatabaseNames
    ) -> None:
        super().__init__(databases)
        self.obstacles = Obstacles()
        self.check = check
        self.parents = parents
        self._today = today
        self.again = ChangedAgain()

    def __call__(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        """Return one statement for each row change of a batch, empty if it cannot be undone."""
        if changes.table.resolved.is_sequence:
            self.warnings.take_sequence(f"{changes.table.db}.{changes.table.name}")
            return []
        named = self._today.renamed(changes, undone=True)
        if named is None:
            return []
        then, changes = changes, named
        table, images = self.table(changes), BatchImages(changes)
        again = rows_logged_again(images, table.key)
        if again is not None:
            left = pc.indices_nonzero(pc.invert(again))
            images, then = BatchImages(changes.take(left)), then.take(left)
        self.warnings.take_table(changes.table.resolved)
        self.again.take(table, images)
        self.parents.take((then.table.resolved.db, then.table.resolved.name), BatchImages(then))
        keys = self._today.keys if self._today.moved_after(changes.versions[0]) else self.parents.keys
        foreign_keys = keys.around(table.logged, self._databases)
        unchecked = unchecked_rows(images)
        checked = None if unchecked is None else pc.invert(unchecked)
        dialect = SqlDialect.of(file.format)
        return _BatchUndo(table, images, dialect, self.check, foreign_keys, checked, self.obstacles).render()


class _BatchUndo(JoinedSql):
    def __init__(
        self,
        table: SqlTable,
        images: BatchImages,
        dialect: SqlDialect,
        check: UndoCheck,
        foreign_keys: ForeignKeysOf,
        checked: pa.BooleanArray | None,
        obstacles: Obstacles,
    ) -> None:
        super().__init__(table, images, dialect, check, foreign_keys, checked)
        self._obstacles = obstacles
        self._logs_cascades = flagged_rows(images, RowsFlag.USE_SQL_FOREIGN_KEY) is not None

    def _groups(self) -> Iterator[ChangeGroup]:
        for group in super()._groups():
            # What is restored by INSERT has many rows a statement anyway.
            if group.after is None or self._obstacle(group) is not None or self._may_be_as_before(group):
                yield group
            else:
                yield from self._divided(group)

    def _marks(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        """Combine the marks of both images of an update, because it goes back to the before image."""
        if group.before is None:
            return self._unchecked_deletes(group, group.images.pick(marks))
        if group.after is None:
            return group.images.pick(marks)
        return pc.bit_wise_or(group.before.pick(marks), group.after.pick(marks))

    def _parts(self, group: ChangeGroup) -> Parts:
        if isinstance(group, JoinedGroup):
            yield from self._literals_of(group)
            return
        obstacle = self._obstacle(group)
        if obstacle is not None:
            transactions = group.images.pick(self._images.system("_transaction"))
            names = transactions.unique().slice(0, EXAMPLES).to_pylist()
            self._obstacles.add(obstacle, names, len(transactions))
            return
        if group.after is None:
            assert group.before is not None
            yield from self._insert_if_there(group.before) if self._may_lack() else self._insert(group.before)
            return
        table, image_of = self._table, latest_images(group)
        check = self._table_check(_UNDONE_BY[group.operation])
        self._check.compared(table, image_of)
        done: list[bytes | Part] = [b"ROW_COUNT()>0"]
        if group.before is None:
            yield f"DELETE FROM {table.name} WHERE ".encode()
            if self._force:
                done += [*self._exists(b" OR NOT ", self._has_key(image_of))]
        else:
            # A column that is only in the before image kept its value.
            changed = tuple(index for index in group.before.columns if index in group.after.columns)
            yield f"UPDATE {table.name} SET ".encode()
            yield from self._assignments(group.after, Images(group.before.rows, changed))
            done = [self._updated()]
            if self._force or self._may_be_as_before(group):
                before = dict.fromkeys(group.before.columns, group.before)
                done += self._exists(b" OR ", self._is_row(before))
            yield b" WHERE "
        yield from self._is(image_of)
        if group.before is not None:
            yield from self.updatable(group, image_of)
        elif table.key:
            yield from self.deletable(image_of)
        yield from check.behind_row(done, self._shown(check, image_of))

    def _may_be_as_before(self, group: ChangeGroup) -> bool:
        """Whether the row of an update may be as before already, as its foreign key changed it back."""
        return group.before is not None and self._checked is not None and self._logs_cascades

    def _exists(self, lead: bytes, condition: Parts) -> Parts:
        yield lead + f"EXISTS (SELECT 1 FROM {self._table.name} WHERE ".encode()
        yield from condition
        yield b")"

    def _updated(self) -> bytes | Part:
        """Whether an UPDATE found its row; if it changes no value, ROW_COUNT() is 0 even if it did."""
        if self._force or self.changed is None:
            return b"ROW_COUNT()>0" if self._force else b"ROW_COUNT()>=0"
        if pc.all(self.changed).as_py():
            return b"ROW_COUNT()>0"
        return Part(b"ROW_COUNT()>0", mask=self.changed, otherwise=b"ROW_COUNT()>=0")

    def _statement(self, group: ChangeGroup) -> tuple[bytes, bytes, bytes] | None:
        """Return the text around rows that one statement undoes together; None if it undoes one."""
        if isinstance(group, JoinedGroup):
            return self._around_literals(group)
        if group.after is not None or group.before is None or self._obstacle(group) is not None:
            return None
        if self._may_lack():
            return None
        return self._table_check("insert").around_insert(self._inserted(group.before))

    def _obstacle(self, group: ChangeGroup) -> str | None:
        table, image_of = self._table, latest_images(group)
        writable = set(table.writable)
        if group.after is None:
            lacks = not writable.issubset(image_of)
            return f"deletes in {table.name} whose images lack columns ({_NOT_FULL})" if lacks else None
        changed = writable.intersection(group.after.columns)
        if group.before is not None and not changed.issubset(group.before.columns):
            return f"updates in {table.name} whose images before lack what was changed ({_NOT_FULL})"
        differences = self._images.system("_json_diff")
        if differences is not None and group.after.pick(differences).is_valid().true_count:
            return f"updates in {table.name} of which the log has parts of JSON documents only"
        replaced = flagged_rows(self._images, RowsFlag.REPLACED)
        if replaced is not None and group.operation == "update" and group.after.pick(replaced).true_count:
            return f"updates by REPLACE in {table.name} whose images lack what it left out ({_NOT_FULL})"
        if not {*table.key} <= {*image_of}:
            return f"changes in {table.name} whose images lack the key"
        if not table.key and not writable.issubset(image_of):
            return f"inserts in {table.name}, which has no key, whose images lack columns ({_NOT_FULL})"
        return None

    def _is(self, image_of: dict[int, Images]) -> Parts:
        """A condition that only the row as the change left it matches; with force, the row of its key."""
        yield from self._has_key(image_of) if self._force else self._is_row(image_of)

    def _is_row(self, image_of: dict[int, Images]) -> Parts:
        """A condition that only a row with these values matches, or rows equal to it."""
        table = self._table
        yield from self._has_key(image_of)
        compared = self._identifying(image_of)
        if table.key and compared:
            yield b" AND "
        yield from joined(compared, lambda index: self._equal(index, image_of[index]))
        if not table.key:
            # Rows of nothing but generated columns are all the same.
            yield b" LIMIT 1" if compared else b"TRUE LIMIT 1"
