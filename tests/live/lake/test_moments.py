"""The state of tables at moments is what a replica has that was stopped there (``START REPLICA UNTIL``).

``ROUNDS=100 pytest tests/live/test_moments.py`` compares at so many moments; ``SEED=…`` says at which.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.errors import BinxError, RefusedError
from binx.lake.at_moment import table_at
from testdata.expected import describe_table, select_rows, tables_of
from testdata.relay import linked
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.exports import export
from tests.live.logs import needed
from tests.live.schema_rounds import DATABASES, SchemaRound
from tests.live.tables_at_end import compare_rows
from tests.live.test_differential import ROUNDS, SEED

ROTATIONS = 3 + ROUNDS // 10
KEY_NOT_KNOWN = "the key's column"
"""What a table lacks whose key got values that no log tells: rows from before."""

LACKING = re.compile("only the server knows|gave rows which were there are not known")
"""What logs do not tell of single values, which are compared as far as they are known."""


@pytest.mark.skipif(not ROUNDS, reason="two servers of each kind take a minute: set ROUNDS")
@pytest.mark.parametrize(
    ("kind", "gtids"), [(MySQLServer, True), (MySQLServer, False), (MariaDBServer, True)]
)
def test_the_state_at_a_moment_is_that_of_a_replica_stopped_there(
    kind: type[Server], gtids: bool, tmp_path: Path
) -> None:
    needed(kind)
    words = ("REPLICA", "SOURCE") if kind is MySQLServer else ("SLAVE", "MASTER")
    chosen = random.Random(SEED)
    with linked(kind, tmp_path / "servers", gtids=gtids) as (source, replica):
        replica.sql(f"STOP {words[0]}")
        traffic = SchemaRound(source, f"{SEED}-{kind.__name__}-{gtids}")
        for number in range(ROTATIONS):
            traffic.rotate(last=number == ROTATIONS - 1)
        export(tmp_path / "lake", source.binlogs()[:-1])
        parts = (tmp_path / "lake" / "transactions").glob("*.parquet")
        rows = pa.concat_tables(map(pq.read_table, parts)).sort_by("commit_version").to_pylist()
        # The databases are there from the first transaction of the traffic on.
        first = next(place for place, row in enumerate(rows) if row["tables"])
        places = chosen.sample(range(first, len(rows)), min(ROUNDS, len(rows) - first))
        moments = [moment(rows, place, chosen) for place in places]
        told, compared = [], 0
        for last, at in sorted(moments):
            end = rows[last]
            until = f"{words[1]}_LOG_FILE = '{end['file']}', {words[1]}_LOG_POS = {end['end']}"
            replica.sql(f"START {words[0]} UNTIL {until}")
            replica.query(f"SELECT {words[1]}_POS_WAIT('{end['file']}', {end['end']}, 60)")
            replica.sql(f"STOP {words[0]}")
            status = replica.query(f"SHOW {words[0]} STATUS")[0]
            assert (status[9], status[21], status[18]) == (end["file"], str(end["end"]), "0"), status
            found, count = differences_at(replica, tmp_path / "lake", at)
            told += [f"{at} ({end['file']}:{end['end']}): {one}" for one in found]
            compared += count
    assert not told, "\n".join(told[:40])
    assert compared >= ROUNDS


def moment(rows: list[dict[str, Any]], place: int, chosen: random.Random) -> tuple[int, str]:
    """The place of the last transaction before a moment, and the moment in one of the ways to tell it."""
    row = rows[place]
    how = chosen.choice(["position", "gtid" if row["gtid"] else "position", "time"])
    if how == "time":
        time = row["commit_timestamp"]
        later = next((at for at, one in enumerate(rows) if one["commit_timestamp"] > time), len(rows))
        return later - 1, time.isoformat()
    return place, row["gtid"] if how == "gtid" else f"{row['file']}:{row['end']}"


def differences_at(replica: Server, lake: Path, at: str) -> tuple[list[str], int]:
    """What differs between a server's tables and those of the data set then, and how many were compared."""
    told, compared = [], 0
    for db, name in tables_of(replica):
        if db not in DATABASES:
            continue
        try:
            state = table_at(str(lake), f"{db}.{name}", at)
        except RefusedError:
            continue
        except BinxError as error:
            told.append(f"{db}.{name}: {error}")
            continue
        if any(KEY_NOT_KNOWN in reason for reason in state.missing):
            continue
        described = describe_table(replica, db, name)
        columns = state.rows.column_names
        key = [columns.index(column) for column in state.key]
        rows = select_rows(replica, db, name, described)
        told += compare_rows(f"{db}.{name}", state.rows, key, described, rows)[0]
        told += [f"{db}.{name}: {text}" for text in state.missing if not LACKING.search(text)]
        compared += 1
    return told, compared
