"""Moments with an offset in conditions choose the rows that a server's SELECT chooses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.extract import ExtractOptions, SliceFormat, extract
from binx.where.condition import Condition
from testdata.servers import MySQLServer

# Not IN and BETWEEN, in which MySQL 9.7 leaves the offset out of account.
CONDITIONS = [
    "ts = '2026-01-01 00:00:00+02:00'",
    "ts >= '2026-01-01 00:00:00+02:00'",
    "ts < '2026-01-01 00:00:00-11:30'",
    "ts <> '2025-12-31 22:00:00.000001+00:00'",
    "ts >= '2025-12-31 22:00:00+00:00' AND ts <= '2026-01-01 14:00:00+14:00'",
    "ts = '2026-01-01 05:30:00.5+05:30' OR ts = '2025-12-31 10:01:00-13:59'",
    "ts > TIMESTAMP '2026-01-01 00:00:00+02:00'",
]


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer) -> list[Path]:
    """Logs of a table with a row every half an hour around the turn of a year, a transaction each."""
    mysql.flush_logs()
    before = len(mysql.binlogs())
    moments = [f"TIMESTAMPADD(MINUTE, {30 * number}, '2025-12-31 05:00:00')" for number in range(100)]
    moments += ["'2025-12-31 22:00:00.000001+00:00'", "'2026-01-01 00:00:00.5+00:00'", "NULL"]
    inserts = [f"INSERT INTO offsets.moments VALUES ({row}, {moment})" for row, moment in enumerate(moments)]
    mysql.sql(
        "CREATE DATABASE offsets; CREATE TABLE offsets.moments (id INT PRIMARY KEY, ts TIMESTAMP(6) NULL);"
        f" SET time_zone = '-03:00'; {'; '.join(inserts)}"
    )
    mysql.flush_logs()
    return mysql.binlogs()[before - 1 : -1]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_timestamp_is_compared_with_moments_of_any_offset(
    condition: str, mysql: MySQLServer, logs: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "rows.json"
    with open_chain([str(path) for path in logs]) as chain:
        options = ExtractOptions(format=SliceFormat.JSON, rows=True, where=Condition(condition))
        extract(chain, Selection(tables=("offsets.moments",)), str(target), options)
    found = [json.loads(line)["after"]["id"] for line in target.read_text("utf-8").splitlines()]
    selected = mysql.query(f"SELECT id FROM offsets.moments WHERE {condition} ORDER BY id")
    assert found == [int(str(row)) for (row,) in selected]
    assert found
