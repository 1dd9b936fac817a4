"""Keys of rows as Arrow tables: their order, the last row of each, and the key ranges they fall into.

A key's value is the typed value plus, for types that cannot hold every value (zero dates), the misfit text.
Text and binary compare bytewise; null sorts last and equals itself.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from binx.lake.arrow.column_types import can_misfit, sortable
from binx.lake.tables.lives import SchemaSpan

Numbers: TypeAlias = npt.NDArray[Any]

_PACKED_BITS = 63


def key_of(rows: pa.Table, epoch: SchemaSpan) -> pa.Table:
    """Return the keys of rows: ``k<n>`` for each key column, ``t<n>`` for its misfit text."""
    arrays = {}
    for index, number in enumerate(epoch.key):
        column = epoch.column(number)
        arrays[f"k{index}"] = sortable(rows.column(f"v{number}"))
        if can_misfit(column):
            name = f"m{number}"
            known = name in rows.column_names
            arrays[f"t{index}"] = rows.column(name) if known else pa.nulls(len(rows), pa.string())
    return pa.table(arrays)


def order_of(keys: pa.Table) -> Numbers:
    """Return the row indexes in key order; a stable sort."""
    packed = _packed(keys)
    if packed is not None:
        return packed
    wanted = [(name, "ascending") for name in keys.column_names]
    order: Numbers = pc.sort_indices(keys.combine_chunks(), sort_keys=wanted).to_numpy().astype(np.int64)
    return order


def _packed(keys: pa.Table) -> Numbers | None:
    """Sort keys of one integer: value and row index packed into 64 bits, which sorts fastest."""
    column = keys.column(0)
    if keys.num_columns > 1 or not pa.types.is_integer(column.type) or column.null_count or not len(column):
        return None
    span = pc.min_max(column).as_py()
    places = len(column).bit_length()
    if (span["max"] - span["min"]).bit_length() + places > _PACKED_BITS:
        return None
    wide = np.uint64 if pa.types.is_unsigned_integer(column.type) else np.int64
    packed = (column.to_numpy().astype(wide) - wide(span["min"])).astype(np.int64) << places
    packed |= np.arange(len(packed))
    packed.sort()
    order: Numbers = packed & ((1 << places) - 1)
    return order


def begins_of(keys: pa.Table, order: Numbers) -> Numbers:
    """Return for each row in order whether its key differs from the previous row's."""
    taken = keys.take(pa.array(order)).combine_chunks()
    begins = np.ones(len(order), bool)
    begins[1:] = ~same(taken.slice(0, max(0, len(taken) - 1)), taken.slice(1))
    return begins


def same(keys: pa.Table, others: pa.Table) -> Numbers:
    """Return a mask of keys that equal the others'; null equals itself."""
    mask = np.ones(len(keys), bool)
    for column, other in zip(keys.columns, others.columns, strict=True):
        equal = pc.fill_null(pc.equal(column, other), False)
        if column.null_count:
            equal = pc.or_(equal, pc.and_(pc.is_null(column), pc.is_null(other)))
        mask &= np.asarray(equal.to_numpy(), bool)
    return mask


class _Tuples(Sequence[tuple[tuple[bool, Any], ...]]):
    """Keys as tuples that sort as in Arrow, built on access."""

    def __init__(self, keys: pa.Table) -> None:
        self._columns = keys.columns
        self._count = len(keys)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        values = [column[index].as_py() for column in self._columns]
        return tuple((value is None, value) for value in values)


def bounds_of(keys: pa.Table, lows: pa.Table | None) -> list[int]:
    """Return where each range begins among sorted keys, and where the last one ends."""
    ours = _Tuples(keys)
    theirs = [] if lows is None else _Tuples(lows.cast(keys.schema))
    return [0, *(bisect_left(ours, low) for low in theirs), len(keys)]


def ranges_of(keys: pa.Table, lows: pa.Table | None) -> Numbers:
    """Return the number of the range that each key falls into."""
    if lows is None or not len(lows):
        return np.zeros(len(keys), np.int64)
    both = pa.concat_tables([lows.cast(keys.schema), keys])
    order = order_of(both)
    is_low = order < len(lows)
    ranges = np.empty(len(both), np.int64)
    ranges[order] = np.cumsum(is_low)
    return ranges[len(lows) :]


def sample_of(keys: pa.Table, most: int) -> pa.Table:
    """Return at most ``most`` keys at even distances."""
    if len(keys) <= most:
        return keys.combine_chunks()
    places = np.linspace(0, len(keys) - 1, most).astype(np.int64)
    return keys.take(pa.array(order_of(keys)[places])).combine_chunks()


def to_text(keys: pa.Table | None) -> str:
    """Serialize keys for the state file."""
    if keys is None or not len(keys):
        return ""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, keys.schema) as writer:
        writer.write_table(keys)
    return base64.b64encode(sink.getvalue().to_pybytes()).decode()


def from_text(text: str) -> pa.Table | None:
    """Parse the output of :func:`to_text`."""
    return ipc.open_stream(base64.b64decode(text)).read_all() if text else None


def joined(parts: Sequence[pa.Table]) -> pa.Table | None:
    """Concatenate keys; None if there are none."""
    nonempty = [part for part in parts if len(part)]
    return pa.concat_tables(nonempty).combine_chunks() if nonempty else None
