"""A server's id is set to another one and back: its logs stay one chain, whose tables are followed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import binx
from binx.verify import verify
from binx.verify.report import ProblemKind
from testdata.servers import Server

BEFORE = "CREATE DATABASE moved; CREATE TABLE moved.t (a INT PRIMARY KEY, b INT)"
UNDER_ANOTHER_ID = "ALTER TABLE moved.t MODIFY a INT AFTER b; INSERT INTO moved.t (a, b) VALUES (2, 20)"
AFTER = "INSERT INTO moved.t (a, b) VALUES (3, 30); UPDATE moved.t SET b = 11 WHERE a = 1"


@pytest.fixture
def logs(server: Server, tmp_path: Path) -> list[Path]:
    """The logs of three ids: one, another, and the first again."""
    ((own_id,),) = server.query("SELECT CAST(@@server_id AS CHAR)")
    server.reset()
    server.sql(f"{BEFORE}; INSERT INTO moved.t VALUES (1, 10)")
    for server_id, statements in (("98", UNDER_ANOTHER_ID), (own_id, AFTER)):
        server.sql(f"SET GLOBAL server_id = {server_id}")
        server.flush_logs()
        server.sql(statements)
    server.flush_logs()
    taken = [Path(shutil.copy(log, tmp_path)) for log in server.binlogs()[:3]]
    (tmp_path / "mysql-bin.index").write_text("".join(f"./{log.name}\n" for log in taken))
    return taken


def test_the_rows_are_those_of_the_server_in_whatever_order_the_logs_are_named(
    server: Server, logs: list[Path]
) -> None:
    held = {(int(a or 0), int(b or 0)) for a, b in server.query("SELECT a, b FROM moved.t")}
    server.sql("DROP DATABASE moved")
    for paths in (random.sample(logs, 3), [logs[0].parent], [logs[0].parent / "mysql-bin.index"]):
        with binx.open(*paths) as opened:
            changes = [row for batch in opened.changes("moved.t") for row in batch.to_pylist()]
        images = [row for row in changes if row["_change_type"] in ("insert", "update_postimage")]
        assert set({row["a"]: row["b"] for row in images}.items()) == held


def test_a_log_of_another_id_that_is_not_there_is_told(server: Server, logs: list[Path]) -> None:
    server.sql("DROP DATABASE moved")
    assert verify([str(log) for log in logs]).ok
    for pair in ((logs[0], logs[2]), (logs[2], logs[0])):
        (problem,) = verify([str(log) for log in pair]).problems
        assert problem.kind is ProblemKind.MISSING_FILE
