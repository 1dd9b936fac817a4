"""What a MySQL 5.6 logs and takes, where that is not as with the servers of today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testdata.expected import rows_document
from testdata.servers import MySQL56Server, Server
from tests.cli.process import binx
from tests.live.logs import empty, log_of, logs_of, needed, run_on_empty
from tests.live.pulling import differences, pull

WORK = """
CREATE DATABASE d CHARACTER SET latin1; USE d; SET sql_mode = '', time_zone = '+00:00';
CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP, d DATETIME(3), e ENUM('a', 'é'), y YEAR(2), n DECIMAL(9,2));
CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(30), at TIMESTAMP) ENGINE = MyISAM;
CREATE TABLE ids (id INT PRIMARY KEY) CHARSET latin1 ENGINE = InnoDB;
ALTER TABLE ids CONVERT TO CHARACTER SET utf8mb4;
ALTER TABLE ids ADD name VARCHAR(20);
INSERT INTO ids VALUES (1, 'Zoë');
INSERT INTO t VALUES (1, '2015-02-03 04:05:06', '2015-02-03 04:05:06.789', 'é', 15, 1.5);
INSERT INTO t VALUES (2, 0, 0, 0, 70, NULL);
SET SESSION binlog_format = STATEMENT;
INSERT INTO m (v) VALUES (RAND()), ('é'); SET @v = 'ü'; INSERT INTO m (v) VALUES (@v), (LAST_INSERT_ID());
BEGIN; INSERT INTO t (id) VALUES (3); SAVEPOINT s; INSERT INTO t (id) VALUES (4); ROLLBACK TO s; COMMIT;
SET SESSION binlog_format = ROW, binlog_row_image = MINIMAL, binlog_rows_query_log_events = ON;
UPDATE t SET n = 7 WHERE id = 1; INSERT INTO t (id) VALUES (5); DELETE FROM t WHERE id = 2;
XA START 'x'; UPDATE t SET n = 8 WHERE id = 3; XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A MySQL 5.6."""
    with needed(MySQL56Server)(tmp_path_factory.mktemp("mysql56")) as running:
        yield running


@pytest.mark.parametrize("form", ["sql", "binlog"])
def test_what_extract_writes_runs_there(server: Server, form: str, tmp_path: Path) -> None:
    [log] = logs_of(server, WORK)
    expected = rows_document(server)
    target = tmp_path / f"slice.{form}"
    assert binx("extract", "--format", form, "-o", str(target), str(log)).code == 0
    run_on_empty(server, target.read_bytes() if form == "sql" else server.mysqlbinlog(target))
    assert rows_document(server) == expected


def test_what_undoes_rows_runs_there(server: Server, tmp_path: Path) -> None:
    [made] = logs_of(server, WORK)
    before = {name: table["rows"] for name, table in rows_document(server)["tables"].items()}
    changes = "DELETE FROM d.t; UPDATE d.ids SET name = 'é'; INSERT INTO d.m (v) VALUES (1)"
    log, target = log_of(server, changes), tmp_path / "undo.sql"
    wanted = ["--start-position", f"{log.name}:4", "-o", str(target)]
    assert binx("extract", "--format", "sql", "--reverse", *wanted, str(made), str(log)).code == 0
    server.script(target.read_bytes())
    after = rows_document(server)["tables"]
    assert {name: table["rows"] for name, table in after.items()} == before


def test_text_is_read_in_the_character_set_that_the_table_kept(server: Server) -> None:
    """CONVERT TO passes over a table without text there."""
    [log] = logs_of(server, WORK)
    lines = binx("extract", "--format", "json", "--rows", "--table", "d.ids", "-o", "-", str(log)).lines
    assert [json.loads(line)["after"]["name"] for line in lines] == ["Zoë"]


def test_its_logs_are_pulled_and_semi_synchronous_replication_has_its_old_name(
    server: Server, tmp_path: Path
) -> None:
    empty(server)
    server.sql(WORK)
    server.flush_logs()
    server.sql("SET GLOBAL binlog_checksum = NONE; INSERT INTO d.t (id) VALUES (9)")
    server.sql("SET GLOBAL binlog_checksum = CRC32")
    assert pull(tmp_path, server.socket).returncode == 0
    assert differences(server, tmp_path) == []
    refused = pull(tmp_path, server.socket, "--semi-sync")
    assert refused.returncode == 1
    assert "SET GLOBAL rpl_semi_sync_master_enabled = ON" in refused.stderr
    assert "rpl_semi_sync_source" not in refused.stderr
