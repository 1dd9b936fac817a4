"""The SQL of ``docs/spark.md`` runs as it stands, and both engines give the same answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import duckdb
import pytest

from binx.spark.lake.run import LoadOptions, load
from tests.conftest import PROJECT, TESTDATA
from tests.spark.test_shop import export

BLOCK = re.compile(r"^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
TEXT = (PROJECT / "docs" / "spark.md").read_text("utf-8")
STATEMENTS = [one.strip() for block in BLOCK.findall(TEXT) for one in block.split(";") if one.strip()]


@pytest.fixture(scope="module")
def engines(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[str], Any]]:
    """Both engines with the views of a load."""
    folder = tmp_path_factory.mktemp("page")
    export(sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*")), folder / "lake")
    options = LoadOptions((str(folder / "lake"),), str(folder / "tables"), ("shop.orders",), scd2=True)
    load(options, lambda: nullcontext(spark))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute((folder / "tables/views.sql").read_text("utf-8"))
    for statement in (folder / "tables/views.spark.sql").read_text("utf-8").split(";\n"):
        if statement.strip():
            spark.sql(statement)

    def with_spark(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.sql(sql.replace("shop.", "shop_")).collect()]

    return {"spark": with_spark, "duckdb": lambda sql: connection.execute(sql).fetchall()}


@pytest.mark.parametrize("sql", STATEMENTS, ids=lambda sql: " ".join(sql.split())[:40])
def test_a_query_of_the_page_has_one_answer(sql: str, engines: dict[str, Callable[[str], Any]]) -> None:
    found = engines["spark"](sql)
    assert found
    assert found == engines["duckdb"](sql)


def test_history_and_versions_agree_on_the_past(engines: dict[str, Callable[[str], Any]]) -> None:
    from_history, from_versions = STATEMENTS[-2:]
    assert engines["duckdb"](from_history) == engines["duckdb"](from_versions)
