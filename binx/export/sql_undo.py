"""Row changes as the statements that undo them, whole columns at a time.

An insert is undone by DELETE, a delete by INSERT, an update by UPDATE back to the image before. The row is
looked for as the change left it: by all its columns, so that what was changed again since is left alone, or
by its key alone where that is asked for. What the log does not hold cannot be brought back: such changes are
noted as obstacles, and their statements are empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from binx.export.images import BatchImages, ChangeGroup, Images
from binx.export.parts import Part
from binx.export.pieces import Changes
from binx.export.sql_rows import BatchSql, SqlRows
from binx.export.sql_tables import SqlDialect, SqlTable
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.types import Kind

EXAMPLES = 3
"""How many transactions are named for each obstacle."""

LISTED = 30
"""How many reasons are told one by one."""


@dataclass(slots=True)
class Obstacle:
    """A reason why changes cannot be undone.

    Attributes:
        count: how many changes or statements it holds for.
        transactions: the first transactions that have them.
    """

    count: int = 0
    transactions: dict[str, None] = field(default_factory=dict)


_NOT_FULL = "binlog_row_image was not FULL"


class Obstacles:
    """What cannot be undone, by reason, in the order met."""

    def __init__(self) -> None:
        self._found: dict[str, Obstacle] = {}

    def add(self, reason: str, transactions: Iterator[str] | list[str], count: int = 1) -> None:
        """Note that some changes of transactions cannot be undone."""
        obstacle = self._found.setdefault(reason, Obstacle())
        obstacle.count += count
        for transaction in transactions:
            if len(obstacle.transactions) >= EXAMPLES:
                return
            obstacle.transactions[transaction] = None

    def __bool__(self) -> bool:
        return bool(self._found)

    def lines(self) -> list[str]:
        """A line for each reason, and one for those that are too many to tell."""
        lines = []
        for reason, obstacle in list(self._found.items())[:LISTED]:
            more = " …" if obstacle.count > len(obstacle.transactions) else ""
            lines.append(f"{reason}: {obstacle.count:,}, in {', '.join(obstacle.transactions)}{more}")
        if len(self._found) > LISTED:
            lines.append(f"and {len(self._found) - LISTED:,} more reasons")
        return lines


class UndoRows(SqlRows):
    """Makes undoing statements of row changes; a renderer for :func:`~binx.export.changes.ordered_changes`.

    Args:
        dialect: the server that the statements are for.
        obstacles: takes in what cannot be undone.
        by_key: find rows by their key alone.
    """

    def __init__(self, dialect: SqlDialect, obstacles: Obstacles, *, by_key: bool) -> None:
        super().__init__(dialect)
        self._obstacles = obstacles
        self._by_key = by_key

    def __call__(self, changes: ChangeBatch, file: BinlogFile) -> list[Changes]:
        """One statement for each row change of a batch, empty where it cannot be undone.

        Raises:
            RefusedError: SQL cannot say what happened.
        """
        images = BatchImages(changes)
        return _BatchUndo(self.table(changes), images, self.dialect, self._obstacles, self._by_key).render(
            file
        )


class _BatchUndo(BatchSql):
    """The undoing statements of one batch."""

    def __init__(
        self, table: SqlTable, images: BatchImages, dialect: SqlDialect, obstacles: Obstacles, by_key: bool
    ) -> None:
        super().__init__(table, images, dialect)
        self._obstacles = obstacles
        self._by_key = by_key

    def _marks(self, group: ChangeGroup, marks: pa.Array) -> pa.Array:
        """Of an update both images count: it goes back to the one before."""
        if group.before is None or group.after is None:
            return group.images.pick(marks)
        return pc.bit_wise_or(group.before.pick(marks), group.after.pick(marks))

    def _parts(self, group: ChangeGroup) -> Iterator[bytes | Part]:
        obstacle = self._obstacle(group)
        if obstacle is not None:
            self._note(group, obstacle)
            return
        table = self._table.name
        if group.after is None:
            assert group.before is not None
            yield from self._insert(group.before)
            return
        if group.before is None:
            yield f"DELETE FROM {table} WHERE ".encode()
        else:
            # A column of which only the image before exists kept its value.
            changed = tuple(place for place in group.before.columns if place in group.after.columns)
            yield f"UPDATE {table} SET ".encode()
            yield from self._assignments(group.after, Images(group.before.rows, changed))
            yield b" WHERE "
        yield from self._condition(_known(group))
        yield b";\n"

    def _obstacle(self, group: ChangeGroup) -> str | None:
        """Why the changes of a group cannot be undone."""
        table, known = self._table, _known(group)
        writable = set(table.writable)
        if group.after is None:
            assert group.before is not None
            lacks = not writable.issubset(group.before.columns)
            return f"deletes in {table.name} whose images lack columns ({_NOT_FULL})" if lacks else None
        if group.before is not None and not writable.intersection(group.after.columns).issubset(
            group.before.columns
        ):
            return f"updates in {table.name} whose images before lack what was changed ({_NOT_FULL})"
        differences = self._images.system("_json_diff")
        if differences is not None and group.after.pick(differences).is_valid().true_count:
            return f"updates in {table.name} of which the log has parts of JSON documents only"
        if self._by_key and not table.key:
            return (
                f"changes in {table.name}, of which no key is known (without --by-key all columns are used)"
            )
        if not all(place in known for place in table.key):
            return f"changes in {table.name} whose images lack the key"
        if not table.key and not writable.issubset(known):
            return f"inserts in {table.name}, which has no key, whose images lack columns ({_NOT_FULL})"
        return None

    def _note(self, group: ChangeGroup, obstacle: str) -> None:
        transactions = group.images.pick(self._images.system("_transaction"))
        names = transactions.unique().slice(0, EXAMPLES).to_pylist()
        self._obstacles.add(obstacle, names, len(transactions))

    def _condition(self, known: Mapping[int, Images]) -> Iterator[bytes | Part]:
        """What only the row as the change left it fulfils, or rows equal to it."""
        table = self._table
        lead = b""
        for place in table.key:
            yield from self._literals(
                lead + f"{table.names[place]}=".encode(), place, known[place], exact=True
            )
            lead = b" AND "
        if table.key and self._by_key:
            return
        for place, images in known.items():
            if place in table.key or table.columns[place].generated is not None:
                continue
            if table.key and table.columns[place].type.kind is Kind.JSON:
                # Its text does not tell DECIMAL from DOUBLE, nor dates from strings; the key finds the row.
                continue
            yield lead
            yield from self._equal(place, images)
            lead = b" AND "
        if not table.key:
            yield b" LIMIT 1"


def _known(group: ChangeGroup) -> dict[int, Images]:
    """The row as the change left it: for each column the image that tells its value."""
    known: dict[int, Images] = {}
    for images in (group.before, group.after):
        if images is not None:
            known.update(dict.fromkeys(images.columns, images))
    return dict(sorted(known.items()))


__all__ = ["Obstacle", "Obstacles", "UndoRows"]
