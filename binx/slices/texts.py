"""Columns of values as columns of text, whole columns at a time: what SQL and JSON have in common.

All texts are ``large_binary`` in UTF-8: a value of 1 GiB doubles in hexadecimal, and offsets of 32 bits end
at 2 GiB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.rows.columns.types import LogicalType
from binx.rows.parts import Spelled, Spelling
from binx.source.wording import encoded

Writer = Callable[[pa.Array, LogicalType], tuple[Spelled, ...]]
"""Gives a column of a type as text."""

TEXT = pa.large_binary()
EMPTY = pa.scalar(b"", TEXT)

EXACT_DIGITS = 18
"""Digits of a DECIMAL that 64 bits hold."""


def constant(text: str | bytes) -> pa.Scalar:
    """A text that stands beside every value."""
    return pa.scalar(encoded(text) if isinstance(text, str) else text, TEXT)


def python_reals(array: pa.Array) -> pa.Array:
    """Floating-point numbers as Python prints them, those of 32 bits by the fewest digits that tell them."""
    texts = as_text(array).to_pylist()
    return pa.array([None if text is None else repr(float(text)).encode() for text in texts], TEXT)


def python_json_reals(array: pa.Array) -> pa.Array:
    """The same as JSON of Python has them: what no number is stands in quotes."""
    texts, finite = python_reals(array), pc.is_finite(array)
    return texts if pc.all(finite).as_py() else pc.if_else(finite, texts, quoted(texts, '"'))


def as_text(array: pa.Array) -> pa.Array:
    """Numbers as digits, text as it is."""
    if pa.types.is_large_binary(array.type):
        return array
    return array.cast(pa.large_string()).cast(TEXT)


def quoted(array: pa.Array, quote: str) -> pa.Array:
    """Texts that need no escaping, between quotes."""
    return pc.binary_join_element_wise(constant(quote), array, constant(quote), EMPTY)


def quoted_times(spelling: Spelling, quote: bytes, null: bytes) -> Writer:
    """Writes a column of dates or times between quotes."""

    def write(array: pa.Array, logical: LogicalType) -> tuple[Spelled]:
        return (Spelled(spelling, array, quote, quote, null, parameter=logical.fraction),)

    return write


def decimals(array: pa.Array) -> pa.Array:
    """All digits of DECIMAL values, never with an exponent, which would make them floating-point."""
    texts = array.cast(pa.string())
    scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
    if pc.any(scientific).as_py():
        plain = [format(value, "f") for value in array.filter(scientific).to_pylist()]
        texts = pc.replace_with_mask(texts, scientific, pa.array(plain, pa.string()))
    return as_text(texts)


def per_distinct(array: pa.Array, convert: Any) -> pa.Array:
    """Convert each distinct value once, in Python."""
    words = array.dictionary_encode()
    values = pa.array([convert(value) for value in words.dictionary.to_pylist()], TEXT)
    return values.take(words.indices)
