"""Columns of values as columns of text, whole columns at a time: what SQL and JSON have in common.

All texts are ``large_binary`` in UTF-8: a value of 1 GiB doubles in hexadecimal, and offsets of 32 bits end
at 2 GiB.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.render.texts import Texts, joined_texts, quoted_texts
from binx.kernels.render.texts import real_texts as laid_out_reals
from binx.source.wording import encoded

TEXT = pa.large_binary()
EMPTY = pa.scalar(b"", TEXT)

EXACT_DIGITS = 18
"""Digits of a DECIMAL that 64 bits hold."""

_OFFSET_SIZE = 8


def constant(text: str | bytes) -> pa.Scalar:
    """A text that stands beside every value."""
    return pa.scalar(encoded(text) if isinstance(text, str) else text, TEXT)


def joined(*parts: Any) -> pa.Array:
    """Arrays and constants put behind one another, row by row; null where one is null."""
    columns = [part for part in parts if isinstance(part, pa.Array)]
    if not columns or any(column.type != TEXT or column.null_count for column in columns):
        return pc.binary_join_element_wise(*parts, EMPTY)
    pieces = [_spans(part) if isinstance(part, pa.Array) else part.as_py() for part in parts]
    return _column(joined_texts(pieces, len(columns[0])))


def _spans(array: pa.Array) -> tuple[memoryview, memoryview]:
    """A column of text as kernels take it."""
    _, offsets, data = array.buffers()
    if offsets is None:
        return memoryview(bytes(_OFFSET_SIZE)).cast("q"), memoryview(b"")
    return memoryview(offsets).cast("q")[array.offset :], memoryview(data or b"").cast("B")


def _column(texts: Texts, like: pa.Array | None = None) -> pa.Array:
    """A column of text that kernels have written, with the nulls of another."""
    rows = len(texts.offsets) // _OFFSET_SIZE - 1
    array = pa.Array.from_buffers(
        TEXT, rows, [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)], null_count=0
    )
    if like is None or not like.null_count:
        return array
    return pc.if_else(like.is_valid(), array, pa.scalar(None, TEXT))


def string_literals(array: pa.Array, *, escapes: bool = False) -> pa.Array:
    """Texts, ``large_binary`` in UTF-8, as string literals of SQL.

    Args:
        array: the texts.
        escapes: whether backslashes escape where they are read; without, they mean the same in every mode.
    """
    return _column(quoted_texts(*_spans(array), len(array), escapes), array)


def python_reals(array: pa.Array) -> pa.Array:
    """Floating-point numbers as Python prints them, those of 32 bits by the fewest digits that tell them."""
    texts = as_text(array)
    return _column(laid_out_reals(*_spans(texts), len(texts)), texts)


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
    return joined(constant(quote), array, constant(quote))


def replaced(array: pa.Array, which: pa.Array, by: pa.Array) -> pa.Array:
    """The array with other values at the marked places, as many as are marked."""
    return pc.replace_with_mask(array, which, by)


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
