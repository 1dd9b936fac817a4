"""What undoes transactions, run on the server that has them, brings back the rows that were there before."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from binx.errors import RefusedError
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.log.selection.times import Position
from binx.rows.ddl.catalog import Catalog
from binx.slices.extraction import ExtractReport, extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.slices.sql.write import write_sql
from binx.undo import joined_rows
from binx.undo.extract_undo import extract_undo
from binx.undo.options import OnConflict
from binx.undo.script import write_undo
from testdata.expected import rows_document
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.small import drop_databases
from tests.exports import export
from tests.live.logs import empty, log_of, logs_of
from tests.slices.sql.sql_of import everything

TABLES = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE keyed (id INT PRIMARY KEY, t VARCHAR(20), f FLOAT, j JSON, e ENUM('a', 'b'), b BLOB,
ts TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
g INT AS (id + 1) STORED, UNIQUE (t));
CREATE TABLE pair (a INT, b VARCHAR(9), v DECIMAL(9,2), PRIMARY KEY (b, a));
CREATE TABLE keyless (t VARCHAR(20), l TEXT CHARACTER SET latin1, d DOUBLE, dt DATETIME(6), z TIME(3));
CREATE TABLE parent (id INT PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id));
CREATE TABLE alike (id INT PRIMARY KEY, e ENUM('', 'a', 'b'), s SET('x', '', 'y'));
CREATE TABLE wide (t VARCHAR(9) PRIMARY KEY, e ENUM('é', 'a')) CHARACTER SET utf16;
INSERT INTO alike VALUES (1, 0, 0), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, '', 7), (6, NULL, NULL);
INSERT INTO keyed (id, t, f, j, e, b) VALUES (1, 'one', 0.1, '{"a": [1, 2.5]}', 'a', x'00ff'),
(2, 'two', 0.2, 'null', '', NULL), (3, NULL, NULL, NULL, NULL, x'');
INSERT INTO pair VALUES (1, 'x', 1.50), (2, 'x', -2), (1, 'y', NULL);
INSERT INTO keyless VALUES ('a', 'é', 0.1, '0000-00-00', '-01:00:00.5'), ('a', 'é', 0.1, '0000-00-00',
'-01:00:00.5'), ('A', 'E', 0.1, NULL, NULL), ('a ', 'e', -0.0, '2026-00-01', '0');
INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (10, 1), (20, 2);
INSERT INTO wide VALUES ('é', 'é'), ('日', 'a');
"""

KEYLESS = """BEGIN; INSERT INTO keyless SELECT * FROM keyless;
SAVEPOINT s; DELETE FROM keyless; ROLLBACK TO s;
UPDATE keyless SET d = d + 1 WHERE BINARY t = 'a' LIMIT 1;
DELETE FROM keyless WHERE BINARY t = 'A' LIMIT 1; COMMIT;
"""

CHANGES = f"""
USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
UPDATE keyed SET id = id + 10 ORDER BY id DESC;
UPDATE keyed SET t = CONCAT(COALESCE(t, ''), '!'), f = f * 3, e = 'b', j = JSON_OBJECT('n', id);
UPDATE alike SET e = (e + 1) % 4, s = s ^ 5; DELETE FROM alike WHERE e < 2;
UPDATE wide SET t = CONCAT(t, 'x'); DELETE FROM wide WHERE e = 'a';
BEGIN; UPDATE pair SET v = 7; UPDATE alike SET e = 'c'; UPDATE pair SET v = 8; COMMIT;
BEGIN; DELETE FROM keyed WHERE id = 11; INSERT INTO keyed (id, t, j) VALUES (11, 'again', '[]');
UPDATE pair SET a = a + 1, v = v * 2 ORDER BY a DESC; DELETE FROM pair WHERE b = 'y'; COMMIT;
{KEYLESS}BEGIN; DELETE FROM child WHERE id = 10;
DELETE FROM parent WHERE id = 1; INSERT INTO parent VALUES (3);
UPDATE child SET parent = 3; COMMIT;
SET foreign_key_checks = 0; UPDATE child SET parent = 99; SET foreign_key_checks = 1;
XA START 'kept'; INSERT INTO parent VALUES (50); XA END 'kept'; XA PREPARE 'kept'; XA COMMIT 'kept';
XA START 'left'; INSERT INTO parent VALUES (60); XA END 'left'; XA PREPARE 'left'; XA ROLLBACK 'left';
"""


