"""Group a batch's row changes by type of change and by the columns present."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.batches import CHANGE_TYPES, ChangeBatch
from binx.rows.columns.arrays import ColumnBuffers
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import folded_name

_INTEGER_BYTES = 8

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(len(CHANGE_TYPES))


class ChangePlace(NamedTuple):
    """The location of a change: the commit version of its transaction, and its number there."""

    version: int
    row: int


@dataclass(frozen=True, slots=True)
class Images:
    """Row images of one kind: which rows of the batch, and which columns they have.

    Attributes:
        rows: indexes in the batch; None for all of it.
        columns: indexes of the columns that are present.
    """

    rows: pa.Array | None
    columns: tuple[int, ...]

    def pick(self, values: pa.Array) -> pa.Array:
        """Select these rows' values from those of the whole batch."""
        return values if self.rows is None else values.take(self.rows)


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Row changes of one operation; inserts have no before images, deletes no after images."""

    before: Images | None
    after: Images | None

    @property
    def images(self) -> Images:
        """One image per change: the after images, or a delete's before images."""
        images = self.after or self.before
        assert images is not None
        return images

    @property
    def operation(self) -> str:
        """``insert``, ``update`` or ``delete``."""
        if self.before is None:
            return "insert"
        return "delete" if self.after is None else "update"


