"""What each kind of column becomes in SQL, Arrow and Avro."""

from __future__ import annotations

import datetime
import decimal
import json

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
EXACT = ArrowOptions(exact_members=True)


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
