"""Columns of numbers as text, and string literals, against what Python makes of the same values."""

from __future__ import annotations

import struct

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from binx.slices.sql.literals import text_literal
from binx.slices.texts import python_reals


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_texts_become_string_literals_that_mean_the_same_in_every_mode(text: str) -> None:
    if any(char < " " or char in "\\\x7f" for char in text):
        assert text_literal(text) == f"_utf8mb4 x'{text.encode().hex()}'"
    else:
        assert text_literal(text) == "'" + text.replace("'", "''") + "'"


@given(st.lists(st.none() | st.floats(), max_size=20))
@example([1e15, 1e16, 9999999999999998.0, 1e-4, 9.9e-5, 1e-5, 5e-324, 1.7976931348623157e308, -0.0, 100.0])
def test_floating_point_numbers_are_laid_out_as_python_prints_them(values: list[float | None]) -> None:
    texts = python_reals(pa.array(values, pa.float64()))
    texts.validate(full=True)
    assert texts.to_pylist() == [None if value is None else repr(value).encode() for value in values]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=20))
def test_those_of_32_bits_have_the_fewest_digits_that_tell_them(values: list[float]) -> None:
    texts = python_reals(pa.array(values, pa.float32())).to_pylist()
    for value, text in zip(values, texts, strict=True):
        assert repr(float(text)).encode() == text
        assert struct.pack("<f", float(text)) == struct.pack("<f", value)
