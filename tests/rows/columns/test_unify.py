"""One schema for several versions of a table, checked against what Arrow itself can cast."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.rows.columns.arrow_schema import cast_array, cast_batch, united_schema, wider

TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(10, 2),
    pa.decimal128(38, 10),
    pa.string(),
    pa.binary(),
    pa.date32(),
    pa.timestamp("us"),
    pa.dictionary(pa.int32(), pa.string()),
]

types = st.sampled_from(TYPES)


@given(types, types)
def test_the_wider_type_does_not_depend_on_the_order(first: pa.DataType, second: pa.DataType) -> None:
    assert wider(first, second) == wider(second, first)


@given(types)
def test_a_type_is_as_wide_as_itself(data_type: pa.DataType) -> None:
    assert wider(data_type, data_type) == data_type


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.int64(), pa.uint64(), pa.decimal128(20, 0)),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(10, 2), pa.decimal128(12, 4), pa.decimal128(12, 4)),
        (pa.decimal128(38, 0), pa.decimal128(38, 38), pa.string()),
        (pa.int32(), pa.decimal128(10, 2), pa.decimal128(12, 2)),
        (pa.date32(), pa.timestamp("us"), pa.timestamp("us")),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.string()),
        (pa.int32(), pa.string(), pa.string()),
    ],
)
def test_two_types_are_held_by_the_narrowest_that_holds_both(
    first: pa.DataType, second: pa.DataType, expected: pa.DataType
) -> None:
    assert wider(first, second) == expected


def test_columns_come_in_the_order_of_the_last_version_then_those_that_were_dropped() -> None:
    old = pa.schema([("_row", pa.int64()), ("id", pa.int32()), ("gone", pa.string()), ("name", pa.string())])
    new = pa.schema([("_row", pa.int64()), ("id", pa.int64()), ("name", pa.string()), ("added", pa.int8())])
    united = united_schema([old, new])
    assert united.names == ["_row", "id", "name", "added", "gone"]
    assert united.field("id").type == pa.int64()


def test_a_batch_of_an_older_version_keeps_its_values_and_has_nulls_where_it_lacks_a_column() -> None:
    schema = pa.schema([("id", pa.int64()), ("price", pa.decimal128(12, 2)), ("added", pa.string())])
    batch = pa.record_batch({"id": pa.array([1, 2], pa.int8()), "price": pa.array([5, None], pa.int32())})
    cast = cast_batch(batch, schema)
    assert cast.schema == schema
    assert cast.to_pylist() == [
        {"id": 1, "price": Decimal("5.00"), "added": None},
        {"id": 2, "price": None, "added": None},
    ]


def test_bytes_that_became_text_are_written_as_hex() -> None:
    batch = pa.record_batch({"data": pa.array([b"\x00\xff", None], pa.binary())})
    cast = cast_batch(batch, pa.schema([("data", pa.string())]))
    assert cast.column(0).to_pylist() == ["00ff", None]


def test_which_columns_an_image_has_is_told_by_their_places_in_the_united_schema() -> None:
    """Row images MINIMAL: a column that was dropped or moved stands elsewhere than in its own version."""
    system = [pa.field("_row", pa.int64()), pa.field("_present", pa.binary())]
    first = pa.schema([*system, *(pa.field(name, pa.int32()) for name in "abcdefghi")])
    last = pa.schema([*system, *(pa.field(name, pa.int32()) for name in "ixa")])
    united = united_schema([first, last])
    own = united.names[2:]
    present = [None, b"\x05\x01", b"\x02\x00"]
    values = [[0, 1, 2], present, *([1, None, None] for _ in "abcdefghi")]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(each, field.type) for each, field in zip(values, first, strict=True)], schema=first
    )
    told = cast_batch(batch, united).column("_present").to_pylist()

    def names(bits: bytes) -> set[str]:
        return {name for i, name in enumerate(own) if bits[i >> 3] >> (i & 7) & 1}

    assert told[0] is None
    assert [names(bits) for bits in told[1:]] == [{"a", "c", "i"}, {"b"}]


def test_presence_is_left_alone_where_the_columns_are_the_same() -> None:
    schema = pa.schema([pa.field("_present", pa.binary()), pa.field("a", pa.int32())])
    wide = pa.schema([pa.field("_present", pa.binary()), pa.field("a", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array([b"\x01"]), pa.array([1], pa.int32())], schema=schema)
    assert cast_batch(batch, wide).column("_present").to_pylist() == [b"\x01"]


def test_times_become_the_text_that_servers_print() -> None:
    """TIME that was made VARCHAR: a count of microseconds would be no value of either."""
    times = pa.array([0, 3_661_000_000, -3_600_123_000, 3_020_399_000_000, None], pa.duration("us"))
    found = cast_array(times, wider(times.type, pa.string())).to_pylist()
    assert found == ["00:00:00", "01:01:01", "-01:00:00.123", "838:59:59", None]
