"""Conditions and the life of a row choose what the servers' own WHERE chooses.

``make test-live SEED=… ROUNDS=…`` asks as many series as given. What binx refuses is not compared.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from binx.errors import UsageError
from binx.inspect.row_history import RowLife
from binx.kernels.walk.scan import Level
from binx.lake.at_moment import table_at
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.rows.batches import ChangeBatch
from binx.rows.change_groups import BatchImages
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.slices.extraction import extract
from binx.slices.options import ExtractOptions, SliceFormat
from binx.where.condition import Condition
from testdata.servers import MySQLServer, Server
from tests.cli.process import binx
from tests.exports import export
from tests.live.connection import Connection
from tests.live.logs import logs_of
from tests.live.test_differential import ROUNDS, seed_of
from tests.live.workload.conditions import Conditions

ROWS = 80
CONDITIONS = 1000 if ROUNDS else 150
TABLE = "conditions.t"
NEUTRAL = "SET sql_mode = '', time_zone = '+00:00'"


@contextmanager
def inserted(server: Server, conditions: Conditions) -> Iterator[list[BatchImages]]:
    """The rows of a new table as its log has them."""
    server.flush_logs()
    rows = [f"INSERT IGNORE INTO {TABLE} VALUES {conditions.row(number)}" for number in range(ROWS)]
    database = "DROP DATABASE IF EXISTS conditions; CREATE DATABASE conditions"
    server.sql(";".join([NEUTRAL, database, conditions.create(TABLE), *rows]))
    with BinlogFile.open(str(server.binlogs()[-1])) as file:
        decoder = ChangeDecoder(file, Catalog())
        found = []
        for table in Scan(file, Level.LEVEL_TABLES):
            found += [item for item in decoder.decode(table, table.mask()) if isinstance(item, ChangeBatch)]
        yield [BatchImages(batch) for batch in [*found, *decoder.finish()]]


def conditions_for(server: Server, seed: str) -> Conditions:
    return Conditions(random.Random(seed), mariadb=server.daemon == "mariadbd")


def passing(condition: Condition, batches: list[BatchImages]) -> list[int]:
    """The ids of the rows that pass."""
    found = []
    for images in batches:
        ids = images.changes.batch.column("id").to_pylist()
        for group, marks in condition.passing(images):
            found += [ids[row] for row in images.rows_of(group, marks)]
    return sorted(found)


def differences(
    server: Server, conditions: Conditions, chosen: Callable[[Condition], list[int]], count: int
) -> list[str]:
    """Where random conditions choose other rows than SELECT does, of those that both take."""
    different, compared = [], 0
    with Connection(server) as session:
        session.run(NEUTRAL)
        for _ in range(count):
            text = conditions.condition()
            try:
                ours = sorted(chosen(Condition(text)))
            except UsageError:
                continue
            theirs = session.run(f"SELECT id FROM {TABLE} WHERE {text} ORDER BY id")
            if not all(map(str.isdigit, theirs)):
                continue
            compared += 1
            if ours != [int(line) for line in theirs]:
                odd = sorted(set(ours) ^ set(map(int, theirs)))
                different.append(f"{text}: binx {len(ours)} rows, SELECT {len(theirs)}, as of id {odd[:1]}")
    assert compared > count / 2, "binx or the server refuses most of the conditions"
    return different


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_conditions_choose_the_rows_of_a_state_that_select_chooses(
    server: Server, number: int, tmp_path: Path
) -> None:
    seed = f"state {seed_of(number)}"
    conditions = conditions_for(server, seed)
    lake = tmp_path / "lake"
    with inserted(server, conditions):
        export(lake, server.binlogs()[-1:])

        def chosen(condition: Condition) -> list[int]:
            ids: list[int] = table_at(str(lake), TABLE, None, where=condition).rows["id"].to_pylist()
            return ids

        different = differences(server, conditions, chosen, CONDITIONS // 3)
    assert not different, f"SEED={seed} on {server.daemon}:\n" + "\n".join(different[:20])


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_conditions_choose_the_rows_that_select_chooses(server: Server, number: int) -> None:
    seed = seed_of(number)
    conditions = conditions_for(server, seed)
    with inserted(server, conditions) as batches:
        different = differences(server, conditions, partial(passing, batches=batches), CONDITIONS)
    assert not different, f"SEED={seed} on {server.daemon}:\n" + "\n".join(different[:20])


@pytest.mark.parametrize("column", ["c2", "c3"])
def test_like_is_refused_where_zerofill_may_be_unseen(column: str, server: Server) -> None:
    server.sql(
        f"DROP DATABASE IF EXISTS conditions; CREATE DATABASE conditions; CREATE TABLE {TABLE} (id INT,"
        " n INT(4) ZEROFILL, d DECIMAL(6, 2) ZEROFILL)"
    )
    server.flush_logs()
    server.sql(f"INSERT INTO {TABLE} VALUES (1, 42, 1.5)")
    ended = binx("ls", "--where", f"{column} LIKE '%2%'", str(server.binlogs()[-1]))
    assert ended.code == 2
    assert f"{column} may be ZEROFILL" in ended.err


# Not IN and BETWEEN, in which MySQL 9.7 leaves the offset out of account.
OFFSETS = [
    "ts = '2026-01-01 00:00:00+02:00'",
    "ts >= '2026-01-01 00:00:00+02:00'",
    "ts < '2026-01-01 00:00:00-11:30'",
    "ts <> '2025-12-31 22:00:00.000001+00:00'",
    "ts >= '2025-12-31 22:00:00+00:00' AND ts <= '2026-01-01 14:00:00+14:00'",
    "ts = '2026-01-01 05:30:00.5+05:30' OR ts = '2025-12-31 10:01:00-13:59'",
    "ts > TIMESTAMP '2026-01-01 00:00:00+02:00'",
]


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer) -> list[Path]:
    """Logs of a table with a row every half an hour around the turn of a year, a transaction each."""
    mysql.flush_logs()
    before = len(mysql.binlogs())
    moments = [f"TIMESTAMPADD(MINUTE, {30 * number}, '2025-12-31 05:00:00')" for number in range(100)]
    moments += ["'2025-12-31 22:00:00.000001+00:00'", "'2026-01-01 00:00:00.5+00:00'", "NULL"]
    inserts = [f"INSERT INTO offsets.moments VALUES ({row}, {moment})" for row, moment in enumerate(moments)]
    mysql.sql(
        "CREATE DATABASE offsets; CREATE TABLE offsets.moments (id INT PRIMARY KEY, ts TIMESTAMP(6) NULL);"
        f" SET time_zone = '-03:00'; {'; '.join(inserts)}"
    )
    mysql.flush_logs()
    return mysql.binlogs()[before - 1 : -1]


@pytest.mark.parametrize("condition", OFFSETS)
def test_a_timestamp_is_compared_with_moments_of_any_offset(
    condition: str, mysql: MySQLServer, logs: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "rows.json"
    with open_chain([str(path) for path in logs]) as chain:
        options = ExtractOptions(format=SliceFormat.JSON, rows=True, where=Condition(condition))
        extract(chain, Selection(tables=("offsets.moments",)), str(target), options)
    found = [json.loads(line)["after"]["id"] for line in target.read_text("utf-8").splitlines()]
    selected = mysql.query(f"SELECT id FROM offsets.moments WHERE {condition} ORDER BY id")
    assert found == [int(str(row)) for (row,) in selected]
    assert found


WORK = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, n INT);
INSERT INTO t VALUES (1, 10), (2, 20);
SET SESSION binlog_format = STATEMENT;
UPDATE t SET n = n + 1 WHERE n > 15;
SET SESSION binlog_format = ROW;
TRUNCATE TABLE t;
INSERT INTO t VALUES (1, 11);
RENAME TABLE t TO away;
RENAME TABLE away TO t;
DROP TABLE t;
CREATE TABLE t (id INT PRIMARY KEY, n INT);
INSERT INTO t VALUES (1, 12);
"""


