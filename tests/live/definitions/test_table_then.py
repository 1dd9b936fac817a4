"""What show, why and the schema records say a table was is what SHOW CREATE TABLE printed at that moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binx
from testdata.servers import MariaDBServer, Server
from tests.cli import process
from tests.exports import export
from tests.live.logs import empty

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(20) DEFAULT 'it''s', at TIMESTAMP NULL)"
STEPS = (
    f"SET time_zone = '+02:00'; {TABLE}",
    "ALTER TABLE t ADD KEY by_n (n DESC, s(5))",
    "ALTER TABLE t ADD twice INT AS (n * 2) VIRTUAL AFTER id, ADD CONSTRAINT c CHECK (n < 100)",
    "ALTER TABLE t RENAME COLUMN s TO text, MODIFY n BIGINT UNSIGNED COMMENT 'a number'",
    "CREATE TABLE parent (id BIGINT UNSIGNED PRIMARY KEY); ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (n)"
    " REFERENCES parent (id) ON DELETE CASCADE",
    "RENAME TABLE parent TO mother",
    "ALTER TABLE mother RENAME COLUMN id TO number;ALTER TABLE mother CHANGE number `the id` BIGINT UNSIGNED",
    "SET time_zone = '-05:00'; ALTER TABLE t ALTER at SET DEFAULT '2020-01-01 12:00:00'",
    "RENAME TABLE t TO other; RENAME TABLE other TO t",
    "ALTER TABLE t DROP FOREIGN KEY f, DROP KEY by_n, DROP COLUMN n, DROP COLUMN twice, DROP CONSTRAINT c,"
    " DEFAULT CHARSET latin1",
    "ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 3",
)


@pytest.fixture(params=["MINIMAL", "FULL"])
def metadata(request: pytest.FixtureRequest, server: Server) -> Iterator[str]:
    server.sql(f"SET GLOBAL binlog_row_metadata = {request.param}")
    yield request.param
    server.sql("SET GLOBAL binlog_row_metadata = DEFAULT")


def shown(server: Server) -> str:
    return str(server.query("SHOW CREATE TABLE past.t")[0][1])


def made(server: Server, statement: str) -> str:
    """What the server shows of the table that a statement makes."""
    server.sql(
        "SET sql_log_bin = 0, foreign_key_checks = 0; DROP TABLE IF EXISTS past.t, past.mother;"
        " SET time_zone = '+00:00';" + statement
    )
    return shown(server)


def printed(command: str, *arguments: str | Path) -> list[dict[str, Any]]:
    ended = process.binx(command, "--create-table", "--json", "-q", *arguments)
    # Statements on the table may have changed the row, for all that the log tells.
    assert ended.code in (0, 3), ended.err
    return [json.loads(line) for line in ended.lines]


def test_the_table_of_each_moment_is_reported(server: Server, metadata: str, tmp_path: Path) -> None:
    empty(server)
    server.sql("CREATE DATABASE past DEFAULT CHARSET utf8mb4")
    was = []
    for number, step in enumerate(STEPS):
        change = (
            "INSERT INTO t (id) VALUES (1)" if number == 0 else f"INSERT INTO t (id) VALUES ({number + 1})"
        )
        server.sql(f"USE past; {step}; {change}; UPDATE t SET at = '2024-01-01 00:00:{number}' WHERE id = 1")
        was.append(shown(server))
    server.flush_logs()
    log = server.binlogs()[-2]
    why = printed("why", "--table", "past.t", "--pk", "1", log)
    told = [line["create_table"] for line in why if line["type"] == "update"]
    assert len(told) == len(STEPS)
    events = printed("show", "--table", "past.t", log)
    maps = [event for event in events if event["event_type"] == "TABLE_MAP"]
    assert [event["tables_then"][0]["create_table"] for event in maps[1::2]] == told
    # An ALTER leaves the table that the rows after it find.
    altered = [line["create_table"] for line in why if line["type"] == "alter"]
    assert {*altered} <= {*told}
    with binx.open(log) as opened:
        changes = opened.why("past.t", 1)
        assert [change.create_table for change in changes if change.row["type"] == "update"] == told
    export(tmp_path, [log])
    records = [json.loads(path.read_text()) for path in (tmp_path / "schemas" / "past" / "t").glob("*.json")]
    assert {record["create_table"] for record in records} <= {*told}
    remade = [made(server, statement) for statement in told]
    assert remade == was


def test_what_the_logs_do_not_say_is_reported(server: Server, metadata: str, tmp_path: Path) -> None:
    empty(server)
    server.sql(f"CREATE DATABASE past; USE past; {TABLE}; INSERT INTO t (id) VALUES (1)")
    server.sql("SET sql_log_bin = 0; ALTER TABLE past.t ADD c INT")
    server.sql("UPDATE past.t SET at = NOW() WHERE id = 1")
    server.flush_logs()
    log = server.binlogs()[-2]
    # With less metadata its columns have no names, and so no key.
    which = ["--table", "past.t", *(("--pk", "1") if metadata == "FULL" else ("--where", "c1 = 1"))]
    *_, update = printed("why", *which, log)
    assert update["create_table"] is None
    text = process.binx("why", "--create-table", *which, log)
    assert "the logs do not tell what past.t was then" in text.out
    *_, shown_map = (e for e in printed("show", log) if e["event_type"] == "TABLE_MAP")
    assert shown_map["tables_then"] == [{"db": "past", "table": "t", "create_table": None}]
    export(tmp_path, [log])
    records = [json.loads(path.read_text()) for path in (tmp_path / "schemas" / "past" / "t").glob("*.json")]
    unknown = [record for record in records if len(record["columns"]) == 5]
    assert [record["create_table"] for record in unknown] == [None]


def test_people_read_a_table_once_and_again_where_it_changed(server: Server) -> None:
    empty(server)
    server.sql(
        f"CREATE DATABASE past; USE past; {TABLE}; INSERT INTO t (id) VALUES (1); UPDATE t SET n = 1;"
        "ALTER TABLE t ADD KEY (n); UPDATE t SET n = 2; UPDATE t SET n = 3"
    )
    server.flush_logs()
    log = server.binlogs()[-2]
    for command in (["show", "--table", "past.t"], ["why", "--table", "past.t", "--pk", "1"]):
        text = process.binx(*command, "--create-table", log).out
        assert text.count("past.t then:") == 2
        assert text.count("CREATE TABLE `past`.`t` (") == 2
        assert "CREATE TABLE `past`" not in process.binx(*command, log).out


@pytest.mark.parametrize(
    "altered",
    [
        "ADD x TIMESTAMP NOT NULL",
        "ADD x TIMESTAMP NOT NULL FIRST",
        "ADD x TIMESTAMP NOT NULL, ADD y TIMESTAMP(2) NOT NULL AFTER id",
        "DROP COLUMN b, MODIFY n TIMESTAMP NOT NULL",
        "MODIFY b TIMESTAMP NOT NULL, ADD x TIMESTAMP NOT NULL",
    ],
)
@pytest.mark.parametrize("first", ["TIMESTAMP NULL", "TIMESTAMP NOT NULL"])
def test_timestamps_of_sessions_with_old_defaults(mysql: Server, first: str, altered: str) -> None:
    """MySQL's first TIMESTAMP of all is set to the current time, others that a statement adds are zero."""
    empty(mysql)
    mysql.sql(
        f"CREATE DATABASE past; USE past; CREATE TABLE t (id INT PRIMARY KEY, n INT, b {first});"
        "SET explicit_defaults_for_timestamp = 0, sql_mode = '';"
        f"ALTER TABLE t {altered}; INSERT INTO t (id) VALUES (1)"
    )
    was = shown(mysql)
    mysql.flush_logs()
    *_, insert = printed("why", "--table", "past.t", "--pk", "1", mysql.binlogs()[-2])
    assert made(mysql, f"SET sql_mode = ''; {insert['create_table']}") == was


def test_a_sequence_is_named_as_such(mariadb: MariaDBServer) -> None:
    empty(mariadb)
    mariadb.sql(
        "CREATE DATABASE past; CREATE SEQUENCE past.s START WITH 5 INCREMENT BY 2;"
        "SELECT NEXT VALUE FOR past.s"
    )
    mariadb.flush_logs()
    events = printed("show", mariadb.binlogs()[-2])
    [*told] = {table["create_table"] for event in events for table in event.get("tables_then", ())}
    was = mariadb.query("SHOW CREATE SEQUENCE past.s")
    for statement in told:
        mariadb.sql(f"DROP SEQUENCE past.s; {statement}")
        assert mariadb.query("SHOW CREATE SEQUENCE past.s") == was
    assert told, events
