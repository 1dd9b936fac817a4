"""What ALTER TABLE makes of values: as servers do it, or not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from binx.spark.lake.arrow.conversions import converted
from binx.spark.lake.model import Change, Column, Epoch, Value

UNKNOWN = object()
ARROW = {
    "int": "int32", "int unsigned": "int64", "bigint": "int64", "tinyint": "int8", "double": "double",
    "decimal(10,2)": "decimal128(10, 2)", "decimal(4,1)": "decimal128(4, 1)", "date": "date32[day]",
    "datetime": "timestamp[us]", "datetime(6)": "timestamp[us]", "datetime(2)": "timestamp[us]",
    "timestamp": "timestamp[us, tz=UTC]", "time(3)": "duration[us]", "varbinary(9)": "binary",
    "binary(4)": "binary",
    "json": "extension<arrow.json>", "year": "int16",
}  # fmt: skip
MOMENT = datetime(2024, 5, 5, 10, 11, 12, 987654)

CASES: list[tuple[str, str, Any, Any]] = [
    ("int", "bigint", -5, -5),
    ("int", "tinyint", 127, 127),
    ("int", "tinyint", 128, UNKNOWN),
    ("int", "decimal(10,2)", 7, Decimal("7.00")),
    ("int", "varchar(20)", -7, "-7"),
    ("int", "double", 7, 7.0),
    ("tinyint", "double", 7, 7.0),
    ("decimal(10,2)", "decimal(4,1)", Decimal("1.25"), Decimal("1.3")),
    ("decimal(10,2)", "decimal(4,1)", Decimal("-1.25"), Decimal("-1.3")),
    ("decimal(10,2)", "int", Decimal("2.50"), 3),
    ("decimal(10,2)", "varchar(20)", Decimal("0.00"), "0.00"),
    ("varchar(20)", "int", "42", 42),
    ("varchar(20)", "int", "42a", UNKNOWN),
    ("varchar(20)", "char(20)", "a ", "a"),
    ("varchar(20)", "varchar(2)", "abc", UNKNOWN),
    ("varchar(20)", "varbinary(9)", "é", "é".encode()),
    ("varbinary(9)", "binary(4)", b"ab", b"ab\0\0"),
    ("varbinary(9)", "varchar(20)", b"\xff", UNKNOWN),
    ("varchar(20)", "enum('a','b')", "b", "b"),
    ("varchar(20)", "enum('a','b')", "B", UNKNOWN),
    ("enum('a','b')", "int", "b", 2),
    ("enum('a','b')", "enum('b','a','c')", "b", "b"),
    ("set('a','b')", "set('b','a')", "a,b", "b,a"),
    ("datetime(6)", "datetime(2)", MOMENT, datetime(2024, 5, 5, 10, 11, 12, 990000)),
    ("datetime(6)", "date", MOMENT, UNKNOWN),
    ("datetime", "date", datetime(2024, 5, 5, 23), date(2024, 5, 5)),
    ("date", "datetime", date(2024, 5, 5), datetime(2024, 5, 5)),
    ("datetime", "varchar(20)", datetime(24, 5, 5), "0024-05-05 00:00:00"),
    ("time(3)", "varchar(20)", -timedelta(hours=838, milliseconds=5), "-838:00:00.005"),
    ("json", "varchar(20)", '{"a": 1}', '{"a": 1}'),
    ("varchar(20)", "json", "{}", UNKNOWN),
    ("int", "varchar(20)", None, None),
    # Of what was hashed it must be known that its text stays.
    ("hash(varchar(20))", "hash(varchar(40))", "5e1f", "5e1f"),
    ("hash(varchar(20))", "hash(text)", "5e1f", "5e1f"),
    ("hash(varchar(20))", "hash(varchar(10))", "5e1f", UNKNOWN),
    ("hash(varchar(20))", "hash(char(40))", "5e1f", UNKNOWN),
    ("hash(int)", "hash(bigint)", "5e1f", "5e1f"),
    ("hash(bigint)", "hash(int)", "5e1f", UNKNOWN),
    ("hash(decimal(10,2))", "hash(decimal(12,2))", "5e1f", "5e1f"),
    ("hash(decimal(10,2))", "hash(decimal(12,4))", "5e1f", UNKNOWN),
    ("hash(int)", "hash(varchar(20))", "5e1f", UNKNOWN),
    ("varchar(64)", "hash(varchar(64))", "in clear", UNKNOWN),
    ("hash(varchar(64))", "varchar(64)", "5e1f", UNKNOWN),
]


def column(kind: str, number: int = 1) -> Column:
    return Column(number, "c", ARROW.get(kind, "string"), kind, "utf8mb4")


def after(old: str, new: str, values: pa.Array, **facts: Any) -> dict[str, Any]:
    before, behind = column(old), column(new)
    value = facts.pop("value", None)
    epoch = Epoch(None, (behind,), (), (Change(1, before, value),), **facts)
    rows, _ = converted(pa.table({"v1": values}), Epoch(None, (before,), ()), epoch)
    found: dict[str, Any] = rows.to_pylist()[0]
    return found


@pytest.mark.parametrize(("old", "new", "value", "expected"), CASES)
def test_a_value_becomes_what_the_server_makes_of_it(old: str, new: str, value: Any, expected: Any) -> None:
    kind = {"json": pa.string()}.get(old)
    found = after(old, new, pa.array([value], kind or (pa.string() if value is None else None)))
    if expected is UNKNOWN:
        assert (found["v1"], found["p1"]) == (None, False)
    else:
        assert (found["v1"], found.get("p1", True)) == (expected, True)


@pytest.mark.parametrize(
    ("zone", "expected"), [("+02:00", 10), ("Europe/Berlin", 10), ("SYSTEM", None), ("UTC", 12)]
)
def test_moments_change_by_the_zone_of_the_session(zone: str, expected: int | None) -> None:
    noon = pa.array([datetime(2024, 6, 1, 12)], pa.timestamp("us"))
    found = after("datetime", "timestamp", noon, time_zone=zone)["v1"]
    assert (None if found is None else found.hour) == expected


def test_an_hour_that_there_were_two_of_is_not_known() -> None:
    twice = pa.array([datetime(2024, 10, 27, 2, 30)], pa.timestamp("us"))
    assert after("datetime", "timestamp", twice, time_zone="Europe/Berlin")["p1"] is False


def test_null_becomes_what_the_server_gives_where_it_is_no_longer_allowed() -> None:
    assert after("int", "bigint", pa.array([None], pa.int32()), value=Value("0"))["v1"] == 0


def test_null_is_not_known_where_nothing_tells_what_it_became() -> None:
    before, behind = column("int"), replace(column("int"), nullable=False)
    epoch = Epoch(None, (behind,), (), (Change(1, before),))
    rows, _ = converted(pa.table({"v1": pa.array([None, 5], pa.int32())}), Epoch(None, (before,), ()), epoch)
    assert rows.to_pylist() == [{"v1": None, "p1": False}, {"v1": 5, "p1": True}]


def test_mariadb_cuts_the_fractions_that_mysql_rounds() -> None:
    values = pa.array([MOMENT])
    assert after("datetime(6)", "datetime(2)", values, flavour="mariadb")["v1"].microsecond == 980000
