"""The primary keys that a row has had, and which images have one of them."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.where.condition import ColumnName, Frame
from binx.where.values import Literal, Operand, compared


class ChangePlace(NamedTuple):
    """Where a change stands: its commit version, and its number in the transaction."""

    version: int
    row: int


class RowKey(NamedTuple):
    """A key that the row has had.

    Attributes:
        parts: for each of the key's columns a literal or a value.
        since: the change that gave the row this key; earlier ones are of other rows.
    """

    parts: tuple[Literal | pa.Scalar, ...]
    since: ChangePlace


def key_literal(text: str) -> Literal:
    """A key's value as a person writes it: 0x… are bytes."""
    if text[:2].lower() == "0x" and len(text) % 2 == 0:
        try:
            return Literal(bytes.fromhex(text[2:]))
        except ValueError:
            pass
    return Literal(text)


def images_with_key(frame: Frame, names: list[str], key: RowKey) -> pa.BooleanArray:
    """Whether the image has the key; where it is not there, it has not."""
    found = pa.repeat(pa.scalar(True), frame.size)
    for name, part in zip(names, key.parts, strict=True):
        operand = frame.operand(ColumnName(None, name))
        if operand is None:
            return pa.repeat(pa.scalar(False), frame.size)
        found = pc.and_(found, pc.fill_null(_equal(operand, part, name), False))
    return found


def _equal(operand: Operand, part: Literal | pa.Scalar, name: str) -> pa.BooleanArray:
    if isinstance(part, Literal):
        return compared(operand, "=", part, name)
    values, wanted = operand.values, part
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_dictionary(wanted.type):
        wanted = wanted.as_py()
    return pc.equal(values, wanted)


def same_key(key: RowKey, other: RowKey) -> bool:
    """Whether two keys are written alike."""

    def plain(part: Literal | pa.Scalar) -> str:
        return str(part.value if isinstance(part, Literal) else part.as_py())

    return [plain(part) for part in key.parts] == [plain(part) for part in other.parts]
