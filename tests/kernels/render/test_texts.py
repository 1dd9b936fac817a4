"""Columns of text that kernels write, against what Python and Arrow make of the same values."""

from __future__ import annotations

import struct
from array import array

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binx.kernels.render.texts import joined_texts, quoted_texts
from binx.slices.texts import constant, joined, python_reals, string_literals

TEXT = pa.large_binary()
COLUMN = st.lists(st.binary(max_size=40), min_size=1, max_size=20)


@given(st.data(), COLUMN)
def test_texts_are_joined_row_by_row(data: st.DataObject, first: list[bytes]) -> None:
    columns = [first]
    for _ in range(data.draw(st.integers(0, 4))):
        columns.append(data.draw(st.lists(st.binary(max_size=40), min_size=len(first), max_size=len(first))))
    lead = data.draw(st.binary(max_size=40))
    cut = data.draw(st.integers(0, len(first)))
    arrays = [pa.array(column, TEXT).slice(cut) for column in columns]
    whole = joined(constant(lead), *arrays, constant(b";"))
    whole.validate(full=True)
    assert whole.to_pylist() == [lead + b"".join(row) + b";" for row in zip(*columns, strict=True)][cut:]


def test_where_one_is_null_all_are() -> None:
    assert joined(pa.array([b"a", None], TEXT), constant("b")).to_pylist() == [b"ab", None]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=20))
def test_texts_become_string_literals(texts: list[str | None]) -> None:
    literals = string_literals(pa.array([None if text is None else text.encode() for text in texts], TEXT))
    literals.validate(full=True)
    for text, literal in zip(texts, literals.to_pylist(), strict=True):
        if text is None:
            assert literal is None
        elif any(char < " " or char in "\\\x7f" for char in text):
            assert literal == b"_utf8mb4 x'" + text.encode().hex().encode() + b"'"
        else:
            assert literal == b"'" + text.encode().replace(b"'", b"''") + b"'"


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


@pytest.mark.parametrize("offsets", [[0, 4], [-1, 2], [2, 1], [0, 2**62], [-(2**63), 2**63 - 1]])
def test_offsets_that_do_not_fit_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="fit"):
        joined_texts([(array("q", offsets), b"abc")], 1)
    with pytest.raises(ValueError, match="fit"):
        quoted_texts(array("q", offsets), b"abc", 1)


def test_what_has_too_few_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="fewer"):
        joined_texts([(array("q", [0, 1]), b"a")], 2)
    with pytest.raises(ValueError, match="fewer"):
        quoted_texts(array("q", [0, 1]), b"a", 2)
    with pytest.raises(ValueError, match="rows"):
        joined_texts([b"a"], -1)
