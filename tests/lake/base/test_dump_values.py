"""Values of dumps become those of logs' rows, and what a column cannot hold is a misfit."""

from __future__ import annotations

from array import array
from datetime import UTC, date, datetime, time
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

from binx.errors import DamagedError
from binx.lake.base.dump_values import DumpColumn, Misfit
from binx.rows.columns.types import ArrowOptions, Kind, LogicalType


def read(logical: LogicalType, *texts: bytes | None) -> tuple[list[Any], list[Misfit]]:
    """What a column's texts are read as, and the misfits."""
    filled = [text or b"" for text in texts]
    bits = sum(1 << row for row, text in enumerate(texts) if text is not None)
    offsets = array("i", accumulate(map(len, filled), initial=0))
    text_column = (bits.to_bytes(len(texts) // 8 + 1, "little"), texts.count(None), offsets, b"".join(filled))
    values, misfits = DumpColumn(logical, ArrowOptions(), "utf8mb4").array(text_column, len(texts))
    return values.to_pylist(), misfits


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
