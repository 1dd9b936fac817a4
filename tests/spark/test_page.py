"""The SQL of ``docs/spark.md`` runs as it stands, and both engines give the same answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from binx.spark.loading.arguments import parse_arguments
from binx.spark.loading.run import load_tables
from tests.conftest import PROJECT, TESTDATA
from tests.spark.test_shop import export

BLOCK = re.compile(r"^```sql ?(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def statements(engine: str) -> list[str]:
    """Those of the page that are for one engine, or for both where the name is empty."""
    text = (PROJECT / "docs" / "spark.md").read_text("utf-8")
    blocks = [sql for of, sql in BLOCK.findall(text) if of == engine]
    return [one.strip() for block in blocks for one in block.split(";") if one.strip()]


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the page calls ``tables``."""
    folder = tmp_path_factory.mktemp("page")
    shop = TESTDATA / "mysql-9.7" / "shop"
    export(sorted(shop.glob("mysql-bin.0*")), folder / "lake")
    arguments = ["--input", str(folder / "lake"), "--output", str(folder / "tables"), "--scd2"]
    load_tables(spark, parse_arguments([*arguments, "--table", "shop.orders"]))
    return folder / "tables"


@pytest.fixture(scope="module")
def engines(spark: Any, tables: Path) -> dict[str, Callable[[str], list[tuple[Any, ...]]]]:
    """Both engines with the page's views."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")

    def with_spark(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(sql).collect()]

    def with_duckdb(sql: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql).fetchall()

    for name, run in (("spark", with_spark), ("duckdb", with_duckdb)):
        for statement in statements(name):
            run(statement.replace("'tables/", f"'{tables}/"))
    return {"spark": with_spark, "duckdb": with_duckdb}


@pytest.mark.parametrize("sql", statements(""), ids=lambda sql: " ".join(sql.split())[:40])
def test_a_query_of_the_page_has_one_answer(
    sql: str, engines: dict[str, Callable[[str], list[tuple[Any, ...]]]]
) -> None:
    found = engines["spark"](sql)
    assert found
    assert found == engines["duckdb"](sql)


def test_history_and_versions_agree_on_the_past(
    engines: dict[str, Callable[[str], list[tuple[Any, ...]]]],
) -> None:
    from_history, from_versions = statements("")[-2:]
    assert engines["duckdb"](from_history) == engines["duckdb"](from_versions)
