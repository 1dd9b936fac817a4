"""The types of columns, and what one type holds the values of several."""

from __future__ import annotations

import datetime
import decimal
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binx.rows.columns.arrow_schema import cast_array, cast_batch, united_schema, wider
from binx.rows.columns.types import (
    ArrowOptions,
    Kind,
    LogicalType,
    arrow_type,
    avro_type,
    can_misfit,
    mysql_name,
    quote_text,
)

MEMBERS = ("small", "it's")


def decimal_of(precision: int, scale: int) -> LogicalType:
    return LogicalType(Kind.DECIMAL, "decimal", precision=precision, scale=scale)


DICTIONARY = pa.dictionary(pa.int32(), pa.string())
EXACT = ArrowOptions(exact_values=True)


@pytest.mark.parametrize(
    ("logical", "options", "expected"),
    [
        # Unsigned integers take the signed type that holds them.
        *(
            (LogicalType(kind, "int"), ArrowOptions(), data_type)
            for kind, data_type in (
                (Kind.INT8, pa.int8()), (Kind.INT16, pa.int16()), (Kind.INT24, pa.int32()),
                (Kind.INT32, pa.int32()), (Kind.INT64, pa.int64()), (Kind.UINT8, pa.int16()),
                (Kind.UINT16, pa.int32()), (Kind.UINT24, pa.int32()), (Kind.UINT32, pa.int64()),
                (Kind.UINT64, pa.uint64()),
            )
        ),
        (LogicalType(Kind.UINT64, "bigint"), ArrowOptions(unsigned_as_decimal=True), pa.decimal128(20, 0)),
        (decimal_of(38, 30), ArrowOptions(), pa.decimal128(38, 30)),
        (decimal_of(39, 0), ArrowOptions(), pa.string()),
        (LogicalType(Kind.BOOL, "bit", length=1), ArrowOptions(), pa.bool_()),
        (LogicalType(Kind.BITS, "bit", length=63), ArrowOptions(), pa.int64()),
        (LogicalType(Kind.BITS, "bit", length=64), ArrowOptions(), pa.uint64()),
        # Members that are unknown leave numbers, and those that are alike where they are to be exact.
        (LogicalType(Kind.ENUM, "enum", members=MEMBERS), EXACT, DICTIONARY),
        (LogicalType(Kind.ENUM, "enum", members=("", "b")), ArrowOptions(), DICTIONARY),
        (LogicalType(Kind.ENUM, "enum", members=("", "b")), EXACT, pa.uint16()),
        (LogicalType(Kind.ENUM, "enum"), ArrowOptions(), pa.uint16()),
        (LogicalType(Kind.SET, "set", members=MEMBERS), EXACT, pa.string()),
        (LogicalType(Kind.SET, "set", members=("a", "a")), ArrowOptions(), pa.string()),
        (LogicalType(Kind.SET, "set", members=("a", "a")), EXACT, pa.uint64()),
        (LogicalType(Kind.SET, "set"), ArrowOptions(), pa.uint64()),
    ],
)  # fmt: skip
def test_what_arrow_has_for_each_type(
    logical: LogicalType, options: ArrowOptions, expected: pa.DataType
) -> None:
    assert arrow_type(logical, options) == expected


def test_every_kind_has_a_type_in_arrow_avro_and_sql() -> None:
    for kind in Kind:
        logical = LogicalType(kind, "x", length=8, precision=5, scale=2)
        assert isinstance(arrow_type(logical), pa.DataType)
        json.dumps(avro_type(logical))
        assert mysql_name(logical)


@pytest.mark.parametrize(
    ("logical", "name"),
    [
        (LogicalType(Kind.UINT24, "mediumint"), "mediumint unsigned"),
        (decimal_of(10, 2), "decimal(10,2)"),
        (LogicalType(Kind.BOOL, "bit", length=1), "bit(1)"),
        (LogicalType(Kind.DATETIME, "datetime", fraction=3), "datetime(3)"),
        (LogicalType(Kind.TIME, "time"), "time"),
        (LogicalType(Kind.TEXT, "varchar", length=80, characters=20), "varchar(20)"),
        (LogicalType(Kind.TEXT, "varchar", length=80), "varchar"),
        (LogicalType(Kind.TEXT, "mediumtext", length=16777215), "mediumtext"),
        (LogicalType(Kind.BINARY, "binary", length=16), "binary(16)"),
        (LogicalType(Kind.BINARY, "blob", length=65535), "blob"),
        (LogicalType(Kind.ENUM, "enum", members=MEMBERS), "enum('small','it''s')"),
        (LogicalType(Kind.SET, "set"), "set"),
        (LogicalType(Kind.GEOMETRY, "point"), "point"),
        (LogicalType(Kind.VECTOR, "vector", length=3), "vector(3)"),
    ],
)
def test_types_are_written_as_information_schema_writes_them(logical: LogicalType, name: str) -> None:
    assert mysql_name(logical) == name


