"""What the texts of row changes consist of: columns, how these are spelled, and what stands around values.

No text is made here: :class:`~binx.slices.pieces.Piece` writes it, from the columns' own memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from binx.kernels.render.row_changes import Spelling

if TYPE_CHECKING:
    from binx.kernels.render.row_changes import Column, KernelPart

_FLOAT_BYTES = 4


class Spelled(NamedTuple):
    """A column as text.

    Attributes:
        spelling: how its values are written.
        column: the values; None where they are asked for.
        open: stands before each value that is not null.
        close: stands behind it.
        null: stands for null.
        odd_open: stands before the digits of a string that is no UTF-8, in SQL.
        odd_close: stands behind them.
        parameter: digits of a fraction, or the scale.
        ask: gives the text of a row's value in pieces, null included.
    """

    spelling: Spelling
    column: pa.Array | None = None
    open: bytes = b""
    close: bytes = b""
    null: bytes = b""
    odd_open: bytes = b""
    odd_close: bytes = b""
    parameter: int = 0
    ask: Callable[[int], Iterator[bytes]] | None = None

    def within(self, opening: bytes, closing: bytes) -> Spelled:
        """The same with more around each value that is not null."""
        return self._replace(open=opening + self.open, close=self.close + closing)


class Part(NamedTuple):
    """A part of a row's text.

    Attributes:
        lead: stands before the value, or for null.
        spelled: the column; None where there is none.
        rows: the rows of the column, one for each change; None for the first ones.
        mask: for which changes the part is there.
        otherwise: stands for it where it is not.
        listed: whether it is an item of the row's list, with a comma before it unless it is the first.
    """

    lead: bytes = b""
    spelled: Spelled | None = None
    rows: pa.Array | None = None
    mask: pa.BooleanArray | None = None
    otherwise: bytes = b""
    listed: bool = False


def columns(lead: bytes, values: Iterable[Spelled], rows: pa.Array | None) -> Iterator[Part]:
    """The parts of one value, which may take several columns."""
    for number, spelled in enumerate(values):
        yield Part(b"" if number else lead, spelled, rows)


def assembled(items: Iterable[bytes | Part]) -> list[Part]:
    """Parts and texts between them; a text becomes the lead of the part behind it."""
    parts: list[Part] = []
    lead = b""
    for item in items:
        if isinstance(item, bytes):
            lead += item
        elif item.listed or item.mask is not None:
            parts += [Part(lead), item] if lead else [item]
            lead = b""
        else:
            parts.append(item._replace(lead=lead + item.lead) if lead else item)
            lead = b""
    return [*parts, Part(lead)] if lead else parts


def kernel_part(part: Part) -> KernelPart:
    """A part as the kernel takes it."""
    spelled = part.spelled or _NOTHING
    texts = (
        *(part.lead, spelled.open, spelled.close, spelled.null, part.otherwise),
        *(spelled.odd_open, spelled.odd_close),
    )
    return (
        spelled.spelling,
        texts,
        spelled.parameter,
        part.listed,
        None if spelled.column is None else _memory(spelled.column),
        None if part.rows is None else numbers(part.rows),
        None if part.mask is None else (part.mask.buffers()[1], part.mask.offset),
        spelled.ask,
    )


_NOTHING = Spelled(Spelling.SPELL_NOTHING)


def numbers(array: pa.Array) -> memoryview:
    """The memory of a column of 64-bit integers without nulls."""
    data = array.buffers()[1]
    return memoryview(b"" if data is None else data).cast("B")[array.offset * 8 :][: len(array) * 8]


def _memory(array: pa.Array) -> Column:
    """A column's memory."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        codes = array.indices
        data, width, offsets, size, unit, *_ = _memory(array.dictionary)
        return (data, width, offsets, size, unit, _validity(codes), codes.buffers()[1], *_place(codes))
    validity, *buffers = array.buffers()
    if pa.types.is_list(kind):
        assert array.values.offset == 0
        return (array.values.buffers()[1], 0, buffers[0], 4, _FLOAT_BYTES, *_rest(array, validity))
    if len(buffers) == 2:
        size = 8 if pa.types.is_large_binary(kind) else 4
        return (buffers[1], 0, buffers[0], size, 1, *_rest(array, validity))
    return (buffers[0], kind.bit_width // 8, None, 0, 1, *_rest(array, validity))


def _rest(array: pa.Array, validity: Any) -> tuple[Any, None, int, int, int]:
    return validity if array.null_count else None, None, 0, array.offset, len(array)


def _place(codes: pa.Array) -> tuple[int, int, int]:
    return codes.type.bit_width // 8, codes.offset, len(codes)


def _validity(array: pa.Array) -> Any:
    return array.buffers()[0] if array.null_count else None


__all__ = [
    "Part",
    "Spelled",
    "Spelling",
    "assembled",
    "columns",
    "kernel_part",
    "numbers",
]
