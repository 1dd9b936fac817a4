"""Random conditions on rows choose the rows that a server's SELECT chooses.

``make test-live SEED=… ROUNDS=…`` asks as many series as given. What binx refuses is not compared.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from binx.errors import UsageError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.images import BatchImages
from binx.where.condition import Condition
from testdata.servers import Server
from tests.live.connection import Connection
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
        for table in file.scan(Level.LEVEL_TABLES):
            found += [item for item in decoder.decode(table, table.mask()) if isinstance(item, ChangeBatch)]
        yield [BatchImages(batch) for batch in [*found, *decoder.finish()]]


def passing(condition: Condition, batches: list[BatchImages]) -> list[int]:
    """The ids of the rows that pass."""
    found = []
    for images in batches:
        ids = images.changes.batch.column("id").to_pylist()
        for group, marks in condition.passing(images):
            found += [ids[row] for row in images.rows_of(group, marks)]
    return sorted(found)


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_conditions_choose_the_rows_that_select_chooses(server: Server, number: int) -> None:
    seed = seed_of(number)
    conditions = Conditions(random.Random(seed), mariadb=server.daemon == "mariadbd")
    different, compared = [], 0
    with inserted(server, conditions) as batches, Connection(server) as session:
        session.run(NEUTRAL)
        for _ in range(CONDITIONS):
            text = conditions.condition()
            try:
                ours = passing(Condition(text), batches)
            except UsageError:
                continue
            theirs = session.run(f"SELECT id FROM {TABLE} WHERE {text} ORDER BY id")
            if not all(map(str.isdigit, theirs)):
                continue
            compared += 1
            if ours != [int(line) for line in theirs]:
                odd = sorted(set(ours) ^ set(map(int, theirs)))
                different.append(f"{text}: binx {len(ours)} rows, SELECT {len(theirs)}, as of id {odd[0]}")
    assert not different, f"SEED={seed} on {server.daemon}:\n" + "\n".join(different[:20])
    assert compared > CONDITIONS / 2, "binx or the server refuses most of the conditions"
