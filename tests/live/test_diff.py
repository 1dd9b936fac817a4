"""A server and its replica have the same transactions in other bytes; what differs is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from binx.compare.differences import LogDiff, diff_logs
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from testdata.relay import linked
from testdata.servers import MariaDBServer, MySQLServer, Server
from testdata.small import drop_databases, split_sections
from tests.conftest import TESTDATA
from tests.live.logs import empty, logs_of, needed
from tests.live.workload.changes import LOAD_FILE
from tests.live.workload.workload import Workload

WORK = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(30), n DECIMAL(9,2), j JSON, u BIGINT UNSIGNED);
INSERT INTO t VALUES (1, 'one', 1.5, '{"a": 1}', 18446744073709551615), (2, 'two', 2, NULL, 0);
BEGIN; UPDATE t SET text = 'eins' WHERE id = 1; DELETE FROM t WHERE id = 2; COMMIT;
INSERT INTO t (id, text) SELECT id + 10, text FROM t;
"""


def replayed(server: Server, replica: Server) -> Path:
    """The log of a server that ran the other's; it names the transactions alike and logs by its own ways."""
    log = server.binlogs()[0]
    empty(replica)
    replica.sql("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    replica.script(server.mysqlbinlog(log))
    return replica.binlogs()[0]


def compared(server: Server, replica: Server) -> LogDiff:
    with open_chain([str(server.binlogs()[0])]) as ours, open_chain([str(replica.binlogs()[0])]) as theirs:
        return diff_logs(ours, theirs, Selection())


def test_a_server_that_ran_the_log_has_the_same(server: Server, replica: Server) -> None:
    logs_of(server, WORK)
    ran = replayed(server, replica)
    found = compared(server, replica)
    assert ran.read_bytes() != server.binlogs()[0].read_bytes()
    assert found.common_transactions == found.left.transactions >= 5
    assert found.equal, found.differences


@pytest.mark.parametrize("server", ["mysql"], indirect=True)
def test_what_is_lost_added_and_otherwise_is_found(server: Server, replica: Server) -> None:
    logs_of(server, WORK)
    replayed(server, replica)
    replica.sql("SET SESSION sql_log_bin = 0; UPDATE small.t SET text = 'otherwise' WHERE id = 1")
    replica.sql("INSERT INTO small.t (id) VALUES (99)")
    server.sql("USE small; UPDATE t SET n = 7 WHERE id = 1; DELETE FROM t WHERE id = 11")
    server.flush_logs()
    later = server.binlogs()[1]
    statements = server.mysqlbinlog(later)
    last = server.query("SELECT @@gtid_executed")[0][0]
    assert last is not None
    replica.script(statements)
    replica.flush_logs()
    with (
        open_chain([str(path) for path in server.binlogs()[:2]]) as ours,
        open_chain([str(path) for path in replica.binlogs()[:-1]]) as theirs,
    ):
        found = diff_logs(ours, theirs, Selection())
    assert found.only_left.gtid_set.is_empty
    assert found.only_right.errant_gtids == found.only_right.gtid_set
    assert found.only_right.gtid_set.count == 1, "the row that the replica has by itself"
    (difference,) = found.differences
    (pair,) = difference.changes
    assert pair.left is not None
    assert pair.right is not None
    assert pair.left.shown["before"]["text"] == "eins"
    assert pair.right.shown["before"]["text"] == "otherwise"
    assert found.left.gtid_set == GtidSet.parse(last)


def test_columns_that_newer_servers_leave_out_are_no_difference(mariadb: MariaDBServer) -> None:
    """MariaDB 11.8 logs no generated columns with updates, whatever they change; a plain column is missed."""
    newer = TESTDATA / "mariadb-11.8" / "small" / "generated"
    work = split_sections(newer.with_suffix(".sql").read_text())["log"]
    otherwise = "UPDATE t SET id = 40, n = 1 WHERE id = 4;"
    for statements, different in (
        (work, ""),
        (work.replace("UPDATE t SET id = 40 WHERE id = 4;", otherwise), "0-10-7"),
    ):
        [log] = logs_of(mariadb, statements)
        for pair in ((log, newer.with_suffix(".binlog")), (newer.with_suffix(".binlog"), log)):
            with open_chain([str(pair[0])]) as ours, open_chain([str(pair[1])]) as theirs:
                found = diff_logs(ours, theirs, Selection())
            assert found.common_transactions == found.left.transactions == 11
            assert str(found.different) == different
            assert found.is_fully_compared


SEED = os.environ.get("SEED", "diff")
ROUNDS = int(os.environ.get("ROUNDS", "2"))
SESSIONS = 40 if "ROUNDS" in os.environ else 12

OTHERWISE = """
CREATE DATABASE otherwise; USE otherwise;
CREATE TABLE a (id INT PRIMARY KEY, n INT); CREATE TABLE b (id INT PRIMARY KEY, n INT);
INSERT INTO a VALUES (1, 1), (2, 2), (3, 3); INSERT INTO b SELECT * FROM a;
CREATE TABLE made AS SELECT * FROM a;
CREATE TABLE without_key (n INT, text VARCHAR(9));
INSERT INTO without_key VALUES (3, 'c'), (1, 'a'), (2, 'b'), (1, 'a');
UPDATE without_key SET n = n + 1; DELETE FROM without_key WHERE n = 2 LIMIT 1; DELETE FROM without_key;
UPDATE a JOIN b USING (id) SET a.n = 7, b.n = 8;
BEGIN; SAVEPOINT s; UPDATE a SET n = 9 WHERE id = 1; ROLLBACK TO s; UPDATE b SET n = 9 WHERE id = 2; COMMIT;
XA START 'x'; UPDATE a SET n = 10 WHERE id = 1; XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';
CREATE TEMPORARY TABLE t (n INT); INSERT INTO t VALUES (1); DROP TABLE t;
SET SESSION binlog_row_image = 'MINIMAL'; UPDATE a SET n = 11 WHERE id = 2; DELETE FROM a WHERE id = 3;
CREATE VIEW v AS SELECT * FROM a; DROP VIEW v; DROP TABLE made; RENAME TABLE a TO c; TRUNCATE TABLE c;
"""


_LAST_ERROR = 19
"""The column Last_Error of a replica's status."""

KINDS = [(MySQLServer, "MINIMAL"), (MariaDBServer, "FULL"), (MySQLServer, "FULL"), (MariaDBServer, "MINIMAL")]


@pytest.mark.parametrize(("kind", "image"), KINDS if "ROUNDS" in os.environ else KINDS[:2])
def test_a_replica_did_the_same(kind: type[Server], image: str, tmp_path: Path) -> None:
    needed(kind)
    (tmp_path / LOAD_FILE).write_text("".join(f"{3 * i}\ttext {i}\n" for i in range(20)))
    options = ["--log-slave-updates", f"--binlog-row-image={image}"]
    if kind is MariaDBServer:
        options.append("--binlog-format=ROW")
    number = 0
    while number < ROUNDS:
        with linked(kind, tmp_path / f"servers-{number}", options) as (source, replica):
            source.sql(OTHERWISE)
            runs = compare(source, replica, "otherwise", rows_only=True)
            first = number
            while runs and number < ROUNDS:
                seed = f"{SEED}-{image}-{number}"
                rows_only = number % 2 == 0
                drop_databases(source)
                workload = Workload(
                    seed,
                    mariadb=kind is MariaDBServer,
                    sessions=SESSIONS,
                    rows_only=rows_only,
                    gtids_only=True,
                )
                for step in workload.steps():
                    source.attempt(step.sql, tmp_path)
                runs = compare(source, replica, seed, rows_only=rows_only and number == first)
                number += 1


def compare(source: Server, replica: Server, seed: str, *, rows_only: bool) -> bool:
    """Everything that the source ever logged, with all that the replica did.

    Returns:
        False where the replica has stopped with an error, as servers do at some statements of their own logs.
    """
    if isinstance(source, MySQLServer):
        ((done,),) = source.query("SELECT @@gtid_executed")
        waited = replica.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{done}', 60)")
    else:
        ((before,),) = source.query("SELECT @@gtid_binlog_pos")
        for gtid in (before or "").split(","):
            # Of a last statement that changed no rows, no log shows whether a replica had it.
            domain = gtid.partition("-")[0]
            source.sql(f"SET gtid_domain_id = {domain}; CREATE DATABASE ends; DROP DATABASE ends")
        ((done,),) = source.query("SELECT @@gtid_binlog_pos")
        waited = replica.query(f"SELECT MASTER_GTID_WAIT('{done}', 60)")
    (status,) = replica.query(f"SHOW {'REPLICA' if isinstance(source, MySQLServer) else 'SLAVE'} STATUS")
    error = status[_LAST_ERROR]
    assert error or waited == [("0",)], f"{seed}: the replica takes longer than a minute"
    for server in (source, replica):
        server.flush_logs()
    found = diff_of(source, replica)
    assert found.common_transactions >= 10
    assert found.different.is_empty, (seed, found.different, found.differences)
    if error:
        print(f"{seed}: the replica stopped: {error}")
        return False
    assert found.equal, (seed, found.only_left.gtid_set, found.only_right.gtid_set)
    if rows_only:
        assert found.is_fully_compared, (seed, found.logged_as_statements)
    return True


def diff_of(source: Server, replica: Server) -> LogDiff:
    """How the two servers' logs differ."""
    with (
        open_chain([str(path) for path in source.binlogs()[:-1]]) as ours,
        open_chain([str(path) for path in replica.binlogs()[:-1]]) as theirs,
    ):
        return diff_logs(ours, theirs, Selection())
