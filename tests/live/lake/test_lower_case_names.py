"""With lower_case_table_names=1, logs name the tables of rows in lower case, in statements as written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.lake.options import LoadOptions
from binx.spark.load_run import load
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.cli.process import binx
from tests.live.logs import log_of, needed
from tests.live.tables_at_end import differences

FOLDING = "--lower-case-table-names=1"

STATEMENTS = """
CREATE DATABASE Shop; CREATE TABLE Shop.Orders (Id INT PRIMARY KEY, V INT);
INSERT INTO Shop.Orders VALUES (1, 1), (2, 2);
USE Shop; ALTER TABLE oRDERS ADD COLUMN W INT DEFAULT 7; UPDATE ORDERS SET v = 5 WHERE id = 1;
RENAME TABLE ORDERS TO Orders2; INSERT INTO orders2 VALUES (3, 3, 3);
CREATE INDEX k ON OrderS2 (v); DELETE FROM Orders2 WHERE id = 2;
CREATE TABLE Other (id INT PRIMARY KEY); INSERT INTO other VALUES (1); TRUNCATE OTHER
"""


class FoldingMySQL(MySQLServer):
    """MySQL takes the option only from the beginning."""

    def _folder_options(self) -> list[str]:
        return [*super()._folder_options(), FOLDING]


@pytest.fixture(scope="module", params=["mysql", "mariadb"])
def folding(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("server")
    server: Server
    if request.param == "mysql":
        needed(MySQLServer)
        server = FoldingMySQL(folder)
        server.initialize()
    else:
        server = needed(MariaDBServer)(folder, (FOLDING,))
    with server:
        server.reset()
        log_of(server, STATEMENTS)
        yield server


def printed(server: Server) -> list[str]:
    """The rows as CSV has them."""
    rows = server.query(
        "SELECT CAST(id AS CHAR), CAST(v AS CHAR), CAST(w AS CHAR) FROM shop.orders2 ORDER BY 1"
    )
    return ['"Id","V","W"', *(",".join(f'"{value}"' for value in row) for row in rows)]


def test_a_table_is_followed_through_all_spellings(folding: Server, tmp_path: Path) -> None:
    logs = folding.binlogs()[:-1]
    assert binx("to-parquet", *logs, "-o", tmp_path / "lake").code == 0
    for place in (logs, [tmp_path / "lake"]):
        ended = binx("state", *place, "--table", "shop.orders2", "--format", "csv", "-o", "-")
        assert (ended.code, ended.lines) == (0, printed(folding))
    asked = binx("state", *logs, "--table", "Shop.Orders2", "--format", "csv", "-o", "-")
    assert (asked.code, "did you mean shop.orders2?" in asked.err) == (4, True)


def test_loads_have_the_tables_of_the_server(folding: Server, tmp_path: Path, spark: Any) -> None:
    lake, output = tmp_path / "lake", tmp_path / "tables"
    assert binx("to-parquet", *folding.binlogs()[:-1], "-o", lake).code == 0
    summary = load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
    assert (summary.exit_code, differences(folding, "shop", output)) == (0, ([], 0))


def test_a_table_is_selected_by_the_name_of_its_rows(folding: Server) -> None:
    listed = binx("ls", "--json", "--table", "shop.orders", *folding.binlogs()[:-1]).lines
    rows = [json.loads(line)["rows"] for line in listed]
    assert [count for count in rows if count] == [2, 1]
