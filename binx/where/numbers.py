"""Texts beside numbers: servers take the number that each begins with, and a member's number."""

from __future__ import annotations

import re

import pyarrow as pa

from binx.rows.columns.types import Kind, LogicalType

NUMBERED = frozenset({Kind.TEXT, Kind.BINARY, Kind.ENUM, Kind.SET})
"""What is compared with a number as a number."""

_LEADING = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)", re.ASCII)


def leading_number(text: str) -> float:
    """The number that a text begins with, 0 where there is none."""
    found = _LEADING.match(text)
    return 0.0 if found is None else float(found[1])


def numbers_of(values: pa.Array, type_of: LogicalType) -> pa.Array:
    """What a column's values are as numbers, float64."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.float64())
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    numbers = [_number(value, type_of) for value in encoded.dictionary.to_pylist()]
    return pa.array(numbers, pa.float64()).take(encoded.indices)


def _number(value: str | bytes, type_of: LogicalType) -> float:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    members = type_of.members
    if members is None:
        return leading_number(text)
    if type_of.kind is Kind.ENUM:
        return float(members.index(text) + 1 if text in members else 0)
    return float(sum(1 << members.index(one) for one in text.split(",") if one in members))
