"""Which updates changed a column's value, compared bit by bit, whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.log.arrow import arrow_array
from binx.rows.images import BatchImages, Images
from binx.slices.values import is_long


def changed_rows(images: BatchImages, place: int, before: Images, after: Images) -> pa.BooleanArray:
    """Return which updates changed a column's value; all if the images before lack it."""
    if place not in before.columns:
        return pa.repeat(pa.scalar(True), images.size_of(after))
    changed = None
    for values in _comparable(images, place):
        which = _differ(values, before, after)
        changed = which if changed is None else pc.or_(changed, which)
    return changed


def _differ(values: pa.Array, before: Images, after: Images) -> pa.BooleanArray:
    """Return which values differ between two sets of rows; long values are not copied."""
    if (pa.types.is_binary(values.type) or pa.types.is_string(values.type)) and is_long(values):
        assert before.rows is not None
        assert after.rows is not None
        pairs = zip(before.rows.to_pylist(), after.rows.to_pylist(), strict=True)
        return arrow_array([not _is_same(values[one], values[other]) for one, other in pairs], pa.bool_())
    old, new = before.pick(values), after.pick(values)
    which = pc.not_equal(old, new)
    if old.null_count or new.null_count:
        which = pc.fill_null(which, pc.xor(old.is_null(), new.is_null()))
    return which


def _is_same(one: pa.Scalar, other: pa.Scalar) -> bool:
    if not (one.is_valid and other.is_valid):
        return bool(one.is_valid == other.is_valid)
    return bool(one.as_buffer().equals(other.as_buffer()))


def _comparable(images: BatchImages, place: int) -> Iterator[pa.Array]:
    """Yield columns of which at least one differs if the column's values differ."""
    column = images.column(place)
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
    misfits = images.misfits.get(images.columns[place].name)
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
