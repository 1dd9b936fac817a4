"""Tables at moments of a log are what a server has that has run the log up to there."""

from __future__ import annotations

import os
import random
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from testdata.servers import Server
from testdata.small import drop_databases
from tests.cli.process import binx

TESTDATA = Path(__file__).resolve().parent.parent.parent / "testdata"
MOMENTS = int(os.environ.get("ROUNDS") or 1)


def checksum(server: Server, table: str) -> str | None:
    return server.query(f"CHECKSUM TABLE {table} EXTENDED")[0][1]


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_a_dropped_table_is_restored_as_it_was_at_a_moment(server: Server, seed: int, tmp_path: Path) -> None:
    shop = TESTDATA / ("mysql-9.7" if server.daemon == "mysqld" else "mariadb-10.11") / "shop"
    logs = sorted(shop.glob("mysql-bin.0*"))
    assert binx("to-parquet", *logs, "-o", tmp_path / "lake").code == 0
    chosen = random.Random(seed)
    number = chosen.randrange(len(logs))
    (path,) = (tmp_path / "lake" / "transactions").glob(f"{logs[number].name}.*")
    position = chosen.choice(pq.read_table(path)["end"].to_pylist())
    drop_databases(server)
    server.reset()
    if number:
        server.sql(server.mysqlbinlog(*logs[:number]))
    server.sql(server.mysqlbinlog(f"--stop-position={position}", logs[number]))
    compared = 0
    tables = [name for name, *_ in server.query("SHOW TABLES FROM shop")]
    for name in tables:
        at = f"{logs[number].name}:{position}"
        made = binx("state", tmp_path / "lake", "--table", f"shop.{name}", "--at", at, "--format", "sql")
        assert made.code in (0, 3) or "has no primary key" in made.err, made.err
        if made.code == 0:
            compared += 1
            before = checksum(server, f"shop.{name}")
            server.sql(f"SET foreign_key_checks = 0; DROP TABLE shop.{name};\n{made.out}".encode())
            assert checksum(server, f"shop.{name}") == before, (name, at)
    assert compared


LOST = """
CREATE DATABASE small; USE small;
CREATE TABLE emptied (id INT PRIMARY KEY, name VARCHAR(20));
CREATE TABLE `dropped one` (id INT PRIMARY KEY, name VARCHAR(20), KEY (name));
INSERT INTO emptied VALUES (1, 'one'), (2, 'two');
INSERT INTO `dropped one` VALUES (1, 'eins'), (2, 'zwei');
TRUNCATE emptied;
INSERT INTO emptied VALUES (3, 'three');
DROP TABLE `dropped one`;
"""


def test_the_commands_that_why_and_a_refused_undo_print_restore_tables(
    server: Server, tmp_path: Path
) -> None:
    drop_databases(server)
    server.reset()
    server.sql(LOST.encode())
    server.flush_logs()
    log = server.binlogs()[0]
    why = binx("why", "--table", "small.*", "--where", "id = 1", log)
    printed = re.findall(r"restored by: (binx .*)", why.out)
    assert len(printed) == 2
    for form in ("sql", "binlog"):
        refused = binx("extract", "--reverse", "--format", form, log)
        assert re.findall(r"restored by: (binx .*)", refused.err) == printed
    assert binx("to-parquet", log, "-o", "lake", cwd=tmp_path).code == 0
    for command in printed:
        made = binx(*shlex.split(command)[1:], cwd=tmp_path)
        assert made.code == 0, made.err
        server.sql(made.out.encode())
    assert server.query("SELECT id, name FROM small.emptied ORDER BY id") == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
    ]
    assert server.query("SELECT id, name FROM small.`dropped one` ORDER BY id") == [
        ("1", "eins"),
        ("2", "zwei"),
    ]
