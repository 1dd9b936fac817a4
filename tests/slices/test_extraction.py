"""Extraction: which files are walked, where the search ends, and which rows are chosen."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binx.errors import AbsentError, RefusedError
from binx.event.gtid.sets import GtidSet
from binx.kernels.transactions.table import TransactionTable
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.rows.ddl.catalog import Catalog
from binx.slices.extraction import ExtractReport, extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.search import Search
from binx.undo.extract_undo import extract_undo
from binx.where.condition import Condition
from tests.conftest import SERVERS, SHOPS, TESTDATA
from tests.log import building as b


@pytest.fixture(scope="module")
def shop(testdata: Path) -> Path:
    return testdata / "mysql-9.7" / "shop"


@pytest.fixture(scope="module")
def demo(shop: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((shop / "demo.json").read_text("utf-8"))
    return found


def logs(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.glob("mysql-bin.0*"))


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are scanned."""
    names: list[str] = []
    tables_of = Scan.__iter__

    def noting(scan: Scan) -> Iterator[TransactionTable]:
        names.append(scan.file.name)
        return tables_of(scan)

    monkeypatch.setattr(Scan, "__iter__", noting)
    return names


def test_only_the_file_that_holds_the_gtid_is_walked(
    shop: Path, demo: dict[str, str], walked: list[str]
) -> None:
    with open_chain(logs(shop)) as chain:
        runs = list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert walked == [demo["file"]]
    assert [run.file.name for run in runs] == [demo["file"]]


def test_files_that_are_ruled_out_count_as_done(shop: Path, demo: dict[str, str]) -> None:
    """So that a bar whose whole is all files moves over them."""
    done: list[int] = []
    with open_chain(logs(shop), done.append) as chain:
        before = [ends.file.size for ends in chain if ends.file.name < demo["file"]]
        list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert before
    assert done[: len(before)] == before


def test_a_file_is_walked_where_the_next_one_is_not_there_to_rule_it_out(
    shop: Path, demo: dict[str, str], walked: list[str]
) -> None:
    paths = [path for path in logs(shop) if not path.endswith("2")]
    with open_chain(paths) as chain:
        list(Search(chain, Selection(gtids=GtidSet.parse(demo["gtid"]))).runs())
    assert walked == ["mysql-bin.000001", "mysql-bin.000003"]


def test_gtids_that_are_missing_everywhere_are_reported(
    shop: Path, demo: dict[str, str], tmp_path: Path
) -> None:
    source = demo["gtid"].partition(":")[0]
    wanted = GtidSet.parse(f"{demo['gtid']},{source}:99990-99999")
    with open_chain(logs(shop)) as chain:
        report = extract(chain, Selection(gtids=wanted), str(tmp_path / "one.binlog"))
    assert report.transactions == 1
    assert str(report.absent_gtids) == f"{source}:99990-99999"
    assert report.bytes == (tmp_path / "one.binlog").stat().st_size


@pytest.mark.parametrize("form", [SliceFormat.BINLOG, SliceFormat.SQL])
def test_where_nothing_is_found_nothing_is_written(shop: Path, tmp_path: Path, form: SliceFormat) -> None:
    selection = Selection(gtids=GtidSet.parse("00000000-0000-0000-0000-000000000001:1"))
    with open_chain(logs(shop)) as chain, pytest.raises(AbsentError, match=r"not in these files: 0{8}-"):
        extract(chain, selection, str(tmp_path / "none"), ExtractOptions(format=form))
    assert list(tmp_path.iterdir()) == []


def test_a_limit_ends_the_search(shop: Path, walked: list[str]) -> None:
    with open_chain(logs(shop)) as chain:
        runs = list(Search(chain, Selection(limit=5)).runs())
    assert walked == ["mysql-bin.000001"]
    assert sum(bytes(run.mask or b"").count(1) for run in runs) == 5


