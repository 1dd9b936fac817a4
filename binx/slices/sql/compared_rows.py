"""Compare the rows of a batch with one another, whole columns at a time.

An update changed a value if the bits of its images differ.

MySQL 9.6 and later log rows that follow a foreign key before the row that they follow. Of rows that refer to
one that REPLACE deletes, they log nothing if the inserted row has the same value: those rows stay, but a
DELETE with foreign key checks would take them along. A DELETE of several tables may meet rows again that
followed a key, and logs them once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.charset import Charset
from binx.event.rows_events import RowsFlag
from binx.rows.change_groups import DELETE, INSERT, BatchImages, Images
from binx.rows.columns.arrays import decoded
from binx.rows.columns.server_texts import server_texts
from binx.rows.columns.types import Kind, LogicalType
from binx.sql.session_settings import flagged_rows
from binx.sql.values import is_long, mapped_charset

BETWEEN = "\0"
"""Separator between the values of several columns."""


def changed_rows(images: BatchImages, index: int, before: Images, after: Images) -> pa.BooleanArray:
    """Return which updates changed a column's value; all if the images before lack it."""
    if index not in before.columns:
        return pa.repeat(pa.scalar(True), images.size_of(after))
    changed = None
    for values in _comparable(images, index):
        mask = _differ(values, before, after)
        changed = mask if changed is None else pc.or_(changed, mask)
    return changed


def _differ(values: pa.Array, before: Images, after: Images) -> pa.BooleanArray:
    """Return which values differ between two sets of rows; long values are not copied."""
    if (pa.types.is_binary(values.type) or pa.types.is_string(values.type)) and is_long(values):
        assert before.rows is not None
        assert after.rows is not None
        pairs = zip(before.rows.to_pylist(), after.rows.to_pylist(), strict=True)
        return pa.array([not _is_same(values[old], values[new]) for old, new in pairs], pa.bool_())
    old, new = before.pick(values), after.pick(values)
    mask = pc.not_equal(old, new)
    if old.null_count or new.null_count:
        mask = pc.fill_null(mask, pc.xor(old.is_null(), new.is_null()))
    return mask


def _is_same(old: pa.Scalar, new: pa.Scalar) -> bool:
    if not (old.is_valid and new.is_valid):
        return bool(old.is_valid == new.is_valid)
    return bool(old.as_buffer().equals(new.as_buffer()))


def _comparable(images: BatchImages, index: int) -> Iterator[pa.Array]:
    """Yield columns of mask at least one differs if the column's values differ."""
    column = images.column(index)
    kind = column.type
    if pa.types.is_struct(kind):
        yield from column.flatten()
    elif pa.types.is_list(kind):
        yield _bytes_of_floats(column)
    elif pa.types.is_dictionary(kind):
        yield column.indices
    elif pa.types.is_floating(kind):
        yield column.view(pa.int32() if kind == pa.float32() else pa.int64())
    else:
        yield column
    misfits = images.misfits.get(images.columns[index].name)
    if misfits is not None:
        texts = dict(misfits)
        yield pa.array([texts.get(row) for row in range(len(column))], pa.string())


def _bytes_of_floats(array: pa.Array) -> pa.Array:
    """Return a VECTOR column as the bytes of its floats."""
    counts = pa.Array.from_buffers(
        pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset
    )
    offsets = pc.shift_left(counts, pa.scalar(2, pa.int32())).buffers()[1]
    data = pa.Array.from_buffers(pa.binary(), len(array), [None, offsets, array.values.buffers()[1]])
    return pc.if_else(array.is_valid(), data, pa.scalar(None, pa.binary())) if array.null_count else data


def replaced_rows(images: BatchImages) -> pa.BooleanArray | None:
    """Return which rows were deleted or inserted by a statement that did both; None if none was."""
    deleted, inserted = _logged(images, DELETE), _logged(images, INSERT)
    if deleted is None or inserted is None:
        return None
    statements = _statements(images)
    both = [pc.is_in(statements, value_set=statements.filter(mask)) for mask in (deleted, inserted)]
    replaced = pc.and_(pc.and_(*both), pc.or_(deleted, inserted))
    return replaced if replaced.true_count else None


