"""The recipes of docs/merge.md give the rows that the server has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from binx.lake.at_moment import table_at
from binx.lake.table_changes import read_changes
from binx.spark import register
from tests.conftest import PROJECT, TESTDATA
from tests.exports import export
from tests.spark.test_catalog import Ask, comparable, ice, process

__all__ = ["ice", "process"]

SHOP = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.00*"))
COLUMNS = ["id", "customer_id", "total"]


def recipe(name: str) -> str:
    text = (PROJECT / "docs/merge.md").read_text("utf-8")
    found = re.search(rf"<!-- recipe {name} -->\n```python\n(.*?)```", text, re.S)
    assert found is not None
    return found[1]


def told(lake: Path, found: list[dict[str, Any]]) -> list[bool]:
    """Compare with the rows of the server, but for those of which a row image lacks columns."""
    images = read_changes(str(lake), "shop.orders", ["id", "_absent"]).read_all().to_pylist()
    partial = {row["id"] for row in images if row["_absent"]}
    rows = table_at(str(lake), "shop.orders", None).rows.select(COLUMNS).to_pylist()
    ours, theirs = (
        comparable([row for row in one if int(row["id"]) not in partial]) for one in (found, rows)
    )
    assert theirs
    assert ours == theirs
    return [len(found) == len(rows), len(ours) < len(found)]


def test_the_last_image_of_each_key_is_the_row(spark: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no data sources in Python")
    register(spark)
    export(tmp_path / "lake", SHOP)
    target = str(tmp_path / "orders")
    exec(recipe("max_by"), {"spark": spark, "lake": str(tmp_path / "lake"), "target": target})
    found = spark.read.parquet(target)
    assert not [name for name in found.columns if name.startswith("_")]
    rows = [row.asDict() for row in found.select(COLUMNS).collect()]
    assert told(tmp_path / "lake", rows) == [True, True]


def test_merge_brings_a_table_of_iceberg_up_to_each_batch(ice: Ask, tmp_path: Path) -> None:
    ice(sql="CREATE NAMESPACE ice.shop")
    ice(sql="CREATE TABLE ice.shop.orders (id DECIMAL(20,0), customer_id BIGINT, total DECIMAL(12,2))")
    read: list[int] = []
    for logs in (SHOP[:2], SHOP[:3], SHOP):
        export(tmp_path / "lake", logs)
        more = [int(path.suffix[1:]) for path in logs]
        new, read = [number for number in more if number not in read], more
        # A batch that is done again changes nothing.
        for _ in range(2):
            ice(merge=recipe("merge"), lake=tmp_path / "lake", table="shop.orders", logs=new)
        told(tmp_path / "lake", ice(sql="SELECT * FROM ice.shop.orders"))
