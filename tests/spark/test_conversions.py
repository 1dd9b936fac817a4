"""Which new types of a column make a server change the values that are there: asked of a server's rules."""

from __future__ import annotations

import pytest

from binx.spark.loading.conversions import changes_values
from binx.spark.loading.ddl import new_types
from binx.spark.loading.manifests import TableName

T = TableName("shop", "t")

ROUNDED = [
    ("decimal(10,4)", "DECIMAL(10,2)"),
    ("decimal(10,4) unsigned", "NUMERIC(12,3)"),
    ("decimal(10,4)", "INT"),
    ("double", "DECIMAL(20,6)"),
    ("double", "FLOAT"),
    ("float", "BIGINT"),
    ("decimal(30,10)", "DOUBLE"),
    ("datetime(6)", "DATETIME"),
    ("timestamp(3)", "TIMESTAMP(2)"),
    ("time(1)", "TIME"),
    ("datetime", "DATE"),
    ("datetime(6)", "TIME(6)"),
]
CUT = [
    ("varchar(20)", "VARCHAR(10)"),
    ("text", "VARCHAR(100)"),
    ("mediumtext", "TEXT"),
    ("varbinary(8)", "BINARY(4)"),
    ("bigint", "INT"),
    ("int", "INT UNSIGNED"),
    ("int unsigned", "INTEGER"),
    ("decimal(10,2)", "DECIMAL(8,2)"),
]
SAFE = [
    ("decimal(10,2)", "DECIMAL(12,4)"),
    ("int", "BIGINT"),
    ("int unsigned", "BIGINT"),
    ("int", "INT(11)"),
    ("varchar(10)", "VARCHAR(10)"),
    ("varchar(10)", "TEXT"),
    ("datetime", "DATETIME(6)"),
    ("date", "DATETIME"),
    ("float", "DOUBLE"),
    ("int", "DECIMAL(12,2)"),
    ("enum('a','b')", "ENUM('a','b','c')"),
    ("json", "JSON"),
]


@pytest.mark.parametrize(("old", "new"), ROUNDED)
def test_fractions_are_rounded_in_every_mode(old: str, new: str) -> None:
    assert changes_values(old, new, strict=True)
    assert changes_values(old, new, strict=False)


@pytest.mark.parametrize(("old", "new"), CUT)
def test_what_is_too_long_or_too_large_is_cut_without_strict_mode_only(old: str, new: str) -> None:
    assert not changes_values(old, new, strict=True)
    assert changes_values(old, new, strict=False)


@pytest.mark.parametrize(("old", "new"), SAFE)
def test_a_type_that_holds_all_values_changes_none(old: str, new: str) -> None:
    assert not changes_values(old, new, strict=False)


@pytest.mark.parametrize(
    ("sql", "types"),
    [
        ("ALTER TABLE t MODIFY a DECIMAL(10, 2) NOT NULL DEFAULT '0', ADD b INT", {"a": "DECIMAL(10,2)"}),
        ("ALTER TABLE shop.t CHANGE COLUMN `A` b int unsigned after c", {"a": "int unsigned"}),
        ("ALTER TABLE t MODIFY COLUMN IF EXISTS a TEXT, MODIFY c DATE FIRST", {"a": "TEXT", "c": "DATE"}),
        ("alter online table t nowait modify e enum('x,y)','z') , algorithm=copy", {"e": "enum(x,y),z)"}),
    ],
)
def test_new_types_are_read_from_the_statement(sql: str, types: dict[str, str]) -> None:
    assert new_types(sql, "shop") == (T, types)


@pytest.mark.parametrize("sql", ["ALTER TABLE t ADD modify INT", "DROP TABLE t", "ALTER TABLE t DROP a"])
def test_other_statements_give_columns_no_types(sql: str) -> None:
    assert new_types(sql, "shop") is None