def undo_of(path: Path, *, on_conflict: OnConflict = OnConflict.STOP, tables: Path | None = None) -> bytes:
    """What undoes all that a log holds; ``tables`` is a log that made the tables before."""
    catalog = Catalog()
    if tables is not None:
        write_nothing(tables, catalog)
    output = io.BytesIO()
    write_undo(everything([path]), output, catalog, on_conflict=on_conflict)
    return output.getvalue()


def write_nothing(path: Path, catalog: Catalog) -> None:
    """Have a catalog know the tables that a log makes."""
    write_sql(everything([path]), io.BytesIO(), catalog)


@pytest.mark.parametrize("fewest", [1, 10])
@pytest.mark.parametrize("on_conflict", OnConflict)
@pytest.mark.parametrize("image", ["FULL", "NOBLOB"])
def test_rows_are_as_they_were(
    server: Server, monkeypatch: pytest.MonkeyPatch, image: str, on_conflict: OnConflict, fewest: int
) -> None:
    monkeypatch.setattr(joined_rows, "FEWEST", fewest)
    [made] = logs_of(server, TABLES)
    before = rows_document(server)["tables"]
    changes = CHANGES
    if image == "NOBLOB":
        changes = "SET SESSION binlog_row_image = 'NOBLOB';" + changes.replace(
            ", j = JSON_OBJECT('n', id)", ""
        )
        changes = changes.replace(
            "DELETE FROM keyed WHERE id = 11; INSERT INTO keyed (id, t, j)", ""
        ).replace("VALUES (11, 'again', '[]');", "")
    log = log_of(server, changes)
    changed = rows_document(server)["tables"]
    assert any(changed[name]["rows"] != before[name]["rows"] for name in before)
    # What is undone is undone again.
    for wanted in (before, changed):
        server.script(undo_of(log, on_conflict=on_conflict, tables=made))
        found = rows_document(server)["tables"]
        for name, table in wanted.items():
            assert found[name]["rows"] == table["rows"], name
        server.flush_logs()
        log = server.binlogs()[-2]


REPLACED = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT NOT NULL UNIQUE, v INT, b TEXT);
INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y');
"""


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_what_replace_leaves_out_of_mariadbs_partial_images_is_reported(
    mariadb: MariaDBServer, image: str, tmp_path: Path
) -> None:
    session = f"USE small; SET SESSION binlog_row_image = {image};"
    replace, load = "/* why */ REPLACE INTO t (id)", "LOAD DATA LOCAL INFILE 'rows' REPLACE INTO TABLE t (id)"
    (tmp_path / "rows").write_text("1\n")
    for statement in (f"{replace} VALUES (1)", f"{replace} SELECT 1", load):
        made, *_ = logs_of(mariadb, REPLACED)
        mariadb.script(f"{session} {statement}", folder=tmp_path)
        mariadb.flush_logs()
        log = mariadb.binlogs()[1]
        with pytest.raises(RefusedError, match=r"updates by REPLACE in `small`.`t` whose images lack"):
            undo_of(log, tables=made)
        with open_chain([str(made), str(log)]) as chain:
            script = ExtractOptions(SliceFormat.SQL)
            (unknown,) = extract(chain, Selection(), str(tmp_path / "script"), script).damage
        assert unknown.startswith("REPLACE set columns of small.t to their defaults")
        export(tmp_path / "set", [made])
        (report,) = export(tmp_path / "set", [log])
        assert report.manifest["losses"][0].startswith("small.t: 1 update by REPLACE")
    log = log_of(mariadb, f"{session} INSERT INTO t (id) VALUES (2) ON DUPLICATE KEY UPDATE v = 3")
    (report,) = export(tmp_path / "set", [log])
    assert report.manifest["losses"] == []


EMPTY_SHAPES = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2);
ALTER TABLE t ADD place POINT NOT NULL;
"""


