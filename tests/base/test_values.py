"""Values of dumps become those of logs' rows, and what a column cannot hold is a misfit."""

from __future__ import annotations

from array import array
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

from binx.base.values import DumpColumn, Misfit
from binx.errors import DamagedError
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType


def read(logical: LogicalType, *texts: bytes | None) -> tuple[list[Any], list[Misfit]]:
    """What a column's texts are read as, and the misfits."""
    filled = [text or b"" for text in texts]
    bits = sum(1 << row for row, text in enumerate(texts) if text is not None)
    offsets = array("i", accumulate(map(len, filled), initial=0))
    text_column = (bits.to_bytes(len(texts) // 8 + 1, "little"), texts.count(None), offsets, b"".join(filled))
    values, misfits = DumpColumn(logical, ArrowOptions(), raw=False).array(text_column, len(texts))
    return values.to_pylist(), misfits


@pytest.mark.parametrize(
    ("logical", "texts", "values"),
    [
        (LogicalType(Kind.INT8, "tinyint"), (b"-128", b"007", None), [-128, 7, None]),
        (LogicalType(Kind.UINT32, "int"), (b"4294967295",), [4294967295]),
        (LogicalType(Kind.UINT64, "bigint"), (b"18446744073709551615",), [18446744073709551615]),
        (LogicalType(Kind.YEAR, "year"), (b"1901", b"0000"), [1901, 0]),
        (
            LogicalType(Kind.DECIMAL, "decimal", precision=10, scale=2),
            (b"-12.5", b"3", b".5", b"0001.50"),
            [Decimal("-12.50"), Decimal("3.00"), Decimal("0.50"), Decimal("1.50")],
        ),
        (
            LogicalType(Kind.DECIMAL, "decimal", precision=65, scale=0),
            (b"9" * 65,),
            ["9" * 65],
        ),
        (LogicalType(Kind.FLOAT64, "double"), (b"-1e-30", b"2"), [-1e-30, 2.0]),
        (LogicalType(Kind.BOOL, "bit", length=1), (b"\x01", b"\0", None), [True, False, None]),
        (LogicalType(Kind.BITS, "bit", length=9), (b"\x01\x02", b""), [258, 0]),
        (LogicalType(Kind.BITS, "bit", length=64), (b"\xff" * 8,), [(1 << 64) - 1]),
        (
            LogicalType(Kind.TIME, "time", fraction=6),
            (b"-838:59:59", b"01:02:03.25", None, b"-00:00:00.000001"),
            [
                -timedelta(hours=838, minutes=59, seconds=59),
                timedelta(hours=1, minutes=2, seconds=3, milliseconds=250),
                None,
                timedelta(microseconds=-1),
            ],
        ),
        (
            LogicalType(Kind.GEOMETRY, "point"),
            (b"\xe6\x10\0\0wkb", None),
            [{"srid": 4326, "wkb": b"wkb"}, None],
        ),
        (LogicalType(Kind.ENUM, "enum", members=("a", "b")), (b"b", b"", None), ["b", "", None]),
        (LogicalType(Kind.BINARY, "varbinary"), (b"\0\xff", None), [b"\0\xff", None]),
    ],
    ids=lambda part: f"{part.kind.value}-{part.precision or part.length}" if hasattr(part, "kind") else "",
)
def test_values_are_those_of_rows(
    logical: LogicalType, texts: tuple[bytes | None, ...], values: list[Any]
) -> None:
    assert read(logical, *texts) == (values, [])


def test_moments_that_the_calendar_does_not_have_are_misfits() -> None:
    days = (b"2024-01-02", b"0000-00-00", None, b"2024-02-29", b"2023-02-29", b"2024-04-31", b"9999-12-31")
    missing = [(1, "0000-00-00"), (4, "2023-02-29"), (5, "2024-04-31")]
    expected = [date(2024, 1, 2), None, None, date(2024, 2, 29), None, None, date(9999, 12, 31)]
    assert read(LogicalType(Kind.DATE, "date"), *days) == (expected, missing)
    moments = [None if day is None else day + b" 03:04:05.5" for day in days]
    missing = [(row, f"{text} 03:04:05.5") for row, text in missing]
    clocks = [None if day is None else datetime.combine(day, time(3, 4, 5, 500_000)) for day in expected]
    assert read(LogicalType(Kind.DATETIME, "datetime", fraction=1), *moments) == (clocks, missing)
    instants = [None if clock is None else clock.replace(tzinfo=UTC) for clock in clocks]
    assert read(LogicalType(Kind.TIMESTAMP, "timestamp", fraction=1), *moments) == (instants, missing)


@pytest.mark.parametrize(
    ("logical", "text"),
    [
        (LogicalType(Kind.DECIMAL, "decimal", precision=5, scale=2), b"1.234"),
        (LogicalType(Kind.INT8, "tinyint"), b"128"),
        (LogicalType(Kind.INT64, "bigint"), b"9223372036854775808"),
        (LogicalType(Kind.UINT8, "tinyint"), b"two"),
        (LogicalType(Kind.DATETIME, "datetime"), b"2024-1-2 00:00:00"),
        (LogicalType(Kind.DATE, "date"), b"2024-13-02"),
        (LogicalType(Kind.TIME, "time"), b"839:00:00"),
        (LogicalType(Kind.TIME, "time"), b"00:60:00"),
        (LogicalType(Kind.BITS, "bit", length=64), b"123456789"),
        (LogicalType(Kind.GEOMETRY, "point"), b"abc"),
    ],
)
def test_what_is_not_of_the_columns_type_is_an_error(logical: LogicalType, text: bytes) -> None:
    with pytest.raises((DamagedError, pa.ArrowInvalid)):
        read(logical, None, text)