def test_members_are_quoted_as_the_server_shows_them() -> None:
    # INFORMATION_SCHEMA.COLUMNS.COLUMN_TYPE of MySQL 9.7 for ENUM('back\\slash','q\'uote').
    assert f"enum({quote_text('back' + chr(92) + 'slash')},{quote_text(chr(113) + chr(39) + 'uote')})" == (
        "enum('back\\\\slash','q''uote')"
    )


def test_only_binary_is_padded() -> None:
    assert LogicalType(Kind.BINARY, "binary", length=16).padded_length == 16
    assert LogicalType(Kind.BINARY, "varbinary", length=16).padded_length is None


def test_columns_that_may_hold_what_arrow_cannot() -> None:
    may = {kind for kind in Kind if can_misfit(LogicalType(kind, "x", members=MEMBERS))}
    assert may == {Kind.DATE, Kind.DATETIME, Kind.TIMESTAMP, Kind.ENUM, Kind.SET}
    assert not can_misfit(LogicalType(Kind.ENUM, "enum"))


def test_duckdb_reads_the_values_that_were_written() -> None:
    columns = [
        (LogicalType(Kind.UINT64, "bigint"), 2**64 - 1, 2**64 - 1),
        (decimal_of(38, 2), decimal.Decimal("9.50"), decimal.Decimal("9.50")),
        (LogicalType(Kind.BOOL, "bit", length=1), True, True),
        (LogicalType(Kind.DATE, "date"), datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
        (LogicalType(Kind.ENUM, "enum", members=MEMBERS), "small", "small"),
        (LogicalType(Kind.JSON, "json"), '{"a": 1}', '{"a": 1}'),
        (LogicalType(Kind.GEOMETRY, "point"), {"srid": 4326, "wkb": b"\1"}, {"srid": 4326, "wkb": b"\1"}),
        (LogicalType(Kind.VECTOR, "vector"), [1.0, 2.5], [1.0, 2.5]),
        (LogicalType(Kind.UUID, "uuid"), "x", "x"),
        (LogicalType(Kind.BINARY, "blob"), b"\xff\0", b"\xff\0"),
    ]
    fields = [pa.field(f"c{number}", arrow_type(logical)) for number, (logical, _, _) in enumerate(columns)]
    arrays = []
    for field, (_, written, _) in zip(fields, columns, strict=True):
        storage = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        array = pa.array([written], storage)
        arrays.append(array if storage is field.type else pa.ExtensionArray.from_storage(field.type, array))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), sink)
    table = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert table.schema.field("c4").type.equals(fields[4].type)
    with duckdb.connect() as connection:
        connection.register("written", table)
        rows = connection.execute("SELECT * FROM written").fetchall()
    assert rows == [tuple(expected for _, _, expected in columns)]


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


def test_which_columns_an_image_has_is_said_by_their_places_in_the_united_schema() -> None:
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
    bitmaps = cast_batch(batch, united).column("_present").to_pylist()

    def names(bits: bytes) -> set[str]:
        return {name for i, name in enumerate(own) if bits[i >> 3] >> (i & 7) & 1}

    assert bitmaps[0] is None
    assert [names(bits) for bits in bitmaps[1:]] == [{"a", "c", "i"}, {"b"}]


def test_presence_is_left_alone_where_the_columns_are_the_same() -> None:
    schema = pa.schema([pa.field("_present", pa.binary()), pa.field("a", pa.int32())])
    wide = pa.schema([pa.field("_present", pa.binary()), pa.field("a", pa.int64())])
    batch = pa.RecordBatch.from_arrays([pa.array([b"\x01"]), pa.array([1], pa.int32())], schema=schema)
    assert cast_batch(batch, wide).column("_present").to_pylist() == [b"\x01"]


def test_times_become_the_text_that_servers_print() -> None:
    """TIME that was made VARCHAR: a count of microseconds would be no value of either."""
    times = pa.array([0, 3_661_000_000, -3_600_123_000, 3_020_399_000_000, None], pa.duration("us"))
    texts = cast_array(times, wider(times.type, pa.string())).to_pylist()
    assert texts == ["00:00:00", "01:01:01", "-01:00:00.123", "838:59:59", None]
