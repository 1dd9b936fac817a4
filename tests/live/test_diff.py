"""A server and one that ran its log have the same transactions in other bytes; what differs is found."""

from __future__ import annotations

from pathlib import Path

from binx.compare.diff import LogDiff, diff_logs
from binx.event.gtid.sets import GtidSet
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from testdata.servers import MySQLServer, Server
from testdata.small import drop_databases

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
    drop_databases(replica)
    replica.reset()
    replica.sql("SET GLOBAL binlog_row_metadata = 'MINIMAL'")
    replica.sql(server.mysqlbinlog(log))
    return replica.binlogs()[0]


def compared(server: Server, replica: Server) -> LogDiff:
    with open_chain([str(server.binlogs()[0])]) as ours, open_chain([str(replica.binlogs()[0])]) as theirs:
        return diff_logs(ours, theirs, Selection())


def test_a_server_that_ran_the_log_has_the_same(server: Server, replica: Server) -> None:
    drop_databases(server)
    server.reset()
    server.sql(WORK)
    server.flush_logs()
    ran = replayed(server, replica)
    found = compared(server, replica)
    assert ran.read_bytes() != server.binlogs()[0].read_bytes()
    assert found.common == found.left.transactions >= 5
    assert found.equal, found.differences


def test_what_is_lost_added_and_otherwise_is_found(mysql: MySQLServer, replicas: dict[str, Server]) -> None:
    replica = replicas[mysql.daemon]
    drop_databases(mysql)
    mysql.reset()
    mysql.sql(WORK)
    mysql.flush_logs()
    replayed(mysql, replica)
    replica.sql("SET SESSION sql_log_bin = 0; UPDATE small.t SET text = 'otherwise' WHERE id = 1")
    replica.sql("INSERT INTO small.t (id) VALUES (99)")
    mysql.sql("USE small; UPDATE t SET n = 7 WHERE id = 1; DELETE FROM t WHERE id = 11")
    mysql.flush_logs()
    later = mysql.binlogs()[1]
    statements = mysql.mysqlbinlog(later)
    last = mysql.query("SELECT @@gtid_executed")[0][0]
    assert last is not None
    replica.sql(statements)
    replica.flush_logs()
    with (
        open_chain([str(path) for path in mysql.binlogs()[:2]]) as ours,
        open_chain([str(path) for path in replica.binlogs()[:-1]]) as theirs,
    ):
        found = diff_logs(ours, theirs, Selection())
    assert found.only_left.gtids.is_empty
    assert found.only_right.errant == found.only_right.gtids
    assert found.only_right.gtids.count == 1, "the row that the replica has by itself"
    (difference,) = found.differences
    (pair,) = difference.pairs
    assert pair.left is not None
    assert pair.right is not None
    assert pair.left.shown["before"]["text"] == "eins"
    assert pair.right.shown["before"]["text"] == "otherwise"
    assert found.left.gtids == GtidSet.parse(last)