def test_empty_values_of_a_shape_that_mariadb_gives_are_read_and_found(
    mariadb: MariaDBServer, tmp_path: Path
) -> None:
    [made] = logs_of(mariadb, EMPTY_SHAPES)
    before = rows_document(mariadb)["tables"]
    log = log_of(mariadb, "UPDATE small.t SET id = id + 10")
    export(tmp_path, [made, log])
    (changes,) = (tmp_path / "changes/small/t").glob(f"{log.name}.*.parquet")
    assert pq.ParquetFile(changes).read(["place"]).to_pylist() == [{"place": {"srid": 0, "wkb": b""}}] * 4
    mariadb.script(undo_of(log, tables=made))
    assert rows_document(mariadb)["tables"] == before
    with pytest.raises(RefusedError, match="an empty value in `place`"):
        undo_of(log_of(mariadb, "DELETE FROM small.t"), tables=made)


def test_empty_vectors_that_mysql_gives_are_found_but_not_written(mysql: MySQLServer) -> None:
    [made] = logs_of(mysql, EMPTY_SHAPES.replace("place POINT", "v VECTOR(2)"))
    before = rows_document(mysql)["tables"]
    log = log_of(mysql, "UPDATE small.t SET id = id + 10")
    mysql.script(undo_of(log, tables=made))
    assert rows_document(mysql)["tables"] == before
    mysql.flush_logs()
    for change in (
        "UPDATE small.t SET v = STRING_TO_VECTOR('[1, 2]') WHERE id = 1",
        "DELETE FROM small.t WHERE id = 2",
    ):
        log = log_of(mysql, change)
        with pytest.raises(RefusedError, match="an empty value in `v`"):
            undo_of(log, tables=made)


