"""SQL about logs, data sets and loaded tables."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import binx as library
from binx.lake.state.json_records import to_json
from binx.lake.state.loaded_state import LifeRecord, Loss, State
from binx.lake.table_name import TableName
from tests.cli.conftest import Shop
from tests.cli.process import binx, binx_with, on_terminal

KINDS = "SELECT _change_type, count(*) AS n FROM shop.orders GROUP BY ALL ORDER BY ALL"


@pytest.fixture(scope="module")
def lake(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of the shop, with views."""
    folder = tmp_path_factory.mktemp("query") / "lake"
    assert binx("to-parquet", "--views", "--statements", "text", *shop.logs, "-o", folder).code == 0
    return folder


def answer(sql: str, *source: str | Path, code: int = 0) -> list[dict[str, object]]:
    done = binx("query", "--json", sql, *source)
    assert done.code == code, done.err
    return [json.loads(line) for line in done.lines]


def test_changes_are_as_many_as_statistics_count(shop: Shop, lake: Path) -> None:
    figures = json.loads(binx("stats", "--json", *shop.logs).out)
    orders = next(one for one in figures["tables"] if (one["db"], one["table"]) == ("shop", "orders"))
    expected = [
        {"_change_type": "delete", "n": orders["deletes"]},
        {"_change_type": "insert", "n": orders["inserts"]},
        {"_change_type": "update_postimage", "n": orders["updates"]},
        {"_change_type": "update_preimage", "n": orders["updates"]},
    ]
    assert answer(KINDS, *shop.logs) == expected
    assert answer(KINDS, lake) == expected


def test_the_transactions_are_those_that_are_listed(shop: Shop, lake: Path) -> None:
    listed = [json.loads(line) for line in binx("ls", "--json", *shop.logs).lines]
    expected = [{"gtid": one["gtid"], "bytes": one["bytes"], "rows": one["rows"]} for one in listed]
    sql = "SELECT gtid, bytes, rows FROM transactions ORDER BY commit_version"
    assert answer(sql, *shop.logs) == answer(sql, lake) == expected


def test_the_statements_of_logs_are_those_of_a_data_set(shop: Shop, lake: Path) -> None:
    sql = "SELECT position, kind, sql, options, thread_id FROM statements ORDER BY commit_version, ordinal"
    statements = answer(sql, *shop.logs)
    assert {one["kind"] for one in statements} == {"ddl", "dml", "other", "rows"}
    assert statements == answer(sql, lake)


@pytest.mark.parametrize("moment", ["", "2026-11-21 09:48:53", "mysql-bin.000002:63824"])
def test_a_state_is_what_the_command_writes(shop: Shop, lake: Path, moment: str, tmp_path: Path) -> None:
    at = ["--at", moment] if moment else []
    written = tmp_path / "orders.parquet"
    binx("state", "--table", "shop.orders", *at, *shop.logs, "-o", written)
    rows = pq.read_table(written)
    expected = [{"n": rows.num_rows, "first": min(rows["id"].to_pylist())}]
    argument = f", '{moment}'" if moment else ""
    sql = f"SELECT count(*) AS n, min(id) AS first FROM state('shop.orders'{argument})"
    assert answer(sql, *shop.logs) == expected
    assert answer(sql, lake) == expected


def test_what_a_state_lacks_is_a_loss(lake: Path) -> None:
    done = binx("query", "SELECT count(*) FROM state('shop.lottery')", lake)
    assert done.code == 3
    assert "binx: warning: shop.lottery is incomplete: changes logged as statements" in done.err


def test_tables_are_joined_with_themselves_and_others(shop: Shop) -> None:
    sql = (
        "SELECT count(*) AS n FROM shop.orders"
        " JOIN shop.orders AS again USING (_commit_version, _row, _change_type)"
        " JOIN transactions ON commit_version = _commit_version"
    )
    assert answer(sql, *shop.logs) == answer("SELECT count(*) AS n FROM shop.orders", *shop.logs)


def test_loaded_tables_are_found_where_they_are_now(shop: Shop, lake: Path, tmp_path: Path) -> None:
    moved = tmp_path / "it's moved"
    shutil.copytree(lake, moved)
    (moved / "_manifest").rename(tmp_path / "manifest")
    (moved / "_state.json").write_bytes(to_json(State()))
    history = KINDS.replace("shop.orders", "shop.orders_history")
    assert answer(history, moved) == answer(KINDS, *shop.logs)
    (moved / "_state.json").write_bytes(to_json(State(catalog="lakes.raw")))
    done = binx("query", KINDS, moved)
    assert (done.code, done.out) == (4, "")
    assert done.err.endswith("; rows are in tables of the catalog lakes.raw\n")


@pytest.mark.parametrize(
    ("sql", "is_told"),
    [
        ("SELECT count(*) FROM shop.orders_history AS o JOIN shop.customers_history c ON c.id = o.id", True),
        ('SELECT count(*) FROM "Shop"."Orders_History"', True),
        ("EXPLAIN SELECT 1 IN (SELECT id FROM memory.shop.orders_history)", True),
        ("PIVOT shop.orders_history ON status USING count(*)", True),
        ("SELECT count(*) FROM shop.order_items_history -- orders", False),
        ("WITH orders_history AS (SELECT 'shop.orders') FROM orders_history", False),
        ("SELECT count(orders.id) FROM shop.customers_history AS orders", False),
    ],
)
def test_what_a_loaded_table_lacks_is_reported_if_a_query_names_it(
    lake: Path, sql: str, is_told: bool
) -> None:
    loaded = lake.parent / "loaded"
    if not loaded.exists():
        shutil.copytree(lake, loaded)
        (loaded / "_manifest").rename(lake.parent / "manifest of loaded")
        records = {"a": LifeRecord(TableName("shop", "orders"), losses=(Loss("a log is missing"),))}
        (loaded / "_state.json").write_bytes(to_json(State(records=records)))
    done = binx("query", sql, loaded)
    assert (done.code, done.err) == (
        (3, "binx: warning: shop.orders is incomplete: a log is missing\n") if is_told else (0, "")
    )


