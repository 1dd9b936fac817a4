"""After random schema statements ``current/`` is what SELECT shows, after each rotation and at once.

``make test-live SEED=… ROUNDS=…`` runs as many rounds as asked; a seed alone decides a round.
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
from binx.spark.lake.run import LoadOptions, load
from testdata.servers import Server
from tests.live.lake_tables import differences
from tests.live.schema_rounds import DATABASES, SchemaRound
from tests.live.test_differential import ROUNDS, seed_of
from tests.spark.conftest import spark  # noqa: F401 - a fixture

ROTATIONS = 3
KEY_NOT_KNOWN = "the key's column"
"""What a table is stopped with whose key got values that no log tells."""


@pytest.mark.parametrize("number", range(ROUNDS or 1))
def test_tables_are_what_select_shows_after_random_statements(
    server: Server,
    number: int,
    tmp_path: Path,
    spark: Any,  # noqa: F811 - the fixture
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
    names = tuple(".".join(life["name"]) for life in lives)
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


def _loaded(server: Server, data: Path, output: Path, spark: Any) -> list[str]:  # noqa: F811
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
        files = life["ranges"] if kind == "ranges" else [one for listed in life["versions"] for one in listed]
        rows = [row for file in files for row in pq.ParquetFile(output / file["path"]).read().to_pylist()]
        found[life["life"]] = sorted(map(repr, rows))
    return found
