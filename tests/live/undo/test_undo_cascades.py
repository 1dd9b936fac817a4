"""Rows that foreign keys deleted or changed come back with those that they referred to, or are listed."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from binx.cli.run import run
from binx.errors import RefusedError
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.rows.ddl.catalog import Catalog
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.sql.write import write_sql
from binx.undo import joined_rows
from binx.undo.extract_undo import extract_undo
from binx.undo.options import OnConflict
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.small import drop_databases
from tests.live.logs import empty, export_last, log_of, logs_of
from tests.live.undo.round import UndoRound
from tests.live.undo.test_undo import undo_of, write_nothing
from tests.slices.sql.sql_of import everything

REFERRING = """
CREATE DATABASE small; USE small; CREATE TABLE parent (id INT PRIMARY KEY, v INT) ENGINE = InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, p INT, name VARCHAR(9),
FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE) ENGINE = InnoDB;
CREATE TABLE grandchild (id INT PRIMARY KEY, c INT,
FOREIGN KEY (c) REFERENCES child (id) ON DELETE CASCADE) ENGINE = InnoDB;
CREATE TABLE loose (id INT PRIMARY KEY, p INT,
FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE) ENGINE = InnoDB;
INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO child VALUES (10, 1, 'a'), (11, 1, 'b'), (20, 2, 'c'), (30, 3, 'd'), (12, 2, 'moved');
INSERT INTO grandchild VALUES (100, 10), (101, 11), (200, 20);
INSERT INTO loose VALUES (1, 1), (2, 2), (3, 3);
UPDATE child SET name = 'B' WHERE id = 11; UPDATE child SET p = 1 WHERE id = 12;
DELETE FROM child WHERE id = 30;
"""


CHANGED = "UPDATE child SET name = 'new' WHERE id = 10"


def referring_undone(
    server: Server,
    change: str,
    *,
    tables: str = REFERRING,
    changed: str = CHANGED,
    since: str = "DO 0",
    with_tables: bool = True,
    on_conflict: OnConflict = OnConflict.STOP,
) -> tuple[bytes, tuple[str, ...]]:
    """What undoes a change of rows that others refer to, and what is said of rows that are not known."""
    parts = (changed, change, since)
    logs = logs_of(server, tables, *(f"USE small; {statements}" for statements in parts))
    with (
        open_chain([str(log) for log in (logs if with_tables else logs[1:])]) as chain,
        TemporaryDirectory() as folder,
    ):
        undo = Path(folder) / "undo.sql"
        start, stop = (Position(log.name, 4) for log in logs[2:])
        selection, form = Selection(start=start, stop=stop), ExtractOptions(SliceFormat.SQL)
        catalog = Catalog()
        if not with_tables:
            write_nothing(logs[0], catalog)
        report = extract_undo(chain, selection, str(undo), form, catalog, on_conflict=on_conflict)
        return undo.read_bytes(), report.damage


def all_rows(server: Server) -> list[list[tuple[str | None, ...]]]:
    tables = "parent", "child", "grandchild", "loose"
    return [server.query(f"SELECT * FROM small.{table} ORDER BY id") for table in tables]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM parent WHERE id < 3",
        "UPDATE parent SET id = 9 WHERE id = 3; DELETE FROM child WHERE id = 10",
        "BEGIN; UPDATE child SET name = 'x' WHERE id = 10; INSERT INTO child VALUES (13, 2, 'y');"
        "UPDATE loose SET id = 9 WHERE id = 1; DELETE FROM grandchild WHERE id = 200; DELETE FROM parent"
        " WHERE id < 3; INSERT INTO parent VALUES (1, 7); INSERT INTO child VALUES (10, 1, 'again'); COMMIT",
    ],
)
def test_rows_that_foreign_keys_deleted_or_changed_come_back(server: Server, change: str) -> None:
    drop_databases(server)
    server.sql(REFERRING)
    server.sql("UPDATE small.child SET name = 'new' WHERE id = 10")
    before = all_rows(server)
    undo, unknown = referring_undone(server, change)
    assert all_rows(server) != before
    assert unknown == ()
    server.script(undo)
    assert all_rows(server) == before


@pytest.mark.parametrize(
    ("since", "lost"),
    [
        (
            # MySQL fails to rename columns of two foreign keys at once.
            "ALTER TABLE child RENAME COLUMN id TO number; ALTER TABLE child RENAME COLUMN p TO of_parent;"
            "ALTER TABLE child ADD n INT FIRST;"
            "ALTER TABLE loose RENAME COLUMN id TO number, RENAME COLUMN p TO of_parent;"
            "RENAME TABLE child TO kid; RENAME TABLE loose TO tied; RENAME TABLE parent TO mother",
            [],
        ),
        ("ALTER TABLE loose DROP FOREIGN KEY loose_ibfk_1; DROP TABLE grandchild", ["small.grandchild"]),
        ("ALTER TABLE child DROP COLUMN name; DROP TABLE loose", ["small.child", "small.loose"]),
    ],
)
def test_rows_come_back_under_the_names_of_today(server: Server, since: str, lost: list[str]) -> None:
    drop_databases(server)
    server.sql(REFERRING)
    before = {name: server.query(f"SELECT id, p FROM small.{name} ORDER BY 1") for name in ("child", "loose")}
    undo, unknown = referring_undone(server, "DELETE FROM parent WHERE id < 3", since=since)
    assert sorted(name for line in unknown for name in re.findall(r"small\.\w+", line)) == lost
    server.script(undo)
    names = {"child": "small.kid", "loose": "small.tied"} if "RENAME" in since else {}
    columns = "number, of_parent" if names else "id, p"
    for name, rows in before.items():
        if f"DROP TABLE {name}" not in since:
            table = names.get(name, f"small.{name}")
            assert server.query(f"SELECT {columns} FROM {table} ORDER BY 1") == rows


def test_rows_come_back_without_what_was_rolled_back(server: Server) -> None:
    changed = (
        "BEGIN; SAVEPOINT s; UPDATE child SET name = 'never' WHERE id = 10; ROLLBACK TO s; COMMIT;"
        "XA START 'x'; UPDATE child SET name = 'b' WHERE id = 12; XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';"
        "XA START 'x'; UPDATE child SET name = 'never', p = 3; XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x'"
    )
    undo, unknown = referring_undone(server, "DELETE FROM parent WHERE id = 1", changed=changed)
    assert unknown == ()
    server.script(undo)
    assert all_rows(server)[1] == [("10", "1", "a"), ("11", "1", "B"), ("12", "1", "b"), ("20", "2", "c")]


def test_rows_that_foreign_keys_deleted_and_the_logs_lack_are_listed(mariadb: MariaDBServer) -> None:
    undo, unknown = referring_undone(mariadb, "DELETE FROM parent WHERE id < 3", with_tables=False)
    for name in ("child", "loose"):
        (line,) = [line for line in unknown if f"small.{name} " in line]
        command = rf" --table small.{name} --at mysql-bin.000003:\d+ --format sql --where '`p` IN \(1, 2\)'"
        assert re.search(f"{command} --no-create$", line)
    mariadb.script(undo)
    assert mariadb.query("SELECT id FROM small.parent") == [("1",), ("2",), ("3",)]


def test_a_row_that_others_refer_to_since_is_not_deleted_with_them(server: Server) -> None:
    undo, _ = referring_undone(server, "INSERT INTO parent VALUES (7, 7)")
    server.sql("INSERT INTO small.child VALUES (70, 7, 'later')")
    left = all_rows(server)
    with pytest.raises(ServerError, match="1 rows are not as the log left them"):
        server.script(undo)
    assert all_rows(server) == left


def test_nothing_is_undone_if_the_logs_do_not_say_a_foreign_key(mariadb: MariaDBServer) -> None:
    undo, _ = referring_undone(mariadb, "DELETE FROM parent WHERE id = 3")
    mariadb.sql(
        "USE small; CREATE TABLE other (p INT, CONSTRAINT untold FOREIGN KEY (p) REFERENCES parent (id)"
        " ON DELETE CASCADE) ENGINE = InnoDB"
    )
    with pytest.raises(ServerError, match="foreign keys that the logs do not tell"):
        mariadb.script(undo)


TIED = """
CREATE DATABASE small; USE small;
CREATE TABLE tree (id INT PRIMARY KEY, up INT,
FOREIGN KEY (up) REFERENCES tree (id) ON DELETE CASCADE) ENGINE = InnoDB;
CREATE TABLE a (id INT PRIMARY KEY) ENGINE = InnoDB; CREATE TABLE b (id INT PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE both_ (id INT PRIMARY KEY, a INT REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE,
b INT REFERENCES b (id) ON DELETE CASCADE, v INT) ENGINE = InnoDB;
CREATE TABLE line (a INT, n INT, PRIMARY KEY (a, n),
FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE = InnoDB;
CREATE TABLE detail (id INT PRIMARY KEY, a INT, n INT,
FOREIGN KEY (a, n) REFERENCES line (a, n) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE = InnoDB;
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, 1), (6, NULL), (7, 6);
INSERT INTO a VALUES (1), (2), (3); INSERT INTO b VALUES (1), (2);
INSERT INTO both_ VALUES (1, 1, 1, 1), (2, 1, 2, 2), (3, 2, 1, 3), (4, 2, 2, 4), (5, 3, 2, 5);
INSERT INTO line VALUES (1, 1), (1, 2), (2, 1); INSERT INTO detail VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
"""


def tied_rows(server: Server) -> dict[str, list[tuple[str | None, ...]]]:
    tables = "tree", "a", "b", "both_", "line", "detail"
    return {table: sorted(server.query(f"SELECT * FROM small.{table}"), key=str) for table in tables}


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM tree WHERE id = 1",
        "DELETE FROM a WHERE id = 1; DELETE FROM b WHERE id = 1",
        "BEGIN; DELETE FROM b WHERE id = 2; DELETE FROM a WHERE id < 3; COMMIT",
        "UPDATE a SET id = 9 WHERE id = 3; DELETE FROM both_ WHERE id = 5",
    ],
)
def test_rows_tied_to_several_others_come_back_once(server: Server, change: str) -> None:
    drop_databases(server)
    server.sql(TIED)
    before = tied_rows(server)
    undo, unknown = referring_undone(server, change, tables=TIED, changed="DO 0")
    assert tied_rows(server) != before
    assert unknown == ()
    server.script(undo)
    assert tied_rows(server) == before


@pytest.mark.parametrize("changed", ["DO 0", "UPDATE a SET id = 9 WHERE id = 1"])
def test_rows_that_followed_a_key_and_went_with_it_are_listed(mariadb: MariaDBServer, changed: str) -> None:
    """That they followed is not in the log, and their images have the former key."""
    change = "DELETE FROM a WHERE id IN (2, 9)"
    if changed == "DO 0":
        change = f"UPDATE a SET id = 9 WHERE id = 1; {change}"
    undo, unknown = referring_undone(mariadb, change, tables=TIED, changed=changed)
    for name in ("both_", "line", "detail"):
        assert len([line for line in unknown if f"small.{name} " in line]) == 1, unknown
    mariadb.script(undo)
    found = tied_rows(mariadb)
    assert (found["both_"], found["line"], found["detail"]) == ([("5", "3", "2", "5")], [], [])


FOLLOWING = """
CREATE DATABASE small; USE small; CREATE TABLE a (id INT PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE line (a INT, n INT, PRIMARY KEY (a, n),
FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE = InnoDB;
CREATE TABLE detail (id INT PRIMARY KEY, a INT, n INT,
FOREIGN KEY (a, n) REFERENCES line (a, n) ON DELETE SET NULL ON UPDATE CASCADE) ENGINE = InnoDB;
INSERT INTO a VALUES (1), (2), (3); INSERT INTO line VALUES (1, 1), (1, 2), (2, 1);
INSERT INTO detail VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
"""


@pytest.mark.parametrize(
    "since", ["DO 0", "DELETE FROM detail WHERE id = 1", "UPDATE detail SET n = NULL WHERE id = 3"]
)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE a SET id = 9 WHERE id = 1",
        "UPDATE a SET id = 7 WHERE id = 1; UPDATE a SET id = 9 WHERE id = 7",
    ],
)
def test_rows_that_followed_a_key_follow_it_back(mariadb: MariaDBServer, change: str, since: str) -> None:
    """What happened to them since stays."""
    undo, unknown = referring_undone(mariadb, change, tables=FOLLOWING, changed="DO 0")
    assert unknown == ()
    mariadb.sql(f"USE small; {since}")
    mariadb.script(undo)
    assert mariadb.query("SELECT * FROM small.line") == [("1", "1"), ("1", "2"), ("2", "1")]
    details: list[tuple[str | None, ...]] = [("1", "1", "1"), ("2", "1", "2"), ("3", "2", "1")]
    if since.startswith("DELETE"):
        del details[0]
    elif since.startswith("UPDATE"):
        details[2] = ("3", "2", None)
    assert mariadb.query("SELECT * FROM small.detail") == details


@pytest.mark.parametrize(
    "changed",
    [
        "TRUNCATE both_; INSERT INTO both_ VALUES (8, 2, 1, 8)",
        "ALTER TABLE both_ DROP v, ADD w INT DEFAULT 5; INSERT INTO both_ VALUES (8, 2, 1, 8)",
        "RENAME TABLE both_ TO other; UPDATE other SET v = 9; RENAME TABLE other TO both_",
    ],
)
def test_rows_come_back_as_statements_on_their_table_made_them(mariadb: MariaDBServer, changed: str) -> None:
    drop_databases(mariadb)
    mariadb.sql(f"{TIED} {changed}")
    before = tied_rows(mariadb)
    undo, unknown = referring_undone(mariadb, "DELETE FROM a WHERE id = 2", tables=TIED, changed=changed)
    assert unknown == ()
    mariadb.script(undo)
    assert tied_rows(mariadb) == before


@pytest.mark.parametrize(
    "changed",
    [
        "ALTER TABLE a RENAME COLUMN id TO number",
        "RENAME TABLE a TO aa; ALTER TABLE aa CHANGE id number INT; RENAME TABLE aa TO a",
    ],
)
def test_rows_come_back_whatever_columns_that_they_refer_to_were_called(
    mariadb: MariaDBServer, changed: str
) -> None:
    drop_databases(mariadb)
    mariadb.sql(f"{TIED} {changed}")
    before = tied_rows(mariadb)
    undo, unknown = referring_undone(mariadb, "DELETE FROM a WHERE number = 2", tables=TIED, changed=changed)
    assert tied_rows(mariadb) != before
    assert unknown == ()
    mariadb.script(undo)
    assert tied_rows(mariadb) == before


def test_rows_that_a_statement_changed_are_listed_with_the_command_that_shows_them(
    mariadb: MariaDBServer, capfd: pytest.CaptureFixture[str]
) -> None:
    changed = "SET SESSION binlog_format = STATEMENT; UPDATE both_ SET v = 8"
    undo, unknown = referring_undone(mariadb, "DELETE FROM a WHERE id = 2", tables=TIED, changed=changed)
    (line,) = [line for line in unknown if "small.both_ " in line]
    assert "logged as statements" in line
    mariadb.script(undo)
    assert mariadb.query("SELECT * FROM small.both_ WHERE a = 2") == []
    assert run(shlex.split(line.partition("binx ")[2])) == 3
    shown = capfd.readouterr().out
    assert "(3, 2, 1, 3),\n(4, 2, 2, 4);" in shown
    mariadb.script(shown.encode())
    assert len(mariadb.query("SELECT * FROM small.both_ WHERE a = 2")) == 2


UNCHECKED = "SET foreign_key_checks = 0; DELETE FROM child WHERE id = 1; SET foreign_key_checks = 1;"
CONFLICTS = """
CREATE DATABASE small; USE small;
CREATE TABLE parent (id INT PRIMARY KEY, u INT UNIQUE) ENGINE = InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, p INT, u INT UNIQUE,
FOREIGN KEY (p) REFERENCES parent (id) ON UPDATE {action}) ENGINE = InnoDB;
INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3), (4, 4); INSERT INTO child VALUES (1, 1, 1), (2, 2, 2);
CREATE TABLE tree (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree (id)
ON DELETE CASCADE) ENGINE = InnoDB; INSERT INTO tree VALUES (1, 1), (2, 2);
"""


@pytest.mark.parametrize(
    ("change", "since", "told"),
    [
        ("UPDATE parent SET id = id + 10 WHERE id > 2", "INSERT INTO parent VALUES (4, 44)", "parent id=14"),
        ("UPDATE parent SET u = u + 10 WHERE id > 2", "INSERT INTO parent VALUES (5, 4)", "parent id=4"),
        ("INSERT INTO parent VALUES (7, 7), (8, 8)", "INSERT INTO child VALUES (8, 8, 8)", "parent id=8"),
        ("UPDATE child SET p = p + 2", "DELETE FROM parent WHERE id = 2", "child id=2"),
        (
            "UPDATE parent SET id = id + 10 WHERE id > 2",
            "INSERT INTO child VALUES (9, 14, 9)",
            "parent id=14",
        ),
        ("DELETE FROM child", "DELETE FROM parent WHERE id = 2", "child id=2"),
        (f"{UNCHECKED} DELETE FROM child WHERE id = 2", "DELETE FROM parent WHERE id = 2", "child id=2"),
        (f"{UNCHECKED} UPDATE child SET p = 4 WHERE id = 2", "DELETE FROM parent WHERE id = 2", "child id=2"),
        ("DELETE FROM child", "INSERT INTO child VALUES (2, 3, 9)", "child id=2"),
        ("DELETE FROM tree", "INSERT INTO tree VALUES (2, NULL)", "tree id=2"),
    ],
)
@pytest.mark.parametrize("action", ["RESTRICT", "SET NULL"])
def test_a_row_that_others_are_in_the_way_of_is_listed_and_ends_no_other(
    server: Server, action: str, change: str, since: str, told: str
) -> None:
    """Each change is one of two rows; the other one is undone."""
    made, mistake = logs_of(server, CONFLICTS.format(action=action), f"USE small; {change}")
    server.sql(f"USE small; {since}")
    later = server.query("SELECT * FROM small.child WHERE id > 7")
    lines = server.script(undo_of(mistake, tables=made, on_conflict=OnConflict.SKIP)).splitlines()
    table = told.partition(" ")[0]
    assert lines == [f"small.{told}; ", f"small.{table}\t1\t1"]
    assert server.query("SELECT * FROM small.child WHERE id > 7") == later


SPELLED = """
CREATE DATABASE small; USE small;
CREATE TABLE parent (k VARCHAR(9) {collation} PRIMARY KEY) ENGINE = InnoDB CHARSET {charset};
CREATE TABLE child (id INT PRIMARY KEY, p VARCHAR(9) {collation}, q VARCHAR(9) UNIQUE, FOREIGN KEY (p)
REFERENCES parent (k) ON DELETE {delete} ON UPDATE {update}) ENGINE = InnoDB CHARSET {charset};
CREATE TABLE grandchild (id INT PRIMARY KEY, c INT REFERENCES child (id) ON DELETE CASCADE) ENGINE = InnoDB;
INSERT INTO parent VALUES ('A'), ('B'), ('é'), ('strasse');
INSERT INTO child VALUES (1, 'A', 'x'), (2, 'a', 'y'), (3, 'a ', 'z'), (4, 'b', 'u'), (5, 'e', 'v'),
(6, 'straße', 'w'), (7, 'STRASSE', 's');
INSERT INTO grandchild VALUES (1, 1), (2, 2), (4, 4);
"""
"""Rows that refer to others by keys which the collation alone makes equal."""


@pytest.mark.parametrize(
    ("charset", "collation"),
    [("utf8mb4", "COLLATE utf8mb4_unicode_ci"), ("latin1", "COLLATE latin1_german2_ci")],
)
@pytest.mark.parametrize(
    ("delete", "update", "change"),
    [
        ("CASCADE", "RESTRICT", "DELETE FROM parent WHERE k <> 'B'"),
        ("SET NULL", "RESTRICT", "DELETE FROM parent WHERE k <> 'B'"),
        ("RESTRICT", "CASCADE", "UPDATE parent SET k = CONCAT(k, 1) WHERE k <> 'B'"),
        ("RESTRICT", "SET NULL", "UPDATE parent SET k = CONCAT(k, 1) WHERE k <> 'B'"),
    ],
)
def test_rows_that_only_a_collation_ties_to_others_are_listed(
    mariadb: MariaDBServer, delete: str, update: str, change: str, charset: str, collation: str
) -> None:
    tables = SPELLED.format(delete=delete, update=update, charset=charset, collation=collation)
    tables = f"SET NAMES utf8mb4; {tables}"
    undo, unknown = referring_undone(mariadb, change, tables=tables, changed="DO 0")
    (line,) = [line for line in unknown if "small.child " in line]
    assert "only a collation tells" in line
    assert re.search(r"binx state .* --table small.child --at \S+ --format sql --no-create$", line)
    assert len([line for line in unknown if "small.grandchild " in line]) == (delete == "CASCADE")
    mariadb.script(undo)
    assert ("4", "b") in mariadb.query("SELECT id, p FROM small.child")
    assert len(mariadb.query("SELECT * FROM small.parent")) == 4


@pytest.mark.parametrize("collation", ["utf8mb4_bin", "utf8mb4_nopad_bin", "utf8mb4_unicode_ci"])
@pytest.mark.parametrize("spelling", ["b", "b "])
def test_rows_that_refer_by_the_same_text_come_back(
    mariadb: MariaDBServer, collation: str, spelling: str
) -> None:
    """Other spellings of any row's text leave open which rows went."""
    tables = (
        "CREATE DATABASE small; USE small; CREATE TABLE parent (k VARCHAR(9) PRIMARY KEY) ENGINE = InnoDB"
        f" COLLATE {collation}; CREATE TABLE child (id INT PRIMARY KEY, p VARCHAR(9) REFERENCES parent (k) ON"
        f" DELETE CASCADE) ENGINE = InnoDB COLLATE {collation}; INSERT INTO parent VALUES ('a'), ('b');"
        f" SET foreign_key_checks = 0; INSERT INTO child VALUES (1, 'a'), (2, '{spelling}'), (3, 'a')"
    )
    undo, unknown = referring_undone(
        mariadb, "DELETE FROM parent WHERE k = 'a'", tables=tables, changed="DO 0"
    )
    assert [*map(bool, unknown)] == [True] * (spelling == "b ")
    mariadb.script(undo)
    assert len(mariadb.query("SELECT id FROM small.child")) == (1 if unknown else 3)


ODD_KEYS = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = 'ALLOW_INVALID_DATES';
CREATE TABLE parent (id DATE PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE child (id DATETIME PRIMARY KEY, p DATE, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)
ENGINE = InnoDB;
CREATE TABLE owner (e ENUM('a', 'b'), b BINARY(2), PRIMARY KEY (e, b)) ENGINE = InnoDB;
CREATE TABLE owned (id INT PRIMARY KEY, e ENUM('a', 'b'), b BINARY(2),
FOREIGN KEY (e, b) REFERENCES owner (e, b) ON DELETE CASCADE) ENGINE = InnoDB;
INSERT INTO parent VALUES ('0000-00-00'), ('2024-00-00'), ('2024-01-00'), ('2024-01-01');
INSERT INTO child VALUES ('2024-00-00', '2024-00-00'), ('2024-01-00', '2024-00-00'), (0, 0),
('2024-02-31 01:02:03', '2024-01-01'), ('2024-01-01', '2024-01-00');
SET SESSION sql_mode = ''; INSERT INTO owner VALUES ('a', x'00ff'), (0, x'ff00'), ('b', x'ff00');
INSERT INTO owned VALUES (1, 'a', x'00ff'), (2, 0, x'ff00'), (3, 'b', x'ff00');
"""


@pytest.mark.parametrize("table", ["parent", "owner"])
def test_rows_come_back_by_keys_that_columns_hold_and_sessions_reject(server: Server, table: str) -> None:
    """Zero and partial dates as keys, and an ENUM's error value, which no strict session accepts."""

    def rows() -> list[list[tuple[str | None, ...]]]:
        child = server.query("SELECT id, p FROM small.child ORDER BY id")
        return [child, server.query("SELECT id, e, HEX(b) FROM small.owned ORDER BY id")]

    drop_databases(server)
    server.sql(ODD_KEYS)
    before = rows()
    change = f"DELETE FROM {table} WHERE 1 = 1"
    undo, unknown = referring_undone(server, change, tables=ODD_KEYS, changed="DO 0")
    assert rows() != before
    assert unknown == ()
    server.script(undo)
    assert rows() == before


LOST = {
    "DELETE FROM child WHERE id = 20": ["small.grandchild"],
    "UPDATE parent SET v = 7": [],
    "UPDATE parent SET id = 9 WHERE id = 3": ["small.loose"],
    "DELETE FROM parent": ["small.child", "small.grandchild", "small.loose"],
}
"""Changes, and the tables with rows that foreign keys change along."""


def reversed_of(server: Server, change: str, undo: Path, form: SliceFormat = SliceFormat.BINLOG) -> list[str]:
    """Make a change and write what undoes it; gives the tables of which that may lack rows."""
    server.flush_logs()
    log_of(server, f"USE small; {change}")
    *logs, _ = [str(path) for path in server.binlogs()]
    with open_chain(logs) as chain:
        wanted = Selection(start=Position(Path(logs[-1]).name, 4))
        report = extract_undo(chain, wanted, str(undo), ExtractOptions(form))
    return [line.split()[2] for line in report.damage]


def test_a_reversed_log_says_which_tables_may_have_lost_rows(mariadb: MariaDBServer, tmp_path: Path) -> None:
    empty(mariadb)
    mariadb.sql(REFERRING)
    assert {change: reversed_of(mariadb, change, tmp_path / "undo") for change in LOST} == LOST


ARRIVED = {
    "INSERT INTO child VALUES (50, 4, 'since')": "small.child",
    "UPDATE loose SET p = 4 WHERE id = 1": "small.loose",
    "UPDATE parent SET v = 9 WHERE id = 4; INSERT INTO loose VALUES (50, 4)": "small.loose",
    "INSERT INTO child VALUES (50, 4, 'since'); UPDATE child SET id = 51, p = 1 WHERE id = 50;"
    "INSERT INTO loose VALUES (50, 4); DELETE FROM loose WHERE id = 50; INSERT INTO parent VALUES (5, 5);"
    "INSERT INTO child VALUES (60, 5, 'other')": "",
}


@pytest.mark.parametrize("since", ARRIVED)
def test_a_reversed_log_does_not_delete_rows_that_came_since(
    server: Server, since: str, tmp_path: Path
) -> None:
    empty(server)
    server.sql(REFERRING)
    server.flush_logs()
    log_of(server, "USE small; INSERT INTO parent VALUES (4, 4); INSERT INTO child VALUES (40, 4, 'too')")
    log_of(server, f"USE small; {since}")
    *logs, _ = [str(path) for path in server.binlogs()]
    mistake, undo = Path(logs[-2]).name, tmp_path / "undo"
    with open_chain(logs) as chain:
        wanted = Selection(start=Position(mistake, 4), stop=Position(Path(logs[-1]).name, 4))
        if ARRIVED[since]:
            with pytest.raises(RefusedError, match=f"rows of {ARRIVED[since]} came since that refer to"):
                extract_undo(chain, wanted, str(undo))
            assert not undo.exists()
            return
        extract_undo(chain, wanted, str(undo))
    options = [] if server.client == "mariadb" else ["--skip-gtids"]
    server.script(server.mysqlbinlog(undo, *options))
    assert server.query("SELECT id FROM small.parent") == [("1",), ("2",), ("3",), ("5",)]
    assert server.query("SELECT id FROM small.child WHERE id > 39") == [("51",), ("60",)]


@pytest.mark.parametrize("action", ["CASCADE", "SET NULL"])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE a SET id = id + 10",
        "DELETE FROM a WHERE id < 3; UPDATE a SET id = 4",
        "BEGIN; UPDATE a SET id = 9 WHERE id = 1; DELETE FROM a; INSERT INTO a VALUES (7); COMMIT",
    ],
)
def test_rows_that_mysql_logs_with_those_that_they_followed_go_back_with_them(
    mysql: MySQLServer, change: str, action: str, tmp_path: Path
) -> None:
    empty(mysql)
    mysql.sql(
        "CREATE DATABASE small; USE small; CREATE TABLE a (id INT PRIMARY KEY);"
        "CREATE TABLE line (a INT PRIMARY KEY,"
        " FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE);"
        "CREATE TABLE detail (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES line (a)"
        f" ON DELETE {action} ON UPDATE {action}); INSERT INTO a VALUES (1), (2), (3);"
        "INSERT INTO line VALUES (1), (2); INSERT INTO detail VALUES (1, 1), (2, 1), (3, 2)"
    )
    orders = [f"SELECT * FROM small.{name} ORDER BY 1" for name in ("a", "line", "detail")]
    before = [mysql.query(order) for order in orders]
    assert reversed_of(mysql, change, tmp_path / "undo") == []
    assert [mysql.query(order) for order in orders] != before
    mysql.script(mysql.mysqlbinlog("--skip-gtids", tmp_path / "undo"))
    assert [mysql.query(order) for order in orders] == before


@pytest.mark.parametrize("form", [SliceFormat.BINLOG, SliceFormat.SQL])
@pytest.mark.parametrize(
    "change",
    [
        "REPLACE parent VALUES (2, 9)",
        "REPLACE parent VALUES (1, 9), (4, 4), (3, 9); REPLACE child VALUES (10, 2, 'x'), (99, 2, 'y')",
        "BEGIN; UPDATE child SET p = 3; REPLACE parent VALUES (3, 9); DELETE FROM child; COMMIT",
    ],
)
def test_rows_that_refer_to_one_that_mysql_replaces_stay(
    mysql: MySQLServer, change: str, form: SliceFormat, tmp_path: Path
) -> None:
    empty(mysql)
    mysql.sql(REFERRING)
    before = all_rows(mysql)
    assert reversed_of(mysql, change, tmp_path / "undo", form) == []
    left = all_rows(mysql)
    is_sql = form is SliceFormat.SQL
    mysql.script(
        (tmp_path / "undo").read_bytes() if is_sql else mysql.mysqlbinlog("--skip-gtids", tmp_path / "undo")
    )
    assert all_rows(mysql) == before
    if is_sql:
        replayed, catalog = io.BytesIO(), Catalog()
        write_nothing(mysql.binlogs()[0], catalog)
        write_sql(everything([mysql.binlogs()[-2]]), replayed, catalog)
        mysql.script(re.sub(rb"SET @@session.gtid_next='.*", b"", replayed.getvalue()))
        assert all_rows(mysql) == left


def unlogged_in_data_set(server: Server, lake: Path) -> set[str]:
    """The tables of which a data set says that foreign keys may have changed rows without a log."""
    export_last(server, lake)
    [manifest] = (lake / "_manifest").glob("*.json")
    tables = json.loads(manifest.read_text())["tables"]
    return {entry["table"] for entry in tables if "cascades_unlogged" in entry}


def test_rows_that_mysql_logs_as_deleted_twice_come_back_once(mysql: MySQLServer, tmp_path: Path) -> None:
    empty(mysql)
    mysql.sql(REFERRING)
    before = all_rows(mysql)
    change = "DELETE parent, child FROM parent JOIN child ON child.p = parent.id WHERE parent.id = 1"
    assert reversed_of(mysql, change, tmp_path / "undo", SliceFormat.SQL) == []
    mysql.script((tmp_path / "undo").read_bytes())
    assert all_rows(mysql) == before
    assert unlogged_in_data_set(mysql, tmp_path / "lake") == set()


def test_mysql_whose_storage_engine_follows_keys_logs_no_rows_for_them(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.stop()
    mysql.start(["--innodb-native-foreign-keys=ON"])
    try:
        for change in LOST:
            empty(mysql)
            mysql.sql(REFERRING)
            before = all_rows(mysql)
            assert reversed_of(mysql, change, tmp_path / "undo", SliceFormat.SQL) == []
            mysql.script((tmp_path / "undo").read_bytes())
            assert all_rows(mysql) == before
        assert {change: reversed_of(mysql, change, tmp_path / "undo") for change in LOST} == LOST
        mysql.sql("INSERT INTO small.parent VALUES (9, 9); DELETE FROM small.parent")
        assert "parent" in unlogged_in_data_set(mysql, tmp_path / "lake")
    finally:
        mysql.stop()
        mysql.start()


ROUNDS = int(os.environ.get("ROUNDS") or "3")


def test_each_row_is_as_it_was_or_listed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    base = os.environ.get("SEED") or str(random.SystemRandom().getrandbits(32))
    for number in range(ROUNDS):
        monkeypatch.setattr(joined_rows, "FEWEST", (1, 10)[number % 2])
        played = UndoRound(server, f"{base}-{number}")
        try:
            outcome = played.play()
        except Exception as error:
            error.add_note(f"SEED={base}, round {number}")
            raise
        print(f"{base}-{number}: {outcome}")
