"""The history of a row on a real server has what happened to its table."""

from __future__ import annotations

import json
from pathlib import Path

from testdata.servers import Server
from testdata.small import drop_databases
from tests.cli.process import binx

WORK = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, n INT);
INSERT INTO t VALUES (1, 10), (2, 20);
SET SESSION binlog_format = STATEMENT;
UPDATE t SET n = n + 1 WHERE n > 15;
SET SESSION binlog_format = ROW;
TRUNCATE TABLE t;
INSERT INTO t VALUES (1, 11);
RENAME TABLE t TO away;
RENAME TABLE away TO t;
DROP TABLE t;
CREATE TABLE t (id INT PRIMARY KEY, n INT);
INSERT INTO t VALUES (1, 12);
"""


def test_what_happens_to_the_table_stands_between_the_changes(server: Server, tmp_path: Path) -> None:
    drop_databases(server)
    server.reset()
    server.sql(WORK)
    server.flush_logs()
    log = server.binlogs()[0]
    ended = binx("why", "--table", "small.t", "--pk", "1", "--json", str(log))
    found = [json.loads(line) for line in ended.lines]
    assert [one["type"] for one in found] == [
        "create", "insert", "statement", "truncate", "insert", "rename", "rename", "drop", "create", "insert",
    ]  # fmt: skip
    assert [one["type"] for one in found if one["uncertain"]] == [
        "statement", "truncate", "rename", "rename", "drop",
    ]  # fmt: skip
    assert ended.code == 3
    assert "5 statements on the table may have changed" in ended.err
