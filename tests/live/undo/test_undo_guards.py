"""What an undo script proves before it changes a row, and that it counts what the server did."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.slices.options import ExtractOptions, SliceFormat
from binx.undo.extract_undo import extract_undo
from binx.undo.options import OnConflict
from testdata.servers import MySQLServer, Server, ServerError
from tests.live.logs import empty, log_of, logs_of
from tests.live.undo.test_undo import AGAIN, AS_BEFORE, MISTAKE, rows, undo_of

ACCOUNT = "'some''one'@'localhost'"
ROWS_OF_SMALL = "SELECT, INSERT, UPDATE, DELETE ON small.*"
GRANTED = {
    "nothing more": ([ROWS_OF_SMALL], "triggers cannot be seen: grant this account itself TRIGGER ON"),
    "the triggers of another table": (
        [ROWS_OF_SMALL, "TRIGGER ON small.keyless"],
        r"triggers cannot be seen: grant this account itself TRIGGER ON: small\.t\b",
    ),
    "the triggers of the database": (
        [ROWS_OF_SMALL, "TRIGGER ON `sm_ll`.*"],
        r"foreign keys cannot be seen: grant this account itself REFERENCES ON: \*\.\*",
    ),
    "all that is needed": ([ROWS_OF_SMALL, "TRIGGER ON `small`.*", "REFERENCES ON *.*"], ""),
    "all triggers": ([ROWS_OF_SMALL, "TRIGGER ON *.*"], ""),
}


@pytest.fixture
def account(server: Server) -> str:
    """An account without privileges, some of whose name's characters must be quoted."""
    server.sql(f"DROP USER IF EXISTS {ACCOUNT}; CREATE USER {ACCOUNT}; DROP ROLE IF EXISTS some_role")
    return "some'one"


def run_as(server: Server, account: str, script: bytes) -> str:
    """What the client says of a script; raises ServerError as the server's own method does."""
    command = [*server.client_command(), f"--user={account}", "--batch", "--skip-column-names"]
    done = subprocess.run(command, input=script, capture_output=True, check=False)
    if done.returncode:
        raise ServerError(done.stderr.decode())
    return done.stdout.decode()


@pytest.mark.parametrize("granted", GRANTED)
def test_nothing_is_undone_by_an_account_that_would_not_see_what_stops_it(
    server: Server, account: str, granted: str
) -> None:
    made, log = logs_of(server, AGAIN, MISTAKE)
    grants, stops = GRANTED[granted]
    server.sql("; ".join(f"GRANT {grant} TO {ACCOUNT}" for grant in grants))
    left = server.query("SELECT * FROM small.t ORDER BY id")
    undo = undo_of(log, tables=made)
    if not stops:
        run_as(server, account, undo)
        assert server.query("SELECT id, v FROM small.t ORDER BY id") == [
            (f"{i}", f"{i}") for i in range(1, 7)
        ]
        return
    with pytest.raises(ServerError, match=f"NOTHING WAS UNDONE: {stops}"):
        run_as(server, account, undo)
    assert server.query("SELECT * FROM small.t ORDER BY id") == left
    lines = run_as(server, account, undo_of(log, tables=made, on_conflict=OnConflict.SKIP)).splitlines()
    assert "small.t\t8\t0" in lines
    assert lines[-1] != lines[0]


def test_privileges_of_a_role_count_where_the_account_may_see_them(mysql: Server) -> None:
    made, log = logs_of(mysql, AGAIN, MISTAKE)
    mysql.sql(
        f"DROP USER IF EXISTS {ACCOUNT}; CREATE USER {ACCOUNT}; DROP ROLE IF EXISTS some_role;"
        f" CREATE ROLE some_role; GRANT {ROWS_OF_SMALL} TO some_role; GRANT TRIGGER ON *.* TO some_role;"
        f" GRANT some_role TO {ACCOUNT}; GRANT SELECT ON mysql.* TO {ACCOUNT}"
    )
    run_as(mysql, "some'one", b"SET ROLE some_role;\n" + undo_of(log, tables=made))
    assert rows(mysql) == AS_BEFORE