def test_a_selection_is_of_the_transactions(shop: Shop) -> None:
    gtid = shop.demo["gtid"]
    done = binx("query", "--gtid", gtid, "--json", "SELECT gtid FROM transactions", *shop.logs)
    assert done.lines == [json.dumps({"gtid": gtid}, separators=(",", ":"))]
    missing = gtid.rpartition(":")[0] + ":4711"
    done = binx("query", "--gtid", missing, "--json", "SELECT gtid FROM transactions", *shop.logs)
    assert (done.code, done.out) == (4, "")
    assert missing in done.err


def test_rows_are_written_as_csv_and_parquet(shop: Shop, tmp_path: Path) -> None:
    sql = "SELECT id, title, description, opens, price FROM shop.products"
    done = binx("query", "--format", "csv", sql, *shop.logs)
    names, *rows = csv.reader(io.StringIO(done.out))
    assert done.code == 0
    output = tmp_path / "products.parquet"
    assert binx("query", sql, *shop.logs, "-o", output).code == 0
    table = pq.read_table(output)
    with library.open(shop.logs) as log:
        changes = log.changes("shop.products", columns=names).read_all()
    assert table.to_pylist() == changes.to_pylist()
    prices = ["" if price is None else str(price) for price in changes["price"].to_pylist()]
    assert [row[-1] for row in rows] == prices
    assert {"838:59:59", "-838:59:59"} & {row[3] for row in rows}


def test_an_output_that_ends_otherwise_is_refused(shop: Shop, tmp_path: Path) -> None:
    done = binx("query", "SELECT 1 AS a", shop.logs[0], "-o", tmp_path / "a.xlsx")
    assert (done.code, list(tmp_path.iterdir())) == (2, [])
    assert "found .xlsx; or choose its --format" in done.err
    assert binx("query", "SELECT 1 AS a", shop.logs[0], "-o", tmp_path / "a.TSV").code == 0
    assert (tmp_path / "a.TSV").read_text() == "a\n1\n"


def test_numbers_that_json_does_not_have_are_null(shop: Shop) -> None:
    sql = 'SELECT 1.0 / 0 AS a, \'nan\'::FLOAT AS "b""", 0.5::DOUBLE AS c'
    assert answer(sql, shop.logs[0]) == [{"a": None, 'b"': None, "c": 0.5}]


def test_a_terminal_gets_columns_and_a_pipe_lines(shop: Shop) -> None:
    piped = binx("query", KINDS, *shop.logs)
    assert piped.lines[0] == "_change_type\tn"
    shown = on_terminal("query", KINDS, *shop.logs, width=80)
    assert shown.lines[0].split()[-1] == "n\x1b[0m"
    assert [line.split() for line in shown.lines[1:]] == [line.split() for line in piped.lines[1:]]
    wide = on_terminal("query", "FROM shop.orders LIMIT 1", *shop.logs, width=80)
    assert wide.lines[:2] == ["row 1", "  _change_type       insert"]


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("FROM shop.ordrs", 4, 'name ordrs does not exist! Did you mean "orders"?'),
        ("SELECT nothing FROM shop.orders", 2, '"nothing" not found'),
        ("SELEC 1", 2, "syntax error"),
        ("SELECT 1; SELECT 2", 2, "expected one query"),
        ("COPY (SELECT 1) TO 'x.csv'", 2, "expected one query"),
        ("SELECT 'x'::INT", 1, "Could not convert string 'x'"),
        ("FROM state('shop.' || lower('ORDERS'))", 4, "expected two texts in state()"),
        ("FROM state('shop.nothing')", 4, "there is no table shop.nothing"),
        (
            "FROM state('shop.orders', 'then')",
            2,
            "expected a moment: a time, a GTID or FILE:POS, found 'then'",
        ),
        (
            "FROM state('shop.orders', '4711')",
            2,
            "expected a moment: a time, a GTID or FILE:POS, found '4711'",
        ),
    ],
)
def test_a_wrong_query_is_reported(shop: Shop, sql: str, code: int, message: str, tmp_path: Path) -> None:
    done = binx("query", sql, *shop.logs, cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "LINE" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_log_ends_a_query_with_its_error(shop: Shop, tmp_path: Path) -> None:
    damaged = tmp_path / shop.logs[0].name
    data = bytearray(shop.logs[0].read_bytes())
    data[200_000] ^= 0xFF
    damaged.write_bytes(data)
    done = binx("query", "SELECT count(*) FROM transactions", damaged)
    assert (done.code, done.out) == (1, "")
    assert f"binx: error: {damaged}, offset " in done.err
    assert "checksum" in done.err


def test_a_selection_of_a_data_set_is_refused(lake: Path) -> None:
    done = binx("query", "--limit", "3", "FROM transactions", lake)
    assert done.code == 2
    assert "use SQL" in done.err


def test_without_duckdb_the_extra_is_named(shop: Shop) -> None:
    done = binx_with("sys.modules['duckdb'] = None", "query", "SELECT 1", shop.logs[0])
    assert done.code == 1
    assert "pip install 'binx-binlog[query]'" in done.err
