"""The primary keys that a row has had, and which images have one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.export.where import ColumnName, Frame
from binx.export.where_values import Literal, Operand, compared
from binx.rows.types import INTEGER_NAMES, Kind, LogicalType

_WHOLE = re.compile(r"\s*-?\d+\s*")


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


def plain_key(key: RowKey, types: Mapping[str, LogicalType]) -> dict[str, object] | None:
    """The key as index files have it; None where its text may differ from theirs."""
    values: dict[str, object] = {}
    for part, (name, kind) in zip(key.parts, types.items(), strict=True):
        if isinstance(part, pa.Scalar):
            values[name] = part.as_py()
        elif kind.kind is Kind.TEXT and isinstance(part.value, str):
            values[name] = part.value
        elif kind.kind in INTEGER_NAMES and isinstance(part.value, str) and _WHOLE.fullmatch(part.value):
            values[name] = int(part.value)
        else:
            return None
    return values


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


__all__ = ["ChangePlace", "RowKey", "images_with_key", "key_literal", "plain_key", "same_key"]
