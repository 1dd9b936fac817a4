"""Follow a row through changes of its primary key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError, UsageError
from binx.rows.change_groups import BatchImages, ChangeGroup, ChangePlace
from binx.rows.columns.names import ResolvedTable, key_positions
from binx.rows.columns.schema import Provenance, folded_name
from binx.source.wording import counted
from binx.where.comparison import compared
from binx.where.condition import AFTER, BEFORE, ColumnName, RowGroup
from binx.where.operands import Literal, Operand


class RowKey(NamedTuple):
    """A key that the row has had.

    Attributes:
        parts: a literal or a value for each of the key's columns.
        since: the change that gave the row this key; earlier changes with this key belong to other rows.
    """

    parts: tuple[Literal | pa.Scalar, ...]
    since: ChangePlace


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
                    yield Touched(
                        rows, frozenset(images.places(images.marked(group.images, moves))), key.since
                    )
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
        frame = RowGroup(images, group, AFTER)
        columns = [frame.operand(ColumnName(AFTER, name)) for name in names]
        places = images.places(images.marked(group.images, moves))
        for index, place in zip(pc.indices_nonzero(moves).to_pylist(), places, strict=True):
            if place <= since:
                continue
            parts = tuple(_part(column, index) for column in columns if column is not None)
            key = RowKey(parts, place)
            if not any(_same_key(key, known) and known.since <= place for known in self._keys):
                self._keys.append(key)

    def _columns(self, table: ResolvedTable) -> list[str]:
        """Return the key's columns, case-folded."""
        keyed = [table.columns[index] for index in key_positions(table.columns)]
        name = f"{table.db}.{table.name}"
        if not keyed and all(column.provenance.name is not Provenance.NONE for column in table.columns):
            raise UsageError(f"{name} has no primary key; use --where instead of --pk")
        if not keyed:
            raise RefusedError(
                f"the primary key of {name} is not known: {table.why_unknown}; or use --where instead of --pk"
            )
        names = [folded_name(column.source_name) for column in keyed]
        count = len(self._keys[0].parts)
        if len(names) != count:
            raise UsageError(
                f"the primary key of {name} is ({', '.join(names)}): expected"
                f" {counted(len(names), 'value')}, found {count}; repeat --pk for each column, in this"
                " order"
            )
        return names


def _of_key(
    group: ChangeGroup, images: BatchImages, names: list[str], key: RowKey
) -> tuple[pa.BooleanArray, pa.BooleanArray]:
    """Return which changes of a group have a key, and which of these give the row another key."""
    before = _with_key(RowGroup(images, group, BEFORE), names, key)
    after = _with_key(RowGroup(images, group, AFTER), names, key)
    moves = pc.and_(before, pc.invert(after))
    if group.after is None:
        moves = pa.repeat(pa.scalar(False), len(moves))
    return pc.or_(before, after), moves


def key_literal(text: str) -> Literal:
    """Parse a key's value as users write it; 0x… means bytes."""
    if text[:2].lower() == "0x" and len(text) % 2 == 0:
        try:
            return Literal(bytes.fromhex(text[2:]))
        except ValueError:
            pass
    return Literal(text)


def _part(column: Operand, index: int) -> Literal | pa.Scalar:
    """Return a value of a key's column; as text if the Arrow type cannot hold it, such as a zero date."""
    text = None if column.misfits is None else column.misfits[index].as_py()
    return column.values[index] if text is None else Literal(text)


def _with_key(frame: RowGroup, names: list[str], key: RowKey) -> pa.BooleanArray:
    """Return a mask of the images that have the key; images without the key's columns do not."""
    mask = pa.repeat(pa.scalar(True), frame.size)
    for name, part in zip(names, key.parts, strict=True):
        operand = frame.operand(ColumnName(None, name))
        if operand is None:
            return pa.repeat(pa.scalar(False), frame.size)
        mask = pc.and_(mask, pc.fill_null(_equal(operand, part, name), False))
    return mask


def _equal(operand: Operand, part: Literal | pa.Scalar, name: str) -> pa.BooleanArray:
    if isinstance(part, Literal):
        return compared(operand, "=", part, name)
    values, wanted = operand.values, part
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_dictionary(wanted.type):
        wanted = wanted.as_py()
    return pc.equal(values, wanted)


def _same_key(left: RowKey, right: RowKey) -> bool:
    """Whether two keys have the same text."""

    def plain(part: Literal | pa.Scalar) -> str:
        return str(part.value if isinstance(part, Literal) else part.as_py())

    return [plain(part) for part in left.parts] == [plain(part) for part in right.parts]
