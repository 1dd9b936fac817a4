"""``--exclude-table``: what touches only these tables is not selected, and their rows are left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx

EXCLUDED = "--exclude-table", "shop.products"


def tables_of(*arguments: object) -> list[set[str]]:
    """The tables of each transaction that is listed."""
    ended = binx("ls", "--json", *map(str, arguments))
    return [
        {f"{table['db']}.{table['table']}" for table in json.loads(line)["tables"]} for line in ended.lines
    ]


def test_transactions_that_touch_no_other_table_are_left_out(shop: Shop) -> None:
    wanted = [tables for tables in tables_of(*shop.logs) if tables != {"shop.products"}]
    assert tables_of(*EXCLUDED, *shop.logs) == wanted
    assert any("shop.products" in tables for tables in wanted)


def test_patterns_exclude_all_tables_that_match(shop: Shop) -> None:
    wanted = [
        tables
        for tables in tables_of(*shop.logs)
        if not tables or any(not name.startswith("shop.order") for name in tables)
    ]
    assert tables_of("--exclude-table", "shop.order*", *shop.logs) == wanted


def test_sql_has_no_statement_about_the_table(shop: Shop) -> None:
    whole = binx("extract", "--format", "sql", *shop.logs, "-o", "-").out
    slice_ = binx("extract", "--format", "sql", *EXCLUDED, *shop.logs, "-o", "-").out
    for text in ("INSERT INTO `shop`.`{}`", "CREATE TABLE {} "):
        assert text.format("products") in whole
        assert text.format("products") not in slice_
        assert text.format("orders") in slice_


def test_json_has_no_row_of_the_table(shop: Shop) -> None:
    def tables(*arguments: str) -> set[str]:
        lines = binx("extract", "--format", "json", "--rows", *arguments, *shop.logs, "-o", "-").lines
        return {str(json.loads(line).get("table")) for line in lines}

    assert tables(*EXCLUDED) == tables() - {"products"} != tables()


def test_json_has_statements_about_other_tables(shop: Shop) -> None:
    def made(*arguments: str) -> set[str]:
        lines = binx("extract", "--format", "json", *arguments, *shop.logs, "-o", "-").lines
        statements = (statement["sql"] for line in lines for statement in json.loads(line)["sql_statements"])
        return {sql.split()[2] for sql in statements if sql.startswith("CREATE TABLE")}

    assert made(*EXCLUDED) == made() - {"products"} != made()


@pytest.mark.parametrize("form", ["sql", "binlog"])
def test_undo_leaves_the_table_as_it_is(shop: Shop, form: str, tmp_path: Path) -> None:
    gtid = next(
        transaction["gtid"]
        for line in binx("ls", "--json", "--table", "shop.products", "--kind", "dml", *shop.logs).lines
        if len((transaction := json.loads(line))["tables"]) > 1
    )
    undo = tmp_path / "undo"
    made = binx(
        "extract", "--reverse", "--format", form, "--gtid", gtid, *EXCLUDED, *shop.logs, "-o", str(undo)
    )
    assert made.code == 0
    if form == "sql":
        assert "`products` SET" not in undo.read_text()
        assert "UPDATE `shop`.`orders`" in undo.read_text()
    else:
        ((*_, tables),) = [tables_of(undo)]
        assert tables
        assert "shop.products" not in tables


def test_binary_logs_have_whole_transactions(shop: Shop, tmp_path: Path) -> None:
    ended = binx("extract", *EXCLUDED, *shop.logs, "-o", str(tmp_path / "slice"))
    assert ended.code == 2
    assert "--exclude-table applies only to --format sql and json, not binlog" in ended.err


def test_data_sets_have_no_rows_of_the_table(shop: Shop, tmp_path: Path) -> None:
    assert binx("to-parquet", *EXCLUDED, *shop.logs, "-o", str(tmp_path / "lake")).code == 0
    tables = {folder.name for folder in (tmp_path / "lake" / "changes" / "shop").iterdir()}
    assert "products" not in tables
    assert "orders" in tables


def test_a_name_that_no_log_has_is_not_taken_for_a_table_without_rows(shop: Shop, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    ended = binx("to-parquet", "--exclude-table", "shop.prodcuts", *shop.logs, "-o", lake)
    assert ended.code == 3
    assert "no table shop.prodcuts in the logs of the data set; did you mean shop.products?" in ended.err
