"""After every kind of schema statement ``current/`` is what SELECT shows, cell by cell.

A case is a list of steps; all cases take their first step, the log is rotated, then their second, and so on.
The logs are loaded after every rotation, and in one go.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.dataset.parquet import to_parquet
from binx.log.chain.inputs import open_chain
from binx.spark.lake.options import LoadOptions
from binx.spark.lake.run import load
from binx.spark.lake.table_name import TableName
from testdata.servers import Server
from tests.live.logs import export_last
from tests.live.schema_rounds import DATABASES, SchemaRound
from tests.live.tables_at_end import differences
from tests.live.test_differential import ROUNDS, seed_of

CASES: dict[str, tuple[str, ...]] = {
    "the key goes from text to a number": (
        "CREATE TABLE k1 (id VARCHAR(20) PRIMARY KEY, v INT); INSERT INTO k1 VALUES ('1', 1), ('2',"
        " 2), ('10', 3), ('01', 9)",
        "DELETE FROM k1 WHERE id = '01'; ALTER TABLE k1 MODIFY id BIGINT; INSERT INTO k1 VALUES (3,"
        " 4); UPDATE k1 SET v = 22 WHERE id = 2",
        "DELETE FROM k1 WHERE id = 10",
    ),
    "the key goes from DATETIME to TIMESTAMP": (
        "SET time_zone = '+02:00'; CREATE TABLE k2 (at DATETIME PRIMARY KEY, v INT); INSERT INTO k2"
        " VALUES ('2024-01-01 10:00:00', 1), ('2024-06-01 10:00:00', 2)",
        "SET time_zone = '+02:00'; ALTER TABLE k2 MODIFY at TIMESTAMP NOT NULL; UPDATE k2 SET v = 3"
        " WHERE at = '2024-06-01 10:00:00'",
        "SET time_zone = '+05:00'; ALTER TABLE k2 MODIFY at DATETIME NOT NULL; INSERT INTO k2 VALUES"
        " ('2025-01-01', 5)",
    ),
    "the key goes from CHAR to VARBINARY": (
        "CREATE TABLE k3 (id CHAR(8) PRIMARY KEY, v INT); INSERT INTO k3 VALUES ('a', 1), ('é', 2),"
        " ('b ', 3)",
        "ALTER TABLE k3 MODIFY id VARBINARY(40); UPDATE k3 SET v = 9 WHERE id = 'a'",
        "INSERT INTO k3 VALUES (x'00ff', 4)",
    ),
    "a new table gets the name of one that was renamed": (
        "CREATE TABLE r1 (id INT PRIMARY KEY, v INT); INSERT INTO r1 VALUES (1, 1), (2, 2)",
        "RENAME TABLE r1 TO r1_old; CREATE TABLE r1 (id INT PRIMARY KEY, v INT); INSERT INTO r1"
        " VALUES (1, 100); UPDATE r1_old SET v = 20 WHERE id = 2",
        "INSERT INTO r1 VALUES (7, 7); DELETE FROM r1_old WHERE id = 1",
    ),
    "tables swap their names": (
        "CREATE TABLE s1 (id INT PRIMARY KEY, v INT); CREATE TABLE s2 (id INT PRIMARY KEY, w TEXT);"
        " INSERT INTO s1 VALUES (1, 1); INSERT INTO s2 VALUES (1, 'one'), (2, 'two')",
        "RENAME TABLE s1 TO s3, s2 TO s1, s3 TO s2; INSERT INTO s1 VALUES (3, 'three'); UPDATE s2 SET v = 11",
        "DELETE FROM s1 WHERE id = 1; INSERT INTO s2 VALUES (5, 5)",
    ),
    "a column is renamed and its name comes back": (
        "CREATE TABLE c1 (id INT PRIMARY KEY, price INT); INSERT INTO c1 VALUES (1, 100), (2, 200)",
        "ALTER TABLE c1 RENAME COLUMN price TO price_cents, ADD COLUMN price DECIMAL(10,2) DEFAULT"
        " 1.5; UPDATE c1 SET price = 2 WHERE id = 2; INSERT INTO c1 VALUES (3, 300, 3.25)",
        "UPDATE c1 SET price_cents = 1 WHERE id = 1",
    ),
    "columns swap their names": (
        "CREATE TABLE c2 (id INT PRIMARY KEY, a INT, b VARCHAR(10)); INSERT INTO c2 VALUES (1, 1,"
        " 'one'), (2, 2, 'two')",
        "ALTER TABLE c2 CHANGE a b INT, CHANGE b a VARCHAR(10); UPDATE c2 SET a = 'zwei' WHERE id = 2",
        "INSERT INTO c2 (id, a, b) VALUES (3, 'three', 3)",
    ),
    "the key has zero and partial dates": (
        "SET sql_mode = ''; CREATE TABLE z1 (d DATE, n INT, v INT, PRIMARY KEY (d, n)); INSERT INTO"
        " z1 VALUES ('0000-00-00', 1, 1), ('2024-00-00', 1, 2), ('2024-01-00', 1, 3), ('2024-01-01',"
        " 1, 4)",
        "SET sql_mode = ''; UPDATE z1 SET v = 33 WHERE d = '2024-01-00'; DELETE FROM z1 WHERE d ="
        " '0000-00-00'",
        "SET sql_mode = ''; INSERT INTO z1 VALUES ('0000-00-00', 1, 5); UPDATE z1 SET d ="
        " '2024-02-00' WHERE d = '2024-01-00'",
    ),
    "columns are called as loaders call theirs": (
        "CREATE TABLE n1 (id INT PRIMARY KEY, _line INT, _rank INT, _absent INT, _unknown INT,"
        " _misfits INT, v1 INT, _commit_version INT, `load` INT, commit_date INT, _kind TEXT, p1"
        " INT); INSERT INTO n1 VALUES (1,2,3,4,5,6,7,8,9,10,'k',12), (2,3,4,5,6,7,8,9,10,11,'l',13)",
        "UPDATE n1 SET _line = 0, _unknown = 1, id = 5 WHERE id = 1; UPDATE n1 SET p1 = NULL WHERE id = 2",
        "UPDATE n1 SET _kind = 'm'",
    ),
    "a column goes and another comes without rows": (
        "CREATE TABLE d1 (id INT PRIMARY KEY, a INT, b INT); INSERT INTO d1 VALUES (1, 1, 1)",
        "ALTER TABLE d1 DROP COLUMN a",
        "ALTER TABLE d1 ADD COLUMN a VARCHAR(10) NOT NULL DEFAULT 'new', ADD COLUMN z INT FIRST",
    ),
    "integers become wider, decimals, text and doubles": (
        "CREATE TABLE t1 (id INT PRIMARY KEY, a INT, b INT, c INT, d INT UNSIGNED, e TINYINT);"
        " INSERT INTO t1 VALUES (1, 1, -2, 3, 4000000000, -5), (2, NULL, NULL, NULL, NULL, NULL)",
        "ALTER TABLE t1 MODIFY id BIGINT, MODIFY a BIGINT, MODIFY b DECIMAL(12,3), MODIFY c"
        " VARCHAR(20), MODIFY d BIGINT, MODIFY e DOUBLE",
        "UPDATE t1 SET a = 1 << 40 WHERE id = 1; INSERT INTO t1 VALUES (1 << 40, 1, 1.5, 'x', 5, 0.25)",
    ),
    "moments get fewer digits and other types": (
        "SET time_zone = '+01:00'; CREATE TABLE m1 (id INT PRIMARY KEY, a DATETIME(6), b DATETIME, c"
        " TIMESTAMP(3) NULL, d DATE, e DATETIME(6)); INSERT INTO m1 VALUES (1, '2024-05-05"
        " 10:11:12.987654', '2024-05-05 10:11:12', '2024-05-05 10:11:12.345', '2024-05-05',"
        " '2024-05-05 23:59:59')",
        "SET time_zone = '+01:00'; ALTER TABLE m1 MODIFY a DATETIME(2), MODIFY b TIMESTAMP NULL,"
        " MODIFY c DATETIME(3), MODIFY d DATETIME, MODIFY e DATE",
        "SET time_zone = '+01:00'; ALTER TABLE m1 MODIFY a VARCHAR(40), MODIFY b VARCHAR(40), MODIFY"
        " d VARCHAR(40)",
    ),
    "ENUM becomes text, and text ENUM": (
        "CREATE TABLE e1 (id INT PRIMARY KEY, a ENUM('x','y','z'), b VARCHAR(5), c ENUM('a','b'), d"
        " SET('p','q')); INSERT INTO e1 VALUES (1, 'y', 'one', 'b', 'p,q'), (2, NULL, 'two', 'a', '')",
        "ALTER TABLE e1 MODIFY a VARCHAR(10), MODIFY b ENUM('two','one'), MODIFY c"
        " ENUM('0','b','a'), MODIFY d SET('q','p','r')",
        "ALTER TABLE e1 MODIFY c INT; INSERT INTO e1 VALUES (3, 'w', 'one', 2, 'r')",
    ),
    "decimals get more and fewer digits": (
        "CREATE TABLE w1 (id INT PRIMARY KEY, a DECIMAL(10,2), b DECIMAL(10,4), c DECIMAL(10,3), d"
        " DECIMAL(8,2)); INSERT INTO w1 VALUES (1, 1.25, 2.5555, -3.5, 4.05), (2, -1.25, -2.55554,"
        " 2.5, 0)",
        "ALTER TABLE w1 MODIFY a DECIMAL(20,6), MODIFY b DECIMAL(10,2), MODIFY c INT, MODIFY d VARCHAR(20)",
        "INSERT INTO w1 VALUES (3, 1, 1, 1, '1')",
    ),
    "the primary key is another": (
        "CREATE TABLE p1 (a INT PRIMARY KEY, b INT, v INT); INSERT INTO p1 VALUES (1, 5, 1), (2, 5,"
        " 2), (3, 6, 3)",
        "DELETE FROM p1 WHERE a = 1; ALTER TABLE p1 DROP PRIMARY KEY, ADD PRIMARY KEY (b); UPDATE p1"
        " SET a = 9 WHERE b = 6",
        "INSERT INTO p1 VALUES (9, 7, 4); UPDATE p1 SET b = 8 WHERE b = 7",
    ),
    "columns become AUTO_INCREMENT, with rows that are numbered and rows that are not": (
        "CREATE TABLE a1 (id INT PRIMARY KEY, n INT, u INT UNIQUE AUTO_INCREMENT); INSERT INTO a1 VALUES"
        " (1, 7, 1), (2, 0, 2), (3, NULL, 3), (5, 3, 5); CREATE TABLE a2 (n INT AUTO_INCREMENT UNIQUE);"
        " SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO a2 VALUES (0), (5); CREATE TABLE a3 (id INT"
        " PRIMARY KEY); INSERT INTO a3 VALUES (0), (-1)",
        "ALTER TABLE a1 MODIFY u INT UNIQUE, MODIFY n DECIMAL(9,2); ALTER TABLE a1 MODIFY n INT"
        " AUTO_INCREMENT, ADD KEY (n); ALTER TABLE a2 MODIFY n BIGINT AUTO_INCREMENT; SET"
        " sql_mode = 'NO_AUTO_VALUE_ON_ZERO';"
        " ALTER TABLE a3 MODIFY id INT AUTO_INCREMENT",
        "UPDATE a1 SET n = 20 WHERE id = 3; INSERT INTO a3 VALUES (NULL)",
    ),
    "columns with NULLs become part of the key": (
        "CREATE TABLE p3 (a INT PRIMARY KEY, b VARCHAR(9), c INT, d DATE); INSERT INTO p3 VALUES"
        " (1, NULL, NULL, NULL), (2, 'x', 2, '2024-01-01')",
        "SET sql_mode = ''; ALTER TABLE p3 DROP PRIMARY KEY, ADD PRIMARY KEY (a, b, c, d)",
        "INSERT INTO p3 VALUES (1, 'x', 1, '2024-01-01')",
    ),
    "the primary key goes and comes back": (
        "CREATE TABLE p2 (a INT PRIMARY KEY, b INT NOT NULL); INSERT INTO p2 VALUES (1, 5), (2, 6)",
        "ALTER TABLE p2 DROP PRIMARY KEY; ALTER TABLE p2 ADD PRIMARY KEY (b);"
        " UPDATE p2 SET a = 1 WHERE b = 6",
        "UPDATE p2 SET b = 7 WHERE b = 5",
    ),
    "tables are truncated, dropped, made anew and alike": (
        "CREATE TABLE x1 (id INT PRIMARY KEY, v INT); INSERT INTO x1 VALUES (1, 1), (2, 2); CREATE"
        " TABLE x2 LIKE x1; INSERT INTO x2 VALUES (4, 4)",
        "TRUNCATE TABLE x1; INSERT INTO x1 VALUES (3, 3); DROP TABLE x2; CREATE TABLE x2 (id INT"
        " PRIMARY KEY, v INT); INSERT INTO x2 VALUES (1, 1)",
        "DROP TABLE x1; CREATE TABLE x3 (id INT PRIMARY KEY) AS SELECT id FROM x2",
    ),
    "rows move to other keys": (
        "CREATE TABLE o1 (a INT, b INT, v TEXT, w INT, PRIMARY KEY (a, b)); INSERT INTO o1 VALUES"
        " (1, 1, 'x', 1), (2, 2, 'y', 2), (3, 3, 'z', 3)",
        "UPDATE o1 SET a = 4 WHERE a = 1; UPDATE o1 SET a = 1 WHERE a = 2; UPDATE o1 SET w = 5 WHERE"
        " a = 4; UPDATE o1 SET b = 9 WHERE a = 4",
        "UPDATE o1 SET a = a + 100 ORDER BY a DESC; DELETE FROM o1 WHERE a = 103; INSERT INTO o1 (a,"
        " b) VALUES (103, 3)",
    ),
    "XA transactions hold once they are committed": (
        "CREATE TABLE xa1 (id INT PRIMARY KEY, v INT); INSERT INTO xa1 VALUES (1, 1), (2, 2); XA"
        " START 'one'; UPDATE xa1 SET v = 10 WHERE id = 1; XA END 'one'; XA PREPARE 'one'; XA COMMIT"
        " 'one'",
        "XA START 'two'; UPDATE xa1 SET v = 20 WHERE id = 2; XA END 'two'; XA PREPARE 'two'; XA"
        " ROLLBACK 'two'",
        "INSERT INTO xa1 VALUES (3, 3)",
    ),
    "MariaDB keeps the rows that were": (
        "CREATE TABLE y1 (id INT PRIMARY KEY, v INT /*M!, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e"
        " TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e) */) /*M! WITH SYSTEM"
        " VERSIONING */; INSERT INTO y1 (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        "UPDATE y1 SET v = 10 WHERE id = 1; UPDATE y1 SET id = 7 WHERE id = 3; DELETE FROM y1 WHERE id = 2",
        "INSERT INTO y1 (id, v) VALUES (2, 5); REPLACE INTO y1 (id, v) VALUES (1, 9); DELETE FROM y1"
        " WHERE id = 4",
    ),
    "character sets change": (
        "CREATE TABLE h1 (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b TEXT CHARACTER"
        " SET utf8mb4); INSERT INTO h1 VALUES (1, 'é', 'ü'), (2, 'a', 'b')",
        "ALTER TABLE h1 CONVERT TO CHARACTER SET utf8mb4; INSERT INTO h1 VALUES (3, '☃', '☃')",
    ),
}
STEPS = max(map(len, CASES.values()))
NOT_KNOWN = (0, 2, 1)
"""How many cells only the server knows after each step."""
IMAGES = [("mysql", "MINIMAL"), ("mariadb", "FULL"), ("mysql", "FULL"), ("mariadb", "MINIMAL")]
"""Of each server all kinds of row images; without ROUNDS one."""


@pytest.mark.parametrize(("server", "image"), IMAGES if ROUNDS else IMAGES[:2], indirect=["server"])
def test_tables_are_what_select_shows_after_every_statement(
    server: Server, image: str, tmp_path: Path, spark: Any
) -> None:
    def session() -> Any:
        return nullcontext(spark)

    server.sql(f"DROP DATABASE IF EXISTS ddl; CREATE DATABASE ddl; SET GLOBAL binlog_row_image = {image}")
    server.flush_logs()
    told = []
    for step in range(STEPS):
        for case in CASES.values():
            if step < len(case):
                server.sql(case[step], db="ddl")
        export_last(server, tmp_path / "data")
        summary = load(LoadOptions((str(tmp_path / "data"),), str(tmp_path / "lake"), scd2=True), session)
        told += [f"step {step}: {table.table}: {table.error}" for table in summary.tables if table.error]
        found, unknown = differences(server, "ddl", tmp_path / "lake")
        told += [f"step {step}: {one}" for one in found]
        told += [f"step {step}: {unknown} cells are not known"] if unknown != NOT_KNOWN[step] else []
    load(LoadOptions((str(tmp_path / "data"),), str(tmp_path / "at once")), session)
    found, unknown = differences(server, "ddl", tmp_path / "at once")
    told += [f"at once: {one}" for one in found]
    server.sql("SET GLOBAL binlog_row_image = FULL")
    assert not told, "\n".join(told)


def test_a_server_whose_id_changes_and_comes_back_has_one_chain(
    server: Server, tmp_path: Path, spark: Any
) -> None:
    ((own_id,),) = server.query("SELECT CAST(@@server_id AS CHAR)")
    server.sql("DROP DATABASE IF EXISTS ddl")
    server.reset()
    server.sql(
        "CREATE DATABASE ddl; CREATE TABLE ddl.t (a INT PRIMARY KEY, b INT); INSERT INTO ddl.t VALUES (1, 1)"
    )
    for server_id, value in (("98", 2), (own_id, 3), ("98", 4)):
        server.sql(f"SET GLOBAL server_id = {server_id}")
        server.flush_logs()
        server.sql(f"UPDATE ddl.t SET b = {value} WHERE a = 1; INSERT INTO ddl.t VALUES ({value}, 0)")
    server.sql(f"SET GLOBAL server_id = {own_id}")
    server.flush_logs()
    for count in (2, 4):
        with open_chain([str(log) for log in server.binlogs()[:count]]) as chain:
            list(to_parquet([ends.file for ends in chain], tmp_path / "data"))
        load(LoadOptions((str(tmp_path / "data"),), str(tmp_path / "lake")), lambda: nullcontext(spark))
    assert differences(server, "ddl", tmp_path / "lake") == ([], 0)


ROTATIONS = 3
KEY_NOT_KNOWN = "the key's column"
"""What a table is stopped with whose key got values that no log tells."""


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_tables_are_what_select_shows_after_random_statements(
    server: Server, number: int, tmp_path: Path, spark: Any
) -> None:
    data, after_each, at_once = (tmp_path / name for name in ("data", "after each", "at once"))
    server.flush_logs()
    traffic = SchemaRound(server, seed_of(number))
    told = []
    for rotation in range(ROTATIONS):
        traffic.rotate(last=rotation == ROTATIONS - 1)
        with open_chain([str(server.binlogs()[-2])]) as chain:
            list(to_parquet([ends.file for ends in chain], data))
        told += [f"rotation {rotation}: {one}" for one in _loaded(server, data, after_each, spark)]
    told += [f"at once: {one}" for one in _loaded(server, data, at_once, spark)]
    rebuilt = _contents(after_each, "ranges")
    lives = json.loads((after_each / "_state.json").read_text())["lives"].values()
    names = tuple(TableName(*life["name"]) for life in lives)
    load(LoadOptions((str(data),), str(after_each), scd2=True, rebuild=names), lambda: nullcontext(spark))
    told += [
        f"{name}: differs when it is rebuilt"
        for name, rows in _contents(after_each, "ranges").items()
        if rows != rebuilt[name]
    ]
    for kind in ("ranges", "versions"):
        one, other = _contents(after_each, kind), _contents(at_once, kind)
        # A table that a key stopped is as it was before, and where that was depends on the loads.
        told += [
            f"{name}: {kind} differ after each and at once"
            for name in one.keys() & other
            if one[name] != other[name]
        ]
    server.sql("SET GLOBAL binlog_row_image = FULL; SET GLOBAL binlog_row_metadata = MINIMAL")
    assert not told, f"SEED={seed_of(number)} on {server.daemon}\n" + "\n".join(told[:40])


def _loaded(server: Server, data: Path, output: Path, spark: Any) -> list[str]:
    """Load what is new; what differs from SELECT then."""
    options = LoadOptions((str(data),), str(output), scd2=True)
    summary = load(options, lambda: nullcontext(spark))
    stopped = {(one.db, one.table): one.error for one in summary.tables if one.error}
    found = [f"{name} {error}" for name, error in stopped.items() if KEY_NOT_KNOWN not in error]
    state = json.loads((output / "_state.json").read_text())
    # A table that is stopped is called as it was before.
    stopped |= {
        tuple(one["name"]): "" for one in state["lives"].values() if state["records"][one["life"]]["error"]
    }
    for db in DATABASES:
        keyless = {
            table
            for (table,) in server.query(
                f"SELECT table_name FROM information_schema.tables t WHERE table_schema = '{db}'"
                " AND NOT EXISTS (SELECT 1 FROM information_schema.key_column_usage k WHERE"
                " k.table_schema = t.table_schema AND k.table_name = t.table_name"
                " AND constraint_name = 'PRIMARY')"
            )
        }
        left_out = {name for one, name in stopped if one == db} | {str(name) for name in keyless}
        listed, _ = differences(server, db, output, without_current=left_out)
        gone = {str((db, name)) for name in left_out}
        found += [
            f"{db}: {one}"
            for one in listed
            if not {one.partition(":")[0].partition("[")[0], one.partition(":")[0]} & (left_out | gone)
        ]
    return found


def _contents(output: Path, kind: str) -> dict[str, list[str]]:
    """The rows of ``current/`` or ``scd2/`` of each table by its life, in no order."""
    lives = json.loads((output / "_state.json").read_text())["lives"].values()
    found = {}
    for life in lives:
        files = life["ranges"] if kind == "ranges" else [*life["closed"], *life["held"]]
        rows = [row for file in files for row in pq.ParquetFile(output / file["path"]).read().to_pylist()]
        found[life["life"]] = sorted(map(repr, rows))
    return found
