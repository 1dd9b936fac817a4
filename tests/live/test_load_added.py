"""Columns that ALTER TABLE adds: rows that were there have in ``current/`` what SELECT shows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.dataset.parquet import to_parquet
from binx.log.chain.inputs import open_chain
from binx.spark.lake.run import LoadOptions
from binx.spark.lake.run import load as run_load
from testdata.servers import Server
from tests.live.lake_tables import differences
from tests.live.test_absent_columns import COLUMNS
from tests.spark.conftest import spark  # noqa: F401 - a fixture

LEFT_OUT = ("DATE NOT NULL", "DATETIME(3) NOT NULL", "'0000-00-00", "'2020-00-00'", "x'00FF'")
"""Zero and partial dates, which are not filled in; and what MariaDB cannot show in CREATE TABLE as text."""

TYPES = [
    text
    for line in COLUMNS.split("\n")
    for text in line.split("|")
    if text and not any(part in text for part in LEFT_OUT)
]
ADDED = ", ".join(f"ADD COLUMN c{number} {text}" for number, text in enumerate(TYPES))

BEFORE = "CREATE TABLE added.t (id INT PRIMARY KEY, v INT); INSERT INTO added.t VALUES (1, 1), (2, 2), (3, 3)"
AFTER = (
    f"SET sql_mode = ''; ALTER TABLE added.t {ADDED};"
    # What new rows get later is nothing to those that are there.
    " ALTER TABLE added.t ALTER c0 SET DEFAULT 99, ALTER c1 DROP DEFAULT;"
    " INSERT INTO added.t (id, v, c1) VALUES (4, 4, 1); UPDATE added.t SET v = 20, c0 = 21 WHERE id = 2;"
    " ALTER TABLE added.t RENAME COLUMN c2 TO renamed; DELETE FROM added.t WHERE id = 3"
)
LATER = (
    "SET sql_mode = ''; INSERT INTO added.t (id, v, c1) VALUES (5, 5, 1);"
    " UPDATE added.t SET v = 10 WHERE id = 1;"
    " ALTER TABLE added.t ADD at DATETIME(6) DEFAULT NOW(6); INSERT INTO added.t (id, v, c1) VALUES (6, 6, 1)"
)
"""When the server worked out a default, no log tells."""


@pytest.mark.parametrize(("image", "loads"), [("FULL", "one by one"), ("MINIMAL", "at once")])
def test_rows_from_before_a_column_have_the_value_that_the_server_gave_them(
    server: Server,
    image: str,
    loads: str,
    tmp_path: Path,
    spark: Any,  # noqa: F811 - the fixture
) -> None:
    server.sql(f"DROP DATABASE IF EXISTS added; CREATE DATABASE added; SET GLOBAL binlog_row_image = {image}")
    lake, output = tmp_path / "lake", tmp_path / "tables"

    def check(unknown: int) -> None:
        run_load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
        assert differences(server, "added", output) == ([], unknown)

    server.flush_logs()
    for statements, unknown in ((BEFORE, 0), (AFTER, 0), (LATER, 4)):
        server.sql(statements)
        server.flush_logs()
        with open_chain([str(server.binlogs()[-2])]) as chain:
            list(to_parquet([ends.file for ends in chain], lake))
        if loads == "one by one":
            check(unknown)
    if loads == "at once":
        check(4)
    server.sql("SET GLOBAL binlog_row_image = FULL")
