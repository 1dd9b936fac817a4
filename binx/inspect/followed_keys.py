"""Follow a row through changes of its primary key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError, UsageError
from binx.rows.columns.names import ResolvedTable, key_places
from binx.rows.images import BatchImages, ChangeGroup
from binx.source.wording import counted
from binx.where.condition import AFTER, BEFORE, ColumnName, Frame
from binx.where.rows import ChangePlace, RowKey, images_with_key, key_literal, same_key


class Touched(NamedTuple):
    """Changes of one key in a batch.

    Attributes:
        rows: indexes of their images in the batch.
        moved: the changes that gave the row another key.
        since: the change that gave the row this key; earlier changes belong to other rows.
    """

    rows: list[int]
    moved: frozenset[ChangePlace]
    since: ChangePlace


class FollowedKeys:
    """The keys that a row has had so far: the requested key, and those that updates gave it."""

    def __init__(self, values: Sequence[str]) -> None:
        self._keys = [RowKey(tuple(map(key_literal, values)), ChangePlace(-1, -1))]

    def touched(self, images: BatchImages) -> Iterator[Touched]:
        """Yield the changes of the keys in a batch, following the keys that these lead to.

        Raises:
            RefusedError: the table's key is not known.
            UsageError: the number of key values is wrong, or a value is invalid for its column's type.
        """
        names = self._columns(images.changes.table.resolved)
        done = 0
        while done < len(self._keys):
            key = self._keys[done]
            done += 1
            for group in images.groups():
                marks, moves = _of_key(group, images, names, key)
                rows = images.rows_of(group, marks)
                if rows:
                    yield Touched(rows, frozenset(_places(group, moves, images)), key.since)
                    self._follow(group, moves, images, names, key.since)

    def _follow(
        self,
        group: ChangeGroup,
        moves: pa.BooleanArray,
        images: BatchImages,
        names: list[str],
        since: ChangePlace,
    ) -> None:
        """Add the keys that the row moves to, but not those of a row that had its key before."""
        frame = Frame(images, group, AFTER)
        columns = [frame.operand(ColumnName(AFTER, name)) for name in names]
        places = _places(group, moves, images)
        for index, place in zip(pc.indices_nonzero(moves).to_pylist(), places, strict=True):
            if place <= since:
                continue
            parts = tuple(column.values[index] for column in columns if column is not None)
            key = RowKey(parts, place)
            if not any(same_key(key, known) and known.since <= place for known in self._keys):
                self._keys.append(key)

    def _columns(self, table: ResolvedTable) -> list[str]:
        """Return the key's columns, case-folded."""
        keyed = [table.columns[place] for place in key_places(table.columns)]
        name = f"{table.db}.{table.name}"
        if not keyed:
            raise RefusedError(
                f"the primary key of {name} is not known: {table.why_unknown}; or use --where instead of --pk"
            )
        names = [column.source_name.casefold() for column in keyed]
        given = len(self._keys[0].parts)
        if len(names) != given:
            raise UsageError(
                f"the primary key of {name} is ({', '.join(names)}): expected"
                f" {counted(len(names), 'value')}, found {given}; repeat --pk for each column, in this"
                " order"
            )
        return names


def _of_key(
    group: ChangeGroup, images: BatchImages, names: list[str], key: RowKey
) -> tuple[pa.BooleanArray, pa.BooleanArray]:
    """Return which changes of a group have a key, and which of these give the row another key."""
    before = images_with_key(Frame(images, group, BEFORE), names, key)
    after = images_with_key(Frame(images, group, AFTER), names, key)
    moves = pc.and_(before, pc.invert(after))
    if group.after is None:
        moves = pa.repeat(pa.scalar(False), len(moves))
    return pc.or_(before, after), moves


def _places(group: ChangeGroup, marks: pa.BooleanArray, images: BatchImages) -> list[ChangePlace]:
    versions = group.images.pick(images.system("_commit_version")).filter(marks).to_pylist()
    rows = group.images.pick(images.system("_row")).filter(marks).to_pylist()
    return [ChangePlace(version, row) for version, row in zip(versions, rows, strict=True)]
