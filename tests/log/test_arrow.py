"""Arrow arrays made from buffers, held against those that pyarrow makes of the same values."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.log.arrow import arrow_array, arrow_scalar

MAPS = pa.map_(pa.string(), pa.string())
STRUCTS = pa.struct([("name", pa.string()), ("numbers", pa.list_(pa.int32()))])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
STRUCT_VALUES = st.fixed_dictionaries(
    {"name": TEXT | st.none(), "numbers": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3) | st.none()}
)
CASES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXT),
    (pa.binary(), st.binary(max_size=20)),
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.timestamp("us", tz="UTC"), st.integers(-(2**63), 2**63 - 1)),
    (pa.list_(pa.int64()), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)),
    (MAPS, st.lists(st.tuples(TEXT, TEXT | st.none()), max_size=4)),
    (pa.list_(STRUCTS), st.lists(STRUCT_VALUES | st.none(), max_size=4)),
]


@pytest.mark.parametrize(("data_type", "values"), CASES, ids=str)
def test_the_values_are_those_that_pyarrow_makes(
    data_type: pa.DataType, values: st.SearchStrategy[Any]
) -> None:
    @given(st.lists(values | st.none(), max_size=40))
    def check(taken: list[Any]) -> None:
        array = arrow_array(taken, data_type)
        array.validate(full=True)
        assert array.equals(pa.array(taken, data_type))

    check()


@given(st.lists(st.integers(-(10**20) + 1, 10**20 - 1) | st.none(), max_size=40))
def test_decimals_are_given_unscaled(unscaled: list[int | None]) -> None:
    data_type = pa.decimal128(20, 2)
    expected = [None if value is None else Decimal(value).scaleb(-2) for value in unscaled]
    assert arrow_array(unscaled, data_type).equals(pa.array(expected, data_type))


def test_a_scalar_is_one_value() -> None:
    assert arrow_scalar(-5, pa.int32()).equals(pa.scalar(-5, pa.int32()))


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError):
        arrow_array([2**31], pa.int32())


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="halffloat"):
        arrow_array([1.0], pa.float16())


def test_pandas_is_not_loaded() -> None:
    program = (
        "import sys, pyarrow as pa; from binx.log.arrow import arrow_array;"
        "arrow_array(['a'], pa.string()); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