AGAIN = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, v INT, u INT UNIQUE) ENGINE = InnoDB;
CREATE TABLE keyless (v INT, name VARCHAR(9)) ENGINE = InnoDB;
INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6);
INSERT INTO keyless VALUES (1, 'a'), (2, 'b');
"""
MISTAKE = """
USE small; UPDATE t SET v = 0 WHERE id < 4; DELETE FROM t WHERE id > 3;
INSERT INTO t VALUES (7, 7, 7), (8, 8, 8);
UPDATE keyless SET v = 0;
"""
SINCE = """
USE small; UPDATE t SET v = 99 WHERE id = 2; INSERT INTO t VALUES (4, 44, 44), (50, 55, 5);
UPDATE t SET v = 77 WHERE id = 7; UPDATE keyless SET name = 'c' WHERE name = 'b';
"""
AS_LEFT = [("1", "0"), ("2", "99"), ("3", "0"), ("4", "44"), ("7", "77"), ("8", "8"), ("50", "55")]
SKIPPED = [("1", "1"), ("2", "99"), ("3", "3"), ("4", "44"), ("6", "6"), ("7", "77"), ("50", "55")]
AS_BEFORE = [("1", "1"), ("2", "2"), ("3", "3"), ("4", "4"), ("5", "5"), ("6", "6")]
FORCED = [("1", "1"), ("2", "2"), ("3", "3"), ("4", "4"), ("6", "6"), ("50", "55")]
COUNTS = ["small.keyless\t1\t1", "small.t\t4\t4"]


def changed_again(server: Server, on_conflict: OnConflict) -> bytes:
    """What undoes a mistake after which some of its rows were changed again."""
    made, log = logs_of(server, AGAIN, MISTAKE)
    server.sql(SINCE)
    return undo_of(log, on_conflict=on_conflict, tables=made)


def rows(server: Server) -> list[tuple[str | None, ...]]:
    return server.query("SELECT id, v FROM small.t ORDER BY id")


def test_nothing_is_undone_if_rows_were_changed_since_and_the_client_names_them(server: Server) -> None:
    undo = changed_again(server, OnConflict.STOP)
    with pytest.raises(ServerError, match="NOTHING WAS UNDONE: 5 rows are not as the log left them"):
        server.script(undo)
    assert rows(server) == AS_LEFT
    # A client that goes on after errors undoes nothing either.
    assert len(server.attempt(undo)) == 1
    assert rows(server) == AS_LEFT


def test_rows_changed_since_can_be_skipped_and_are_listed_with_counts(server: Server) -> None:
    lines = server.script(changed_again(server, OnConflict.SKIP)).splitlines()
    assert rows(server) == SKIPPED
    told = "small.keyless v=0 name=b; small.t id=7; small.t id=5; small.t id=4; small.t id=2; "
    assert lines[0] == told
    assert sorted(lines[1:]) == COUNTS


def test_rows_changed_since_can_be_set_back_by_force(server: Server) -> None:
    lines = server.script(changed_again(server, OnConflict.FORCE)).splitlines()
    assert rows(server) == FORCED
    # Another row has the unique value of row 5, and is none to set back.
    assert lines[0] == "small.keyless v=0 name=b; small.t id=5; "
    assert sorted(lines[1:]) == ["small.keyless\t1\t1", "small.t\t7\t1"]


def test_a_table_that_cannot_be_undone_stops_no_other_if_it_is_excluded(
    mariadb: MariaDBServer, tmp_path: Path
) -> None:
    empty(mariadb)
    mariadb.sql(
        "CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE = InnoDB;"
        "CREATE TABLE kept (id INT PRIMARY KEY) ENGINE = InnoDB WITH SYSTEM VERSIONING;"
        "INSERT INTO t VALUES (1, 1), (2, 2); INSERT INTO kept VALUES (1)"
    )
    mariadb.flush_logs()
    log_of(mariadb, "USE small; BEGIN; UPDATE t SET v = 9; DELETE FROM kept; COMMIT")
    *logs, _ = [str(path) for path in mariadb.binlogs()]
    start, undo = Position(Path(logs[-1]).name, 4), tmp_path / "undo.sql"
    with open_chain(logs) as chain:
        with pytest.raises(RefusedError, match="system-versioned"):
            extract_undo(chain, Selection(start=start), str(undo), ExtractOptions(SliceFormat.SQL))
        wanted = Selection(start=start, exclude_tables=("small.kept",))
        extract_undo(chain, wanted, str(undo), ExtractOptions(SliceFormat.SQL))
    mariadb.script(undo.read_bytes())
    assert mariadb.query("SELECT id, v FROM small.t ORDER BY id") == [("1", "1"), ("2", "2")]
    assert mariadb.query("SELECT * FROM small.kept") == []


MOVED = """
CREATE DATABASE small; USE small;
CREATE TABLE owner (id INT PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE t (id INT PRIMARY KEY, v INT, note TEXT, old INT, o INT, UNIQUE u (v),
FOREIGN KEY (o) REFERENCES owner (id)) ENGINE = InnoDB;
CREATE TABLE gone (id INT PRIMARY KEY) ENGINE = InnoDB;
INSERT INTO owner VALUES (1); INSERT INTO t VALUES (1, 1, 'a', 7, 1), (2, 2, 'b', 7, 1), (3, 3, 'c', 7, 1);
INSERT INTO gone VALUES (1);
"""


def undo_since(
    server: Server,
    mistake: str,
    since: str,
    undo: Path,
    options: ExtractOptions | None = None,
    tables: str = MOVED,
) -> ExtractReport:
    """Write what undoes a mistake, given the logs up to the end of what was run since."""
    empty(server)
    server.sql(tables)
    server.flush_logs()
    log_of(server, mistake)
    log_of(server, f"USE small; {since}")
    *logs, _ = [str(path) for path in server.binlogs()]
    start, stop = Position(Path(logs[-2]).name, 4), Position(Path(logs[-1]).name, 4)
    with open_chain(logs) as chain:
        return extract_undo(chain, Selection(start=start, stop=stop), str(undo), options)


@pytest.mark.parametrize(
    ("since", "name", "columns"),
    [
        ("RENAME TABLE t TO items", "items", "id, v, note"),
        ("CREATE DATABASE other; RENAME TABLE owner TO o2, t TO other.t", "other.t", "id, v, note"),
        ("ALTER TABLE t CHANGE v worth INT, RENAME COLUMN note TO remark", "t", "id, worth, remark"),
        ("ALTER TABLE t RENAME COLUMN v TO x; ALTER TABLE t RENAME COLUMN note TO v", "t", "id, x, v"),
        ("ALTER TABLE t DROP COLUMN old, ADD COLUMN extra INT DEFAULT 5", "t", "id, v, note"),
        ("ALTER TABLE t DROP COLUMN old; DROP TABLE gone", "t", "id, v, note"),
        (
            "CREATE TABLE _t_gho LIKE t; ALTER TABLE _t_gho DROP COLUMN old; INSERT INTO _t_gho"
            " (id, v, note, o) SELECT id, v, note, o FROM t; RENAME TABLE t TO _t_del, _t_gho TO t;"
            " DROP TABLE _t_del",
            "t",
            "id, v, note",
        ),
        # Tables that take turns, and one that an empty one replaces, are others from then on.
        (
            "CREATE TABLE s LIKE t; CREATE TABLE r LIKE t; INSERT INTO r (id) VALUES (2);"
            " RENAME TABLE s TO x, t TO s, r TO t, x TO r",
            "s",
            "id, v, note",
        ),
        ("CREATE TABLE t_new LIKE t; RENAME TABLE t TO t_2026, t_new TO t", "t_2026", "id, v, note"),
        (
            "CREATE TABLE s LIKE t; RENAME TABLE t TO tmp, s TO t, tmp TO s",
            "s",
            "id, v, note",
        ),
    ],
)
def test_rows_are_undone_under_the_names_of_today(
    server: Server, since: str, name: str, columns: str, tmp_path: Path
) -> None:
    """What was dropped is listed."""
    mistake = "USE small; UPDATE t SET v = v + 10, note = 'x'; DELETE FROM t WHERE id = 2; DELETE FROM gone"
    undo = tmp_path / "undo.sql"
    report = undo_since(server, mistake, since, undo, ExtractOptions(SliceFormat.SQL))
    told = " ".join(report.damage)
    assert ("columns of small.t were dropped since" in told) == ("DROP COLUMN old" in since)
    assert ("small.gone was dropped since: its rows are not undone" in told) == ("DROP TABLE gone" in since)
    for sentence in report.damage:
        assert f"-- {sentence}" in undo.read_text()
    server.script(undo.read_bytes())
    assert server.query(
        f"SELECT {columns} FROM small.{name} ORDER BY id".replace("small.other", "other")
    ) == [
        ("1", "1", "a"),
        ("2", "2", "b"),
        ("3", "3", "c"),
    ]


def test_a_computed_column_that_was_dropped_is_no_loss(server: Server, tmp_path: Path) -> None:
    logs = logs_of(
        server,
        "CREATE DATABASE small; CREATE TABLE small.t (id INT PRIMARY KEY, v INT, g INT AS (v + 1) VIRTUAL,"
        " s INT AS (v + 2) STORED); INSERT INTO small.t (id, v) VALUES (1, 1), (2, 2)",
        "UPDATE small.t SET v = 9; DELETE FROM small.t WHERE id = 2",
        "ALTER TABLE small.t DROP COLUMN g, DROP COLUMN s",
    )
    start, stop = (Position(log.name, 4) for log in logs[1:])
    undo = tmp_path / "undo.sql"
    with open_chain([str(log) for log in logs]) as chain:
        wanted = Selection(start=start, stop=stop)
        report = extract_undo(chain, wanted, str(undo), ExtractOptions(SliceFormat.SQL))
    assert report.damage == ()
    server.script(undo.read_bytes())
    assert server.query("SELECT * FROM small.t ORDER BY id") == [("1", "1"), ("2", "2")]


def changed_since(made: Path, mistake: Path, since: Path) -> list[str]:
    """What is said of rows that a later log changed again."""
    catalog = Catalog()
    write_nothing(made, catalog)
    report = write_undo(
        everything([mistake]), io.BytesIO(), catalog, every=lambda: everything([mistake, since])
    )
    return [warning for warning in report.warnings if "changed rows again" in warning]


def test_a_later_change_of_another_row_is_not_taken_for_one_of_the_same_row(server: Server) -> None:
    logs = logs_of(
        server,
        "CREATE DATABASE small; USE small; CREATE TABLE t (a VARCHAR(9), b VARCHAR(9), v INT,"
        " PRIMARY KEY (a, b)); INSERT INTO t VALUES ('x, y', 'z', 1), ('x', 'y, z', 2)",
        "UPDATE small.t SET v = 3 WHERE b = 'z'",
        "UPDATE small.t SET v = 4 WHERE b = 'y, z'",
    )
    assert changed_since(*logs) == []


def test_keys_of_rows_changed_since_are_listed_as_the_server_prints_them(server: Server) -> None:
    logs = logs_of(
        server,
        "CREATE DATABASE small; USE small; SET time_zone = '+00:00';"
        "CREATE TABLE t (a TIME, b TIME(2), c DATETIME, d DATETIME(3), e TIMESTAMP(6), v INT,"
        " PRIMARY KEY (a, b, c, d, e)); INSERT INTO t VALUES ('-01:00:00', '838:59:58.5',"
        " '2026-01-02 03:04:05', '2026-01-02 03:04:05.678', '2026-01-02 03:04:05.678', 1)",
        "UPDATE small.t SET v = 2",
        "UPDATE small.t SET v = 3",
    )
    (warning,) = changed_since(*logs)
    ((key,),) = server.query("SELECT CONCAT_WS(', ', a, b, c, d, e) FROM small.t")
    assert f": a, b, c, d, e={key} in " in warning


def test_an_error_in_the_middle_undoes_nothing_even_where_the_client_goes_on(server: Server) -> None:
    undo = changed_again(server, OnConflict.STOP)
    server.sql("USE small; DROP TABLE keyless")
    assert len(server.attempt(undo)) >= 2
    assert rows(server) == AS_LEFT


def test_nothing_is_undone_where_a_trigger_would_fire(server: Server) -> None:
    made, log = logs_of(server, AGAIN, MISTAKE)
    server.sql(
        "USE small; CREATE TRIGGER more AFTER DELETE ON t FOR EACH ROW INSERT INTO keyless VALUES (5, 'd')"
    )
    with pytest.raises(ServerError, match=r"triggers would fire: small\.more"):
        server.script(undo_of(log, tables=made))
    lines = server.script(undo_of(log, tables=made, on_conflict=OnConflict.SKIP)).splitlines()
    assert lines[0] == "small.more"
    server.sql("USE small; DELETE FROM t WHERE id < 7; DELETE FROM keyless; DROP TRIGGER more")


LATER = """
CREATE DATABASE small; USE small;
CREATE TABLE documents (id INT PRIMARY KEY, j JSON, d DOUBLE, f FLOAT);
CREATE TABLE named (name VARCHAR(9) PRIMARY KEY, v INT);
INSERT INTO documents VALUES (1, '{"a": 1}', 0, 0), (2, '{"a": 1}', -0e0, -0e0), (3, '{"a": 1}', 0e0, 0e0);
INSERT INTO named VALUES ('a', 1), ('b', 1);
"""


def test_a_later_change_of_a_document_or_of_letter_case_is_left_alone(server: Server) -> None:
    """Columns outside the key are compared too, JSON among them, and a key's text to the letter."""
    mistake = "UPDATE small.documents SET j = '{\"a\": 2}'; UPDATE small.named SET v = 2"
    made, log = logs_of(server, LATER, mistake)
    server.sql(
        "UPDATE small.documents SET j = '{\"a\": 3}' WHERE id = 1;"
        "UPDATE small.named SET name = 'B' WHERE name = 'b'"
    )
    server.script(undo_of(log, tables=made, on_conflict=OnConflict.SKIP))
    documents = server.query("SELECT id, JSON_EXTRACT(j, '$.a') FROM small.documents ORDER BY id")
    assert documents == [("1", "3"), ("2", "1"), ("3", "1")]
    assert server.query("SELECT v FROM small.named ORDER BY BINARY name") == [("2",), ("1",)]


def test_a_later_change_of_the_sign_of_zero_is_left_alone(mysql: MySQLServer) -> None:
    made, log = logs_of(mysql, LATER, "UPDATE small.documents SET id = id + 10")
    mysql.sql(
        "UPDATE small.documents SET d = 0 WHERE id = 12; UPDATE small.documents SET f = -0e0 WHERE id = 13"
    )
    mysql.script(undo_of(log, tables=made, on_conflict=OnConflict.SKIP))
    assert mysql.query("SELECT id FROM small.documents ORDER BY id") == [("1",), ("12",), ("13",)]


def test_text_of_which_nothing_names_the_character_set_comes_back_byte_by_byte(
    mariadb: MariaDBServer,
) -> None:
    drop_databases(mariadb)
    mariadb.sql("CREATE DATABASE small CHARACTER SET latin1")
    mariadb.reset()
    made = log_of(
        mariadb,
        "CREATE TABLE small.t (id INT PRIMARY KEY, t VARCHAR(20)); INSERT INTO small.t VALUES (1, 'é')",
    )
    log = log_of(mariadb, "UPDATE small.t SET t = 'üü'")
    mariadb.script(undo_of(log, tables=made))
    assert mariadb.query("SELECT HEX(t) FROM small.t") == [("E9",)]


REVERSED = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, v INT, j JSON, g INT AS (v + 1) STORED, b BLOB) ENGINE = InnoDB;
CREATE TABLE keyless (v INT, name VARCHAR(9)) ENGINE = InnoDB;
INSERT INTO t (id, v, j, b) VALUES (1, 1, '[1]', NULL), (2, 2, '{}', REPEAT('x', 500)), (3, 3, NULL, '');
INSERT INTO keyless VALUES (1, 'a'), (1, 'a'), (2, NULL);
CREATE TRIGGER more AFTER UPDATE ON t FOR EACH ROW INSERT INTO keyless VALUES (NEW.id, 'more');
"""
TO_REVERSE = """
USE small; UPDATE t SET v = v + 1, b = REPEAT('y', 600);
BEGIN; DELETE FROM t WHERE id < 3; INSERT INTO t (id, v) VALUES (1, 9), (8, 8);
UPDATE keyless SET v = 5; COMMIT;
BEGIN; UPDATE t SET id = id + 10 ORDER BY id DESC; SAVEPOINT s; DELETE FROM keyless LIMIT 1; COMMIT;
"""


def test_a_reversed_log_undoes_without_triggers(server: Server, tmp_path: Path) -> None:
    made = logs_of(server, REVERSED)

    def state() -> list[list[tuple[str | None, ...]]]:
        orders = {"t": "1", "keyless": "1, 2"}
        return [server.query(f"SELECT * FROM small.{name} ORDER BY {by}") for name, by in orders.items()]

    before = state()
    compressed = "" if server.client == "mariadb" else "SET SESSION binlog_transaction_compression = ON;"
    log, undo = log_of(server, compressed + TO_REVERSE), tmp_path / "undo.binlog"
    assert state() != before
    with open_chain([*map(str, made), str(log)]) as chain:
        extract_undo(chain, Selection(start=Position(log.name, 4)), str(undo))
    options = [] if server.client == "mariadb" else ["--skip-gtids"]
    server.script(server.mysqlbinlog(undo, *options))
    assert state() == before


def test_a_reversed_log_undoes_in_a_database_of_another_name(server: Server, tmp_path: Path) -> None:
    empty(server)
    server.sql(REVERSED.replace("small", "another"))
    before = server.query("SELECT * FROM another.t ORDER BY 1")
    server.sql(TO_REVERSE.replace("small", "another"))
    drop_small = "DROP DATABASE IF EXISTS small"
    server.sql(drop_small)
    made = log_of(server, REVERSED)
    log, undo = log_of(server, TO_REVERSE), tmp_path / "undo.binlog"
    selection = Selection(start=Position(log.name, 4))
    with open_chain([str(made), str(log)]) as chain:
        extract_undo(chain, selection, str(undo), ExtractOptions(databases={"small": "another"}))
    server.sql(drop_small)
    options = [] if server.client == "mariadb" else ["--skip-gtids"]
    server.script(server.mysqlbinlog(undo, *options))
    assert server.query("SELECT * FROM another.t ORDER BY 1") == before


SEQUENCE = """
CREATE DATABASE small; USE small; CREATE SEQUENCE s NOCACHE;
CREATE TABLE t (id INT DEFAULT NEXTVAL(s) PRIMARY KEY, v INT CHECK (v > 0));
SET check_constraint_checks = 0; INSERT INTO t (v) VALUES (-1), (2);
"""
TAKEN = """
USE small; BEGIN; INSERT INTO t (v) VALUES (3), (4); UPDATE t SET v = v + 10; COMMIT; SELECT SETVAL(s, 100);
DELETE FROM t WHERE id = 1;
"""


@pytest.mark.parametrize("form", [SliceFormat.SQL, SliceFormat.BINLOG])
def test_sequences_are_not_undone_and_rows_that_no_constraint_admits_come_back(
    mariadb: MariaDBServer, form: SliceFormat, tmp_path: Path
) -> None:
    logs = logs_of(mariadb, SEQUENCE)
    before = rows_document(mariadb)["tables"]
    logs += [log_of(mariadb, TAKEN)]
    undo = tmp_path / "undo"
    with open_chain([str(log) for log in logs]) as chain:
        options = ExtractOptions(form)
        report = extract_undo(chain, Selection(start=Position(logs[1].name, 4)), str(undo), options)
    assert report.warnings[0].startswith("values taken from small.s stay taken")
    mariadb.script(undo.read_bytes() if form is SliceFormat.SQL else mariadb.mysqlbinlog(undo))
    assert rows_document(mariadb)["tables"] == before
    assert mariadb.query("SELECT NEXTVAL(small.s)") == [("101",)]


PARTLY_LOGGED = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE keyed (id INT PRIMARY KEY, t VARCHAR(300), b LONGBLOB, d DECIMAL(30,10), z TIME(3), n INT,
e ENUM('a', 'b'), i BIT(9), g INT AS (n + 1) STORED, dt DATETIME(6));
CREATE TABLE keyless (a INT, t TEXT CHARACTER SET utf16, b VARBINARY(9));
INSERT INTO keyed (id, t, b, d, z, n, e, i, dt) VALUES (1, 'one', x'00ff', 1.5, '-01:00:00.5', 1, 'a', 5,
'2026-01-01 00:00:00.000001'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3, '', '', 0, 0, 0, '', 0, 0);
INSERT INTO keyless VALUES (1, 'x', ''), (2, NULL, 'y'), (NULL, NULL, NULL);
"""
PARTLY = """
USE small; SET SESSION binlog_row_image = {image}, sql_mode = '';
UPDATE keyed SET t = CONCAT(COALESCE(t, ''), '!'), n = NULL WHERE id < 3;
UPDATE keyed SET n = 7, b = REPEAT('x', 70000); UPDATE keyed SET id = id + 10 ORDER BY id DESC;
UPDATE keyless SET b = NULL; UPDATE keyless SET a = a + 1, t = 'é'; DELETE FROM keyed WHERE id = 12;
INSERT INTO keyed (id) VALUES (1); UPDATE keyless SET a = 9 WHERE t = 'é';
REPLACE INTO keyed (id, n) VALUES (11, 8);
"""


def test_updates_whose_images_after_have_only_what_changed_are_undone_as_a_binary_log(
    mariadb: MariaDBServer, tmp_path: Path
) -> None:
    try:
        mariadb.sql("SET SESSION binlog_row_image = FULL_NODUP")
    except ServerError:
        pytest.skip("this MariaDB has no binlog_row_image=FULL_NODUP")
    [made] = logs_of(mariadb, PARTLY_LOGGED)
    before = rows_document(mariadb)["tables"]
    log = log_of(mariadb, PARTLY.format(image="FULL_NODUP"))
    assert rows_document(mariadb)["tables"] != before
    undo = tmp_path / "undo"
    with open_chain([str(made), str(log)]) as chain:
        extract_undo(chain, Selection(start=Position(log.name, 4)), str(undo))
    mariadb.script(mariadb.mysqlbinlog(undo))
    found = rows_document(mariadb)["tables"]
    for name, table in before.items():
        assert found[name]["rows"] == table["rows"], name
