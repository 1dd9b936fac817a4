"""Reversed binary logs where statements have changed tables since: the names of today, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.errors import AbsentError, RefusedError
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.slices.options import ExtractOptions
from binx.undo.extract_undo import extract_undo
from testdata.servers import Server
from tests.live.logs import logs_of
from tests.live.undo.test_undo import MOVED, undo_since

MISTAKE = (
    "USE small; UPDATE t SET v = v + 10, note = 'x'; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES"
    " (9, 9, 'z', 7, NULL); DELETE FROM gone"
)
WAS = [("1", "1", "a"), ("2", "2", "b"), ("3", "3", "c")]


def apply(server: Server, undo: Path) -> None:
    server.script(server.mysqlbinlog(undo, *([] if server.client == "mariadb" else ["--skip-gtids"])))


@pytest.fixture(params=["MINIMAL", "FULL"])
def metadata(request: pytest.FixtureRequest, server: Server) -> object:
    server.sql(f"SET GLOBAL binlog_row_metadata = {request.param}")
    yield request.param
    server.sql("SET GLOBAL binlog_row_metadata = DEFAULT")


@pytest.mark.usefixtures("metadata")
@pytest.mark.parametrize(
    ("since", "name", "columns"),
    [
        ("RENAME TABLE t TO items", "small.items", "id, v, note"),
        ("CREATE DATABASE other; RENAME TABLE owner TO o2, t TO other.t", "other.t", "id, v, note"),
        # Another table has the name by now.
        (
            "RENAME TABLE t TO t2; CREATE TABLE t LIKE t2; INSERT INTO t (id) VALUES (2)",
            "small.t2",
            "id, v, note",
        ),
        ("CREATE TABLE s LIKE t; RENAME TABLE t TO tmp, s TO t, tmp TO s", "small.s", "id, v, note"),
        ("ALTER TABLE t CHANGE v worth INT, RENAME COLUMN note TO remark", "small.t", "id, worth, remark"),
        ("ALTER TABLE t RENAME COLUMN v TO x; ALTER TABLE t RENAME COLUMN note TO v", "small.t", "id, x, v"),
        ("ALTER TABLE t ADD KEY (note(9)), ADD COLUMN extra INT DEFAULT 5", "small.t", "id, v, note"),
        ("ALTER TABLE t ADD c INT FIRST; ALTER TABLE t DROP COLUMN c", "small.t", "id, v, note"),
        (
            "CREATE TABLE _t_gho LIKE t; ALTER TABLE _t_gho ADD extra INT; INSERT INTO _t_gho"
            " (id, v, note, old, o) SELECT id, v, note, old, o FROM t; RENAME TABLE t TO _t_del, _t_gho TO t;"
            " DROP TABLE _t_del",
            "small.t",
            "id, v, note",
        ),
        # Tables that take turns, and one that an empty one replaces, are others from then on.
        (
            "CREATE TABLE s LIKE t; CREATE TABLE r LIKE t; INSERT INTO r (id) VALUES (2);"
            " RENAME TABLE s TO x, t TO s, r TO t, x TO r",
            "small.s",
            "id, v, note",
        ),
        ("CREATE TABLE t_new LIKE t; RENAME TABLE t TO t_2026, t_new TO t", "small.t_2026", "id, v, note"),
        ("DROP TABLE gone", "small.t", "id, v, note"),
        ("DROP TABLE gone; CREATE TABLE gone (id INT PRIMARY KEY)", "small.t", "id, v, note"),
    ],
)
def test_rows_are_undone_under_the_names_of_today(
    server: Server, since: str, name: str, columns: str, tmp_path: Path
) -> None:
    report = undo_since(server, MISTAKE, since, tmp_path / "undo")
    apply(server, tmp_path / "undo")
    assert server.query(f"SELECT {columns} FROM {name} WHERE id < 10 ORDER BY id") == WAS
    dropped = "small.gone was dropped since: its rows are not undone"
    assert [*report.damage] == ([dropped] if "DROP TABLE gone" in since else [])
    if "DROP TABLE gone" not in since:
        assert server.query("SELECT id FROM small.gone") == [("1",)]
    elif "CREATE TABLE gone" in since:
        assert server.query("SELECT id FROM small.gone") == []


@pytest.mark.usefixtures("metadata")
@pytest.mark.parametrize(
    "since",
    [
        "ALTER TABLE t DROP COLUMN old",
        # A value would go to another column of the same type.
        "ALTER TABLE t MODIFY old INT AFTER id",
        "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t ADD COLUMN extra INT FIRST",
        "ALTER TABLE t MODIFY v BIGINT",
        "ALTER TABLE t CONVERT TO CHARACTER SET latin1",
        "CREATE TABLE _t_gho LIKE t; ALTER TABLE _t_gho DROP COLUMN old; INSERT INTO _t_gho"
        " (id, v, note, o) SELECT id, v, note, o FROM t; RENAME TABLE t TO _t_del, _t_gho TO t",
    ],
)
def test_columns_in_other_places_are_refused_with_the_way_on(
    server: Server, since: str, tmp_path: Path
) -> None:
    with pytest.raises(RefusedError, match=r"changes in small\.t, whose columns .*--format sql"):
        undo_since(server, MISTAKE, since, tmp_path / "undo")
    assert not (tmp_path / "undo").exists()
    with open_chain([str(log) for log in server.binlogs()[:-1]]) as chain:
        wanted = Selection(
            start=Position(server.binlogs()[-3].name, 4),
            stop=Position(server.binlogs()[-2].name, 4),
            exclude_tables=("small.t",),
        )
        extract_undo(chain, wanted, str(tmp_path / "undo"))
    apply(server, tmp_path / "undo")
    assert server.query("SELECT id FROM small.gone") == [("1",)]


def test_where_all_that_changed_was_dropped_since_nothing_is_written(server: Server, tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match=r"small\.gone was dropped since: its rows are not undone"):
        undo_since(server, "USE small; DELETE FROM gone", "DROP TABLE gone", tmp_path / "undo")


def test_names_of_today_go_with_names_of_other_databases(server: Server, tmp_path: Path) -> None:
    since = (
        "RENAME TABLE t TO items; CREATE DATABASE IF NOT EXISTS another;"
        "DROP TABLE IF EXISTS another.items, another.gone; CREATE TABLE another.items LIKE items;"
        "INSERT INTO another.items SELECT * FROM items; CREATE TABLE another.gone LIKE gone"
    )
    options = ExtractOptions(databases={"small": "another"})
    undo_since(server, MISTAKE, since, tmp_path / "undo", options)
    apply(server, tmp_path / "undo")
    assert server.query("SELECT id, v, note FROM another.items ORDER BY id") == WAS
    assert len(server.query("SELECT id FROM small.items")) == 3


@pytest.mark.parametrize(
    "since",
    [
        "RENAME TABLE t TO items; INSERT INTO items VALUES (50, 50, '', 1, 5)",
        "RENAME TABLE owner TO o2, t TO items; INSERT INTO items VALUES (50, 50, '', 1, 5)",
        "INSERT INTO t VALUES (50, 50, '', 1, 5); RENAME TABLE owner TO o2, t TO items",
        "INSERT INTO t VALUES (50, 50, '', 1, 5); ALTER TABLE t RENAME COLUMN o TO whose;"
        " ALTER TABLE owner RENAME COLUMN id TO number",
    ],
)
def test_rows_that_came_since_are_found_under_all_names(server: Server, since: str, tmp_path: Path) -> None:
    """A foreign key would take them along."""
    tables = f"{MOVED} ALTER TABLE t ADD FOREIGN KEY (o) REFERENCES owner (id) ON DELETE CASCADE"
    with pytest.raises(RefusedError, match=r"rows of small\.(t|items) came since that refer to"):
        undo_since(server, "USE small; INSERT INTO owner VALUES (5)", since, tmp_path / "undo", tables=tables)


def test_versioning_that_was_dropped_since_is_refused(mariadb: Server, tmp_path: Path) -> None:
    logs = logs_of(
        mariadb,
        "CREATE DATABASE small; CREATE TABLE small.t (id INT PRIMARY KEY) WITH SYSTEM VERSIONING",
        "INSERT INTO small.t VALUES (1)",
        "ALTER TABLE small.t DROP SYSTEM VERSIONING",
    )
    start, stop = (Position(log.name, 4) for log in logs[1:])
    refused = pytest.raises(RefusedError, match=r"changes in small\.t, whose columns")
    with open_chain([str(log) for log in logs]) as chain, refused:
        extract_undo(chain, Selection(start=start, stop=stop), str(tmp_path / "undo"))