def keeping_rows(images: BatchImages, indexes: tuple[int, ...]) -> pa.BooleanArray:
    """Return which rows have values in some columns that a row has which the same statement deleted."""
    values = _values(images, indexes)
    return pc.is_in(values, value_set=values.filter(_logged(images, DELETE)), skip_nulls=True)


def rows_logged_again(images: BatchImages, key: tuple[int, ...]) -> pa.BooleanArray | None:
    """Return which rows were deleted though they had followed a foreign key before; None if none was."""
    deleted, unchecked = _logged(images, DELETE), flagged_rows(images, RowsFlag.NO_FOREIGN_KEY_CHECKS)
    if deleted is None or unchecked is None or not key:
        return None
    values = _values(images, key)
    followed = pc.is_in(values, value_set=values.filter(pc.and_(deleted, unchecked)), skip_nulls=True)
    again = pc.and_(pc.and_(deleted, pc.invert(unchecked)), followed)
    return again if again.true_count else None


def _logged(images: BatchImages, kind: int) -> pa.BooleanArray | None:
    """Return which rows are of a kind, and have what follows them in the log too; None if none is."""
    kinds = images.changes.change_types
    logged = flagged_rows(images, RowsFlag.USE_SQL_FOREIGN_KEY) if kind in kinds else None
    if logged is None:
        return None
    codes = pa.Array.from_buffers(pa.int8(), len(kinds), [None, pa.py_buffer(kinds)])
    return pc.and_(logged, pc.equal(codes, pa.scalar(kind, pa.int8())))


def _statements(images: BatchImages) -> pa.Array:
    """Return the number of each row's statement, among those of the batch."""
    facts = [fact for name in ("_commit_version", "_statement") if (fact := images.system(name)) is not None]
    begins = pc.or_(*(pc.not_equal(fact.slice(1), fact.slice(0, len(fact) - 1)) for fact in facts))
    return pc.cumulative_sum(pa.concat_arrays([pa.array([False]), begins]).cast(pa.int32()))


def _values(images: BatchImages, indexes: tuple[int, ...]) -> pa.Array:
    """Return the number of each row's statement with the row's values as a text; null if one is null."""
    every = Images(None, tuple(range(len(images.columns))))
    statements = _statements(images).cast(pa.string())
    return pc.binary_join_element_wise(statements, key_texts(images, indexes, every), " ")


def key_texts(images: BatchImages, columns: Iterable[int], rows: Images) -> pa.Array:
    """Join the values of some columns to one text, separated by :data:`BETWEEN`; null if one is null."""
    return pc.binary_join_element_wise(*(_texts(images, index, rows) for index in columns), BETWEEN)


def _texts(images: BatchImages, index: int, rows: Images) -> pa.Array:
    """Return a distinct text for each value of a column, as servers print it; bytes as hexadecimal digits."""
    column, values = images.columns[index], rows.pick(images.column(index))
    if column.type.kind is Kind.BINARY:
        texts = pa.array([None if value is None else f"0x{value.hex()}" for value in values.to_pylist()])
    elif pa.types.is_binary(values.type):
        texts = _decoded(values, column.type)
    else:
        texts = server_texts(values, column.type)
    misfits = images.misfits.get(column.name)
    if misfits is None:
        return texts.cast(pa.string())
    known = dict(misfits)
    every = pa.array([known.get(row) for row in range(images.changes.rows)], pa.string())
    return pc.coalesce(texts.cast(pa.string()), rows.pick(every))


def _decoded(values: pa.Array, logical: LogicalType) -> pa.Array:
    """Decode text from its character set if possible."""
    charset = mapped_charset(values, logical)
    if charset is None:
        try:
            return values.cast(pa.string())
        except pa.ArrowInvalid:
            pass
    elif charset.is_one_to_one and (text := decoded(values, charset)) is not None:
        return text
    words = values.dictionary_encode()
    return pa.array([_text(word, charset) for word in words.dictionary.to_pylist()]).take(words.indices)


def _text(data: bytes, charset: Charset | None) -> str:
    text = None if charset is None else charset.decode(data)
    if charset is not None and text is not None and charset.encode(text) == data:
        return text
    return data.decode(errors="backslashreplace")
