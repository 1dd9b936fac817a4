"""Which values an update changed."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.images import BatchImages, Images
from binx.slices.long_texts import is_long, long_values_differ


def changed_values(images: BatchImages, place: int, before: Images, after: Images) -> pa.BooleanArray:
    """For which updates a column's value is another one than before, to the last bit."""
    if place not in before.columns:
        return pa.repeat(pa.scalar(True), images.size_of(after))
    changed = None
    for values in _comparable(images, place):
        if _has_bytes(values.type) and is_long(values):
            which = long_values_differ(values, before.rows, after.rows)
        else:
            old, new = before.pick(values), after.pick(values)
            which = pc.not_equal(old, new)
            if old.null_count or new.null_count:
                which = pc.fill_null(which, pc.xor(old.is_null(), new.is_null()))
        changed = which if changed is None else pc.or_(changed, which)
    return changed


def _comparable(images: BatchImages, place: int) -> Iterator[pa.Array]:
    """Columns of which one differs where the column's values do."""
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


def _has_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_string(kind))


def _bytes_of_floats(array: pa.Array) -> pa.Array:
    """A column of VECTOR as the bytes of its floats."""
    offsets = pc.shift_left(
        pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset),
        pa.scalar(2, pa.int32()),
    )
    data = pa.Array.from_buffers(
        pa.binary(), len(array), [None, offsets.buffers()[1], array.values.buffers()[1]]
    )
    return pc.if_else(array.is_valid(), data, pa.scalar(None, pa.binary())) if array.null_count else data
