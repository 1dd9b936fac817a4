"""What a row group is made of: for each leaf the buffers that its values are in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from binx.kernels.levels import Levels

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Buffer


class Values(NamedTuple):
    """The values of one leaf in a row group, as :meth:`~binx.kernels.pages.PageEncoder.begin` takes them.

    Attributes:
        first: the place of the first one in its buffers.
        values: Arrow's buffer of values, of offsets, or of the numbers of words.
        data: the bytes of strings or words.
        words: offsets of the words' bytes.
        validity: a bitmap, None where all are there, or where levels tell it.
        levels: of a column that is nested.
    """

    first: int
    values: Buffer
    data: Buffer | None = None
    words: Buffer | None = None
    validity: Buffer | None = None
    levels: Levels | None = None


class _Part(NamedTuple):
    """A part of the way to a leaf: a list with its offsets, or what may be null with its bitmap, if any."""

    buffer: pa.Buffer | None
    first: int
    is_list: bool


_OFFSET_BYTES = 4
_NOTHING = b""


def batch_values(batch: pa.RecordBatch) -> Iterator[Values]:
    """The values of all leaves, in their order."""
    for field, column in zip(batch.schema, batch.columns, strict=True):
        yield from array_values(column, field.nullable, batch.num_rows)


def array_values(column: pa.Array, optional: bool, rows: int) -> Iterator[Values]:
    """The values of the leaves of one column.

    Args:
        column: its values.
        optional: whether one can be null.
        rows: how many there are.
    """
    import pyarrow as pa

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if not isinstance(column, pa.ListArray | pa.StructArray):
        yield _flat(column, None)
        return
    shared: dict[tuple[tuple[int, int], ...], Levels] = {}
    for leaf, parts in _leaves(column, optional, ()):
        if column.null_count == rows:
            yield _flat(leaf, _no_levels(parts, rows))
            continue
        way = tuple((0 if part.buffer is None else part.buffer.address, part.first) for part in parts)
        if way not in shared:
            shared[way] = _levels(parts, rows)
        yield _flat(leaf, shared[way])


def null_values(data_type: pa.DataType, rows: int) -> Iterator[Values]:
    """The values of the leaves of a column that can be null, and is throughout.

    Args:
        data_type: of the column.
        rows: how many there are.
    """
    import pyarrow as pa

    if not pa.types.is_nested(data_type):
        yield Values(0, _NOTHING, validity=bytes((rows + 7) // 8))
        return
    for leaf, parts in _leaves(pa.nulls(0, data_type), True, ()):
        yield _flat(leaf, _no_levels(parts, rows))


def _no_levels(parts: tuple[_Part, ...], rows: int) -> Levels:
    """The levels of a leaf of a column that is null in all rows."""
    return Levels.of_nulls(rows, len(parts), any(part.is_list for part in parts))


def _flat(array: pa.Array, levels: Levels | None) -> Values:
    import pyarrow as pa

    validity = None
    if levels is None and array.null_count:
        validity = array.buffers()[0]
    if isinstance(array, pa.DictionaryArray):
        words = array.dictionary
        _, offsets, data = words.buffers()
        size = (len(words) + 1) * _OFFSET_BYTES
        bounds = _NOTHING if offsets is None else offsets.slice(words.offset * _OFFSET_BYTES, size)
        return Values(array.offset, array.indices.buffers()[1], data, bounds, validity, levels)
    buffers = array.buffers()
    data = buffers[2] if len(buffers) > 2 else None
    return Values(array.offset, _NOTHING if buffers[1] is None else buffers[1], data, None, validity, levels)


def _leaves(
    array: pa.Array, optional: bool, parts: tuple[_Part, ...]
) -> Iterator[tuple[pa.Array, tuple[_Part, ...]]]:
    """The leaves below a part of a column, each with the way to it."""
    import pyarrow as pa

    if optional:
        parts = (*parts, _Part(array.buffers()[0] if array.null_count else None, array.offset, False))
    if isinstance(array, pa.ListArray):
        parts = (*parts, _Part(array.buffers()[1], array.offset, True))
        elements = array.values
        if isinstance(array, pa.MapArray):
            yield from _leaves(elements.field(0), False, parts)
            yield from _leaves(elements.field(1), array.type.item_field.nullable, parts)
        else:
            yield from _leaves(elements, array.type.value_field.nullable, parts)
    elif isinstance(array, pa.StructArray):
        for place, field in enumerate(array.type):
            yield from _leaves(array.field(place), field.nullable, parts)
    else:
        yield array, parts


def _levels(parts: tuple[_Part, ...], rows: int) -> Levels:
    levels = Levels(rows)
    for part in parts:
        if part.is_list:
            levels.repeated(part.buffer or _NOTHING, part.first)
        else:
            levels.optional(part.buffer, part.first)
    return levels


__all__ = ["Values", "array_values", "batch_values", "null_values"]
