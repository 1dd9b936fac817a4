"""Statistics are those that pyarrow's own writer gives, and bounds of what is long."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binx.export.parquet_format.bounds import BOUND_BYTES, text_bounds
from tests.export.parquet_format.reading import opened, written
from tests.export.parquet_format.tables import TYPES, batches, many_rows

COMPARED = [
    *("int8", "int16", "uint16", "int32", "int64", "small", "uint64", "float32", "float64", "money", "sum"),
    *("huge", "date", "local", "moment", "span", "text", "alike", "bytes"),
]


def known(file: pq.ParquetFile) -> list[dict[str, Any]]:
    chunks = [file.metadata.row_group(number).column(0) for number in range(file.metadata.num_row_groups)]
    return [chunk.statistics.to_dict() for chunk in chunks]


def by_pyarrow(*groups: pa.RecordBatch) -> pq.ParquetFile:
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, groups[0].schema, store_decimal_as_integer=True) as writer:
        for group in groups:
            writer.write_batch(group)
    return opened(stream.getvalue())


@pytest.mark.parametrize("name", COMPARED)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_they_are_pyarrows(name: str, data: st.DataObject) -> None:
    groups = data.draw(st.lists(batches((name,)), min_size=1, max_size=2))
    ours = known(opened(written(*groups, statistics=[name])))
    theirs = known(by_pyarrow(*groups))
    for one, other in zip(ours, theirs, strict=True):
        # pyarrow counts no distinct values either, and says so in another way.
        assert {**one, "distinct_count": None} == {**other, "distinct_count": None}


def test_many_pages_have_the_statistics_of_all() -> None:
    rows = many_rows(70_000, 4)
    for name in ("int32", "int64", "uint64", "float64", "huge", "text", "bytes"):
        part = rows.select([name])
        assert known(opened(written(part, statistics=[name]))) == known(by_pyarrow(part)), name


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_texts_have_none_for_readers_that_compare_bytes_as_signed(kind: pa.DataType, tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_arrays([pa.array(["a", "é"]).cast(kind)], ["a"])
    path = tmp_path / "texts.parquet"
    path.write_bytes(written(rows, statistics=["a"]))
    columns = "stats_min, stats_max, stats_min_value, stats_max_value"
    found = duckdb.execute(f"SELECT {columns} FROM parquet_metadata('{path}')").fetchall()
    assert found == [(None, None, "a", "é")]


def test_nan_is_no_value_and_zero_has_both_signs() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [math.nan, 0.0, math.nan]})
    (found,) = known(opened(written(rows, statistics=["a"])))
    assert (str(found["min"]), str(found["max"])) == ("-0.0", "0.0")
    nothing = pa.RecordBatch.from_pydict({"a": [math.nan, math.nan]})
    assert not known(opened(written(nothing, statistics=["a"])))[0]["has_min_max"]


def test_a_column_without_statistics_has_none() -> None:
    rows = pa.RecordBatch.from_pydict({"a": [1, 2]})
    assert opened(written(rows)).metadata.row_group(0).column(0).statistics is None


@given(st.lists(st.text(max_size=3 * BOUND_BYTES), min_size=1))
def test_bounds_of_texts_hold_them(texts: list[str]) -> None:
    values = sorted(text.encode() for text in texts)
    low, high, exact = text_bounds(values[0], values[-1], is_text=True)
    assert low <= values[0]
    assert high is None or high >= values[-1]
    assert exact == (low == values[0], high == values[-1])
    low.decode()
    assert len(low) <= BOUND_BYTES
    assert high is None or (high.decode() is not None and len(high) <= BOUND_BYTES + 3)


@pytest.mark.parametrize(
    ("largest", "is_text", "bound"),
    [
        (b"a" * 300, True, b"a" * 255 + b"b"),
        (b"a" * 300, False, b"a" * 255 + b"b"),
        (b"a" * 255 + b"\xff" * 9, False, b"a" * 254 + b"b"),
        (b"\xff" * 300, False, None),
        (b"a" * 253 + "\ud7ff".encode() * 9, True, b"a" * 253 + "\ue000".encode()),
        ("\U0010ffff".encode() * 100, True, None),
        ("ä".encode() * 150, True, "ä".encode() * 127 + "å".encode()),
        (b"short", True, b"short"),
    ],
)
def test_what_stands_above_a_long_value(largest: bytes, is_text: bool, bound: bytes | None) -> None:
    assert text_bounds(b"", largest, is_text=is_text)[1] == bound


def test_types_have_an_order() -> None:
    assert set(COMPARED) <= set(TYPES)
