"""Rows that followed a foreign key and that MySQL 9.7 logs without a table map are read past and said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testdata.servers import MySQLServer
from tests.cli.process import binx
from tests.live.logs import log_of, logs_of

MADE = """
CREATE DATABASE small; USE small; CREATE TABLE parent (id INT PRIMARY KEY);
CREATE TABLE child (id INT PRIMARY KEY, parent INT,
FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
"""
SAID = "rows that a foreign key deleted or changed, of a table that the log does not name"


@pytest.fixture
def logs(mysql: MySQLServer, tmp_path: Path) -> list[str]:
    """Logs of which the last has rows of a child without a table map."""
    made, change = logs_of(mysql, MADE, "INSERT INTO small.parent VALUES (1)")
    reversed_log = tmp_path / "reversed"
    start = ["--start-position", f"{change.name}:4"]
    binx("extract", "--reverse", *start, "-o", reversed_log, made, change)
    log_of(mysql, "INSERT INTO small.child VALUES (10, 1)")
    mysql.script(mysql.mysqlbinlog("--skip-gtids", reversed_log))
    last = log_of(mysql, "INSERT INTO small.parent VALUES (2)")
    if b"small" not in mysql.mysqlbinlog("-v", last) or mysql.query("SELECT * FROM small.child"):
        pytest.skip("this server does not do so")
    copies = tmp_path / "logs"
    copies.mkdir()
    return [str(shutil.copy(log, copies)) for log in mysql.binlogs()[:-1]]


READ = {
    "ls": (0, ["ls"]),
    "verify": (0, ["verify"]),
    "stats": (0, ["stats"]),
    "json": (0, ["extract", "--format", "json", "-o", "-"]),
    "SQL": (3, ["extract", "--format", "sql", "-o", "-"]),
    "Parquet": (3, ["to-parquet", "-o", "lake"]),
    "a table's state": (3, ["state", "--table", "small.child", "--format", "csv", "-o", "-"]),
    "undo": (1, ["extract", "--reverse", "--format", "sql", "-o", "-", "--kind", "dml"]),
    "a reversed log": (1, ["extract", "--reverse", "-o", "undo", "--kind", "dml"]),
}


@pytest.mark.parametrize("read", READ)
def test_events_without_a_table_map_are_read_past_and_reported(
    logs: list[str], tmp_path: Path, read: str
) -> None:
    code, command = READ[read]
    ended = binx(*command, *logs, cwd=tmp_path)
    assert ended.code == code
    assert SAID in " ".join((ended.out + ended.err if read == "stats" else ended.err).split())
    if read == "ls":
        assert ended.lines[-2].endswith("small.parent -1")
        assert ended.lines[-1].endswith("small.parent +1")
