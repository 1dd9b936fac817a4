"""Rows by their key: in its order, and of each key the last one.

Keys are compared as Arrow sorts them: text and binary by their bytes, null behind all others and equal to
itself. In Python a key is a tuple that sorts alike, dates and times as integers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[tuple[bool, Any], ...]
"""For each column of the key whether it is null, and its value."""


def comparable_type(kind: pa.DataType) -> pa.DataType:
    """The type as which values of a key's column are compared."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind


class Keys(Sequence[Key]):
    """The keys of a table's rows, each made when it is asked for."""

    def __init__(self, rows: pa.Table, key: Sequence[str]) -> None:
        columns = [rows.column(name) for name in key]
        self._columns = [column.cast(comparable_type(column.type)) for column in columns]
        self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Key: ...

    @overload
    def __getitem__(self, place: slice) -> list[Key]: ...

    def __getitem__(self, place: int | slice) -> Key | list[Key]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self._count))]
        if not 0 <= place < self._count:
            raise IndexError(place)
        values = [column[place].as_py() for column in self._columns]
        return tuple((value is None, value) for value in values)


def last_of_each(rows: pa.Table, key: Sequence[str]) -> pa.Array:
    """The places of the last row of each key, in the order of the keys.

    Args:
        rows: in order of time.
        key: the key's columns.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(rows):
        return pa.array([], pa.uint64())
    keys = rows.select(list(key)).combine_chunks()
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in key])
    same = [_is_next(keys.column(name).take(order).combine_chunks()) for name in key]
    is_last = pa.concat_arrays([pc.invert(reduce(pc.and_, same)), pa.array([True])])
    return order.filter(is_last)


def _is_next(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    """For each value but the last, whether the next one is the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    one, other = values.slice(0, len(values) - 1), values.slice(1)
    same = pc.equal(one, other)
    if values.null_count:
        same = pc.or_(pc.fill_null(same, False), pc.and_(pc.is_null(one), pc.is_null(other)))
    return same


def places_between(keys: Sequence[Key], low: Key | None, high: Key | None) -> tuple[int, int]:
    """Where sorted keys from ``low`` up to ``high``, which is not included, stand; None has no bound."""
    first = 0 if low is None else bisect_left(keys, low)
    last = len(keys) if high is None else bisect_left(keys, high)
    return first, max(first, last)


def ranges_met(keys: Sequence[Key], lows: Sequence[Key]) -> frozenset[int]:
    """The ranges that sorted keys fall into.

    Args:
        keys: in order.
        lows: where each range but the first begins.
    """
    met = []
    place = 0
    while place < len(keys):
        found = bisect_right(lows, keys[place])
        met.append(found)
        place = len(keys) if found == len(lows) else bisect_left(keys, lows[found], place)
    return frozenset(met)


def to_columns(keys: Iterable[Key], kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    """Keys as columns of the types in which they are compared."""
    import pyarrow as pa

    listed = list(keys)
    return [pa.array([key[place][1] for key in listed], kind) for place, kind in enumerate(kinds)]