def test_names_come_from_ddl_before_the_wanted_transaction(testdata: Path, tmp_path: Path) -> None:
    """MariaDB's second log has no names in it: they are in the first log's CREATE TABLE."""
    shop = testdata / "mariadb-10.11" / "shop"
    with open_chain(logs(shop)) as chain:
        second = next(Search(chain, Selection()).selected())
        first_gtid = second.table.gtid(len(second.table) - 1)
        assert first_gtid is not None
        number = int(first_gtid.rpartition("-")[2])
        wanted = GtidSet.parse(f"{first_gtid},0-10-{number + 1}..{number + 40}")
        extract(
            chain,
            Selection(gtids=wanted, tables=("shop.orders",)),
            str(tmp_path / "out.sql"),
            ExtractOptions(format=SliceFormat.SQL),
        )
    text = (tmp_path / "out.sql").read_text("utf-8")
    assert "`customer_id`" in text
    assert "`c1`" not in text


EVERYTHING = Selection()
ORDERS = Selection(tables=("shop.orders",))


def logs_of(server: str) -> list[str]:
    return [str(path) for path in SHOPS[server]]


def run(
    logs: list[str], tmp_path: Path, selection: Selection, *, reverse: bool = False, **options: Any
) -> tuple[str, ExtractReport]:
    target, write = tmp_path / "out", extract_undo if reverse else extract
    with open_chain(logs) as chain:
        report = write(chain, selection, str(target), ExtractOptions(**options))
    return target.read_text(), report


def rows(logs: list[str], tmp_path: Path, selection: Selection, **options: Any) -> list[dict[str, Any]]:
    text, _ = run(logs, tmp_path, selection, format=SliceFormat.JSON, rows=True, **options)
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("server", SERVERS)
def test_only_the_rows_of_the_tables_asked_for_are_written(server: str, tmp_path: Path) -> None:
    every = rows(logs_of(server), tmp_path, EVERYTHING)
    touching = rows(logs_of(server), tmp_path, ORDERS)
    chosen = rows(logs_of(server), tmp_path, ORDERS, only_matching=True)
    assert {row["table"] for row in touching} > {"orders"}
    assert chosen == [row for row in every if (row["db"], row["table"]) == ("shop", "orders")]


@pytest.mark.parametrize("operations", [{"delete"}, {"insert", "update"}])
@pytest.mark.parametrize("server", SERVERS)
def test_only_the_operations_asked_for_are_written(server: str, operations: set[str], tmp_path: Path) -> None:
    every = rows(logs_of(server), tmp_path, EVERYTHING)
    chosen = rows(logs_of(server), tmp_path, EVERYTHING, operations=frozenset(operations))
    assert chosen == [row for row in every if row["type"] in operations]


@pytest.mark.parametrize("server", SERVERS)
def test_only_images_that_match_the_condition_are_written(server: str, tmp_path: Path) -> None:
    every = rows(logs_of(server), tmp_path, EVERYTHING)
    options = {"where": Condition("status = 'paid'"), "only_matching": True}
    chosen = rows(logs_of(server), tmp_path, EVERYTHING, **options)
    images = [(row.get("before", {}), row.get("after", {}), row) for row in every]
    assert chosen == [
        row for before, after, row in images if "paid" in (before.get("status"), after.get("status"))
    ]


@pytest.mark.parametrize("server", SERVERS)
def test_a_condition_compares_text_of_any_character_set_and_members_by_name(
    server: str, tmp_path: Path
) -> None:
    log = [str(TESTDATA / server / "small" / "charsets.binlog")]
    every = rows(log, tmp_path, EVERYTHING)
    found = next(
        (name, value, row)
        for row in every
        for name, value in row.get("after", {}).items()
        if isinstance(value, str) and not value.isascii() and "'" not in value and "\\" not in value
    )
    name, value, row = found
    condition = Condition(f"`{name}` = '{value}'")
    selection = Selection(tables=(f"{row['db']}.{row['table']}",))
    assert row in rows(log, tmp_path, selection, where=condition, only_matching=True)


def test_transactions_without_a_chosen_row_have_no_line_and_no_statement(tmp_path: Path) -> None:
    options: dict[str, Any] = {"only_matching": True, "operations": frozenset({"delete"})}
    logs = logs_of("mysql-9.7")
    lines, report = run(logs, tmp_path, ORDERS, format=SliceFormat.JSON, **options)
    documents = [json.loads(line) for line in lines.splitlines()]
    assert all(document["changes"] and not document["sql_statements"] for document in documents)
    text, report = run(logs, tmp_path, ORDERS, format=SliceFormat.SQL, **options)
    assert report.transactions == len(documents) == text.count("\nBEGIN;\n")
    assert any("statements left out" in warning for warning in report.warnings)