def test_what_happens_to_the_table_stands_between_the_changes(server: Server, tmp_path: Path) -> None:
    [log] = logs_of(server, WORK)
    ended = binx("why", "--table", "small.t", "--pk", "1", "--json", str(log))
    found = [json.loads(line) for line in ended.lines]
    assert [one["type"] for one in found] == [
        "create", "insert", "statement", "truncate", "insert", "rename", "rename", "drop", "create", "insert",
    ]  # fmt: skip
    assert [one["type"] for one in found if one["uncertain"]] == [
        "statement", "truncate", "rename", "rename", "drop",
    ]  # fmt: skip
    assert ended.code == 3
    assert "5 statements on the table may have changed" in ended.err


def test_a_row_is_followed_through_a_key_that_is_a_partial_date(server: Server) -> None:
    server.flush_logs()
    server.sql(
        "SET sql_mode = 'ALLOW_INVALID_DATES'; DROP DATABASE IF EXISTS conditions; CREATE DATABASE"
        f" conditions; CREATE TABLE {TABLE} (id DATE PRIMARY KEY, v INT);"
        f" INSERT INTO {TABLE} VALUES ('2024-01-01', 1), ('2024-02-00', 5);"
        f" UPDATE {TABLE} SET id = '2024-00-00' WHERE v = 1; UPDATE {TABLE} SET v = 2 WHERE v = 1;"
        f" UPDATE {TABLE} SET v = 6 WHERE v = 5"
    )
    with open_chain([str(server.binlogs()[-1])]) as chain:
        life = RowLife(chain, Selection(tables=(TABLE,)), key=("2024-01-01",))
        found = [change.row["after"] for change in life if not change.is_statement]
    assert [(row["id"], row["v"]) for row in found] == [
        ("2024-01-01", 1),
        ("2024-00-00", 1),
        ("2024-00-00", 2),
    ]
