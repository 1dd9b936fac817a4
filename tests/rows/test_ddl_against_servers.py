"""The catalog follows schema statements exactly as MySQL and MariaDB do.

The expected columns are what the servers' INFORMATION_SCHEMA said after each statement
(make_ddl_expected.py asks them again).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from binx.rows.catalog import Catalog
from binx.rows.schema import ColumnDefinition, StatementContext, TableDefinition
from tests.rows.ddl_cases import CASES

SQL_MODES = {
    "": 0,
    "REAL_AS_FLOAT": 0x1,
    "ANSI_QUOTES": 0x4,
    "ORACLE": 0x200 | 0x4 | 0x2,
    "NO_BACKSLASH_ESCAPES": 0x100000,
    "NO_ENGINE_SUBSTITUTION": 0x40000000,
    "IGNORE_BAD_TABLE_OPTIONS": 0x40000000 << 1,
}
CHARACTER_TYPES = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set")
SERVERS = ["mysql", "mariadb"]


def expectations(server: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"ddl_expected_{server}.json")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def context_of(expected: dict[str, Any], sql_mode: str) -> StatementContext:
    major, minor, patch = (int(part) for part in re.findall(r"\d+", expected["server"]["version"])[:3])
    return StatementContext(
        sql_mode=SQL_MODES[sql_mode],
        server_collation=expected["server"]["collation"],
        mariadb="MariaDB" in expected["server"]["version"],
        version=major * 10000 + minor * 100 + patch,
    )


def without_display_width(column_type: str) -> str:
    """MariaDB's spelling of types in MySQL 8's: no display widths, no comments."""
    column_type = re.sub(r" /\*.*?\*/", "", column_type)
    if "zerofill" not in column_type and column_type != "tinyint(1)":
        column_type = re.sub(r"^(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)", r"\1", column_type)
    return column_type.replace("geomcollection", "geometrycollection")


def as_server_says(facts: list[Any]) -> dict[str, Any]:
    name, column_type, nullable, charset, collation, position, extra, row_key = facts
    generated = {"VIRTUAL": "virtual", "STORED": "stored"}
    kind = next((word for mark, word in generated.items() if f"{mark} GENERATED" in extra), None)
    return {
        "name": name,
        "type": without_display_width(column_type),
        "nullable": nullable,
        "charset": None if charset == "binary" else charset,
        "collation": None if charset == "binary" else collation,
        "key": position,
        "row_key": row_key,
        "invisible": "INVISIBLE" in extra,
        "generated": kind,
    }


def as_binx_says(
    column: ColumnDefinition, row_key: tuple[str, ...], server_collation: str | None
) -> dict[str, Any]:
    has_charset = column.base in CHARACTER_TYPES and column.charset != "binary"
    generated = "stored" if column.generated in {"row_start", "row_end"} else column.generated
    # A collation that nothing names is the default of its charset, which servers choose each in its own way.
    collation = column.collation or server_collation
    return {
        "name": column.name,
        "type": column.mysql_type,
        "nullable": column.nullable,
        "charset": column.charset if has_charset else None,
        "collation": collation if has_charset else None,
        "key": column.primary_key_position,
        "row_key": column.name in row_key,
        "invisible": column.invisible,
        "generated": generated,
    }


def shown(definition: TableDefinition) -> list[ColumnDefinition]:
    """The columns that INFORMATION_SCHEMA has: not the hidden ones of system versioning."""
    hidden = {"row_start", "row_end"}
    return [column for column in definition.columns if not (column.generated == column.name in hidden)]


@pytest.mark.parametrize("server", SERVERS)
def test_the_catalog_has_the_columns_that_the_server_has_after_each_statement(server: str) -> None:
    expected = expectations(server)
    modes = {case.sql: case.sql_mode for case in CASES}
    catalog = Catalog()
    known: dict[str, list[Any]] = {}
    for record in expected["statements"]:
        sql = record["sql"]
        if "error" in record:
            continue
        catalog.apply(sql, "ddl_a", context_of(expected, modes[sql]))
        for name, columns in record.get("tables", {}).items():
            db, table = name.split(".", 1)
            definition = catalog.lookup(db, table)
            if columns is None:
                known.pop(name, None)
                assert definition is None, sql
                continue
            known[name] = columns
            assert definition is not None, sql
            if definition.unknown is not None:
                assert "_ctas" in table, (sql, definition.unknown)
                continue
            server_says = [as_server_says(column) for column in columns]
            collations = {column["name"]: column["collation"] for column in server_says}
            binx_says = [
                as_binx_says(column, definition.row_key, collations.get(column.name))
                for column in shown(definition)
            ]
            assert binx_says == server_says, sql
        assert sorted(known) == sorted(f"{table.db}.{table.name}" for table in catalog), sql


@pytest.mark.parametrize("server", SERVERS)
def test_the_expectations_are_those_of_the_cases(server: str) -> None:
    recorded = [record["sql"] for record in expectations(server)["statements"]]
    assert recorded == [case.sql for case in CASES if case.is_for(server)]
    assert len(recorded) >= 150


@pytest.mark.parametrize("server", SERVERS)
def test_no_statement_that_a_server_took_is_left_not_understood(server: str) -> None:
    expected = expectations(server)
    modes = {case.sql: case.sql_mode for case in CASES}
    catalog = Catalog()
    for record in expected["statements"]:
        if "error" not in record:
            context = context_of(expected, modes[record["sql"]])
            changes = catalog.apply(record["sql"], "ddl_a", context)
            assert [change.reason for change in changes if change.reason] == [], record["sql"]