UNIQUE = """
CREATE DATABASE small; USE small; CREATE TABLE n (id INT PRIMARY KEY, u INT UNIQUE, v INT) ENGINE = InnoDB;
CREATE TABLE s (id VARCHAR(9) PRIMARY KEY, u INT UNIQUE, v INT) ENGINE = InnoDB;
CREATE TABLE c (id INT PRIMARY KEY, n INT, FOREIGN KEY (n) REFERENCES n (id)) ENGINE = InnoDB;
INSERT INTO n VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4);
INSERT INTO s SELECT id, u, v FROM n;
"""
CHANGED = """
USE small; UPDATE n SET v = 0 WHERE id < 3; UPDATE s SET v = 0 WHERE id < 3; DELETE FROM n WHERE id > 2;
DELETE FROM s WHERE id > 2; INSERT INTO n VALUES (7, 7, 7), (8, 8, 8);
"""


def test_by_force_is_counted_what_the_server_changed(server: Server) -> None:
    """Rows that are gone, that others refer to, or whose unique value another row has, are not undone."""
    made, log = logs_of(server, UNIQUE, CHANGED)
    server.sql(
        "USE small; DELETE FROM n WHERE id = 1; DELETE FROM s WHERE id = 1; INSERT INTO n VALUES (50, 3, 55);"
        "INSERT INTO s VALUES (50, 3, 55), (4, 40, 40); INSERT INTO c VALUES (1, 7); UPDATE n SET v = 2;"
    )
    lines = server.script(undo_of(log, on_conflict=OnConflict.FORCE, tables=made)).splitlines()
    assert sorted(lines[0].strip("; ").split("; ")) == [
        "small.n id=1", "small.n id=3", "small.n id=7", "small.s id=1", "small.s id=3"
    ]  # fmt: skip
    assert sorted(lines[1:]) == ["small.n\t3\t3", "small.s\t2\t2"]
    wanted = [("2", "2", "2"), ("4", "4", "4"), ("7", "7", "2"), ("50", "3", "2")]
    assert server.query("SELECT * FROM small.n ORDER BY id") == wanted
    wanted = [("2", "2", "2"), ("4", "4", "4"), ("50", "3", "55")]
    assert server.query("SELECT * FROM small.s ORDER BY id") == wanted


def test_tables_without_transactions_are_undone_apart_on_a_server_with_gtids(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    """Such a server refuses to change both kinds in one transaction (error 1785)."""
    empty(mysql)
    mysql.sql(
        "CREATE DATABASE small; USE small; CREATE TABLE plain (id INT PRIMARY KEY, v INT) ENGINE = MyISAM;"
        "CREATE TABLE safe (id INT PRIMARY KEY, v INT) ENGINE = InnoDB; INSERT INTO plain VALUES (1, 1);"
        "INSERT INTO safe VALUES (1, 1)"
    )
    mysql.flush_logs()
    log_of(mysql, "USE small; UPDATE plain SET v = 2; UPDATE safe SET v = 2")
    *logs, _ = [str(path) for path in mysql.binlogs()]

    def undo(*excluded: str) -> bytes:
        wanted = Selection(start=Position(Path(logs[-1]).name, 4), exclude_tables=excluded)
        with open_chain(logs) as chain:
            extract_undo(
                chain, wanted, str(tmp_path / "undo"), ExtractOptions(SliceFormat.SQL, overwrites=True)
            )
        return (tmp_path / "undo").read_bytes()

    def values() -> list[tuple[str | None, ...]]:
        return mysql.query("SELECT v FROM small.plain UNION ALL SELECT v FROM small.safe")

    with pytest.raises(ServerError, match=r"NOTHING WAS UNDONE: GTIDs allow no tables .*: small.plain"):
        mysql.script(undo())
    assert values() == [("2",), ("2",)]
    for excluded in ("small.plain", "small.safe"):
        mysql.script(undo(excluded))
    assert values() == [("1",), ("1",)]