@pytest.mark.parametrize("server", SERVERS)
def test_sql_says_that_transactions_are_not_whole_and_takes_no_gtid(server: str, tmp_path: Path) -> None:
    text, _ = run(logs_of(server), tmp_path, ORDERS, format=SliceFormat.SQL, only_matching=True)
    assert "-- Only chosen rows: transactions are not whole and have no GTIDs" in text
    assert "gtid" not in text.partition("Only chosen rows")[2].lower().replace("have no gtids", "")
    whole, _ = run(logs_of(server), tmp_path, ORDERS, format=SliceFormat.SQL)
    assert "Only chosen rows" not in whole


def test_undo_is_of_the_chosen_rows_alone(tmp_path: Path) -> None:
    logs = logs_of("mysql-9.7")[:1]
    changed = Counter(row["type"] for row in rows(logs, tmp_path, ORDERS, only_matching=True))
    options = {"format": SliceFormat.SQL, "statement_bytes": 1}
    text, _ = run(logs, tmp_path, ORDERS, reverse=True, only_matching=True, **options)
    statements = Counter(re.findall(r"^(INSERT|UPDATE|DELETE) .*`shop`\.`orders`", text, re.MULTILINE))
    assert statements == {
        "DELETE": changed["insert"],
        "UPDATE": changed["update"],
        "INSERT": changed["delete"],
    }
    assert not re.search(r"^(INSERT INTO|UPDATE|DELETE FROM) `shop`.`order_items`", text, re.MULTILINE)
    assert "-- Only chosen rows" in text


@pytest.mark.parametrize("reverse", [False, True])
def test_databases_get_other_names_in_sql(reverse: bool, tmp_path: Path) -> None:
    logs = logs_of("mysql-9.7")[: 1 if reverse else None]
    options: dict[str, Any] = {"format": SliceFormat.SQL, "databases": {"shop": "co`py"}}
    selection = ORDERS if reverse else EVERYTHING
    text, report = run(logs, tmp_path, selection, reverse=reverse, only_matching=reverse, **options)
    assert not re.search(r"^(INSERT INTO|UPDATE|DELETE FROM) `shop`", text, re.MULTILINE)
    assert "`co``py`.`orders`" in text
    if not reverse:
        assert "USE `co``py`;" in text
        assert any(warning.startswith("statements whose text names shop") for warning in report.warnings)


IN_THE_WAY = {
    "TRUNCATE TABLE orders": True,
    "ALTER TABLE shop.orders ADD c INT": True,
    "RENAME TABLE orders TO old": True,
    "UPDATE orders SET a = 1": True,
    "DROP DATABASE shop": True,
    "CREATE OR REPLACE TABLE orders (id INT)": True,
    "CREATE TABLE orders (id INT PRIMARY KEY)": False,
    "ALTER TABLE other ADD c INT": False,
    "TRUNCATE other": False,
    "GRANT SELECT ON shop.orders TO someone": False,
}


@pytest.mark.parametrize(("sql", "refused"), IN_THE_WAY.items())
def test_chosen_rows_are_not_undone_across_statements_on_their_table(
    sql: str, refused: bool, tmp_path: Path
) -> None:
    log, target = tmp_path / "mysql-bin.000001", tmp_path / "undo.sql"
    rows = [b.BEGIN, b.table_map(), b.rows(1), b.xid()]
    log.write_bytes(b.whole_log(b.gtid(1), *rows, b.gtid(2), b.query(sql), b.STOP))
    tables = Catalog()
    tables.load_dump("CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY);")
    options = ExtractOptions(format=SliceFormat.SQL, only_matching=True)
    with open_chain([str(log)]) as chain:
        if refused:
            with pytest.raises(RefusedError, match="cannot be undone"):
                extract_undo(chain, ORDERS, str(target), options, tables)
        else:
            extract_undo(chain, ORDERS, str(target), options, tables)
            assert target.read_text().count("DELETE FROM `shop`.`orders`") == 1