class BatchImages:
    """A batch split into row images."""

    def __init__(self, changes: ChangeBatch) -> None:
        self.changes = changes
        self.columns: tuple[ResolvedColumn, ...] = changes.table.resolved.columns
        self._first = len(changes.columns) - len(self.columns)
        self._arrays: dict[int, pa.Array] = {}

    def system(self, name: str) -> pa.Array | None:
        """Return a system column; None if the table's batches do not have it."""
        index = self.changes.table.shared.indexes.get(name)
        return None if index is None else self._array(index)

    def integers(self, name: str) -> memoryview:
        """Return the memory of a system column of 64-bit integers without nulls."""
        column = self.changes.columns[self.changes.table.shared.indexes[name]]
        if not isinstance(column, ColumnBuffers):
            return numbers(column)
        # Without building an array: with thousands of tables, batches are small.
        return memoryview(column.values).cast("B")[: self.changes.rows * _INTEGER_BYTES]

    def column(self, index: int) -> pa.Array:
        """Return a column of the table, as stored."""
        return self._array(self._first + index)

    def _array(self, index: int) -> pa.Array:
        array = self._arrays.get(index)
        if array is None:
            array = self.changes.array(index)
            array = self._arrays[index] = array.storage if isinstance(array, pa.ExtensionArray) else array
        return array

    @cached_property
    def misfits(self) -> dict[str, list[tuple[int, str]]]:
        """Row and text of the values that their columns cannot hold, by column."""
        array = self.system("_misfits")
        misfits: dict[str, list[tuple[int, str]]] = {}
        if array is None or array.null_count == len(array):
            return misfits
        indexes = pc.indices_nonzero(array.is_valid())
        for row, texts in zip(indexes.to_pylist(), array.take(indexes).to_pylist(), strict=True):
            for name, text in texts:
                misfits.setdefault(name, []).append((row, text))
        return misfits

    def size_of(self, images: Images) -> int:
        """Return the number of images."""
        return self.changes.rows if images.rows is None else len(images.rows)

    def marked(self, images: Images, mask: pa.BooleanArray) -> Images:
        """Return those of some images that are marked."""
        return Images(self._rows(images).filter(mask), images.columns)

    def rows_of(self, group: ChangeGroup, mask: pa.BooleanArray) -> list[int]:
        """Return the batch indexes of the images of a group's marked changes."""
        sides = [side for side in (group.before, group.after) if side is not None]
        return [row for side in sides for row in self._rows(side).filter(mask).to_pylist()]

    def _rows(self, images: Images) -> pa.Array:
        return pa.array(range(self.changes.rows), pa.int64()) if images.rows is None else images.rows

    def places(self, images: Images) -> list[ChangePlace]:
        """Return the locations of the changes that have some images."""
        versions = images.pick(self.system("_commit_version")).to_pylist()
        return [*map(ChangePlace, versions, images.pick(self.system("_row")).to_pylist())]

    def groups(self) -> Iterator[ChangeGroup]:
        """Return the batch's row changes; an update's images are adjacent, the before image first."""
        all_columns = tuple(range(len(self.columns)))
        if not self.changes.partial_rows:
            patterns, columns = None, [all_columns]
        else:
            present = self.system("_present")
            encoded = pc.fill_null(present, b"\xff" * (len(all_columns) // 8 + 1)).dictionary_encode()
            patterns = encoded.indices
            columns = [_present_columns(bits, all_columns) for bits in encoded.dictionary.to_pylist()]
        kinds = self.changes.change_types
        for code in (INSERT, UPDATE_BEFORE, DELETE):
            count = kinds.count(code)
            if not count:
                continue
            # None means all rows.
            rows = (
                None
                if count == len(kinds)
                else pc.indices_nonzero(pc.equal(_codes(kinds), pa.scalar(code, pa.int8())))
            )
            if code == UPDATE_BEFORE:
                assert rows is not None
                yield from _updates(rows, patterns, columns)
                continue
            for pattern, picked in _by_pattern(rows, patterns):
                images = Images(picked, columns[pattern])
                yield ChangeGroup(None, images) if code == INSERT else ChangeGroup(images, None)


def numbers(array: pa.Array) -> memoryview:
    """Return the memory of a column of 64-bit integers without nulls."""
    data = array.buffers()[1]
    return memoryview(b"" if data is None else data).cast("B")[array.offset * 8 :][: len(array) * 8]


def _codes(kinds: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.int8(), len(kinds), [None, pa.py_buffer(kinds)])


def _present_columns(bits: bytes, all_columns: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(column for column in all_columns if bits[column >> 3] >> (column & 7) & 1)


def _by_pattern(rows: pa.Array | None, patterns: pa.Array | None) -> Iterator[tuple[int, pa.Array | None]]:
    """Yield the rows grouped by the columns that they have."""
    if patterns is None:
        yield 0, rows
        return
    row_patterns = patterns if rows is None else patterns.take(rows)
    distinct = row_patterns.unique().to_pylist()
    if len(distinct) == 1:
        yield distinct[0], rows
        return
    for pattern in distinct:
        indexes = pc.indices_nonzero(pc.equal(row_patterns, pattern))
        yield pattern, indexes if rows is None else rows.take(indexes)


def _updates(
    before: pa.Array, patterns: pa.Array | None, columns: list[tuple[int, ...]]
) -> Iterator[ChangeGroup]:
    one = pa.scalar(1, before.type)
    if patterns is None:
        yield ChangeGroup(Images(before, columns[0]), Images(pc.add(before, one), columns[0]))
        return
    size = pa.scalar(len(columns), pa.int64())
    first = patterns.take(before).cast(pa.int64())
    second = patterns.take(pc.add(before, one)).cast(pa.int64())
    pairs = pc.add(pc.multiply(first, size), second)
    for pair in pairs.unique().to_pylist():
        rows = before.take(pc.indices_nonzero(pc.equal(pairs, pair)))
        images = Images(rows, columns[pair // len(columns)])
        yield ChangeGroup(images, Images(pc.add(rows, one), columns[pair % len(columns)]))


def columns_of(columns: Sequence[ResolvedColumn], names: Iterable[str]) -> tuple[int, ...] | None:
    """Return the indexes of columns; None if one does not exist."""
    indexes = {folded_name(column.source_name): index for index, column in enumerate(columns)}
    found = [indexes.get(folded_name(name)) for name in names]
    return None if None in found else tuple(index for index in found if index is not None)
