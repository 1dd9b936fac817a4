"""The catalog follows schema statements exactly as MySQL and MariaDB do.

The expected columns are what the servers' INFORMATION_SCHEMA said after each statement
(make_expected.py asks them again).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from binx.rows.columns.schema import StatementContext
from binx.rows.ddl.catalog import Catalog
from tests.rows.ddl.cases import CASES
from tests.rows.described import binx_says, server_says

SQL_MODES = {
    "": 0,
    "REAL_AS_FLOAT": 0x1,
    "ANSI_QUOTES": 0x4,
    "ORACLE": 0x200 | 0x4 | 0x2,
    "NO_BACKSLASH_ESCAPES": 0x100000,
    "NO_ENGINE_SUBSTITUTION": 0x40000000,
    "IGNORE_BAD_TABLE_OPTIONS": 0x40000000 << 1,
}
SERVERS = ["mysql", "mariadb"]


def expectations(server: str) -> dict[str, Any]:
    path = Path(__file__).with_name(f"expected_{server}.json")
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
            assert binx_says(definition, columns) == server_says(columns), sql
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
