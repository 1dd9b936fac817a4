"""After every kind of schema statement ``current/`` is what SELECT shows, cell by cell.

A case of lake_ddl.sql is a list of steps; all cases take their first step, the log is rotated, then their
second, and so on.
The logs are loaded after every rotation, and in one go.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binx.lake.options import LoadOptions
from binx.lake.table_name import TableName
from binx.spark.load_run import load
from testdata.servers import Server
from tests.exports import export
from tests.live.logs import export_last, leaves_out_generated, sections
from tests.live.schema_rounds import DATABASES, SchemaRound
from tests.live.tables_at_end import differences
from tests.live.test_differential import ROUNDS, seed_of

CASES = {
    title: steps.strip().split("\n\n")
    for title, steps in sections(Path(__file__).with_name("lake_ddl.sql")).items()
}
STEPS = max(map(len, CASES.values()))
NOT_KNOWN, WITHOUT_GENERATED = (0, 21, 20), (0, 22, 22)
"""How many cells only the server knows after each step, and where updates leave generated columns out."""
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
    expected = WITHOUT_GENERATED if leaves_out_generated(server) else NOT_KNOWN
    for step in range(STEPS):
        for case in CASES.values():
            if step < len(case):
                server.sql(case[step], db="ddl")
        export_last(server, tmp_path / "data")
        summary = load(LoadOptions((str(tmp_path / "data"),), str(tmp_path / "lake"), scd2=True), session)
        told += [f"step {step}: {table.table}: {table.error}" for table in summary.tables if table.error]
        found, unknown = differences(server, "ddl", tmp_path / "lake")
        told += [f"step {step}: {one}" for one in found]
        told += [f"step {step}: {unknown} cells are not known"] if unknown != expected[step] else []
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
        export(tmp_path / "data", server.binlogs()[:count])
        load(LoadOptions((str(tmp_path / "data"),), str(tmp_path / "lake")), lambda: nullcontext(spark))
    assert differences(server, "ddl", tmp_path / "lake") == ([], 0)


@pytest.mark.parametrize("order", [("whole chain", "one log"), ("one log", "whole chain")])
def test_of_two_exports_of_a_log_the_one_that_knew_its_tables_counts(
    server: Server, order: tuple[str, ...], tmp_path: Path, spark: Any
) -> None:
    """A log alone does not tell that a column is unsigned, nor which one is the key."""
    server.sql("DROP DATABASE IF EXISTS ddl")
    server.reset()
    server.sql("CREATE DATABASE ddl; CREATE TABLE ddl.t (a INT, b INT UNSIGNED PRIMARY KEY)")
    server.flush_logs()
    server.sql("INSERT INTO ddl.t VALUES (1, 4000000000), (1, 5)")
    server.flush_logs()
    export(tmp_path / "whole chain", server.binlogs()[:2])
    export(tmp_path / "one log", server.binlogs()[1:2])
    places = tuple(str(tmp_path / name) for name in order)
    summary = load(LoadOptions(places, str(tmp_path / "lake")), lambda: nullcontext(spark))
    assert (summary.exit_code, differences(server, "ddl", tmp_path / "lake")) == (0, ([], 0))


@pytest.mark.parametrize(
    ("definition", "value"), [("CHAR(9) CHARACTER SET latin1", "'Ã©'"), ("MEDIUMINT UNSIGNED", "16777215")]
)
def test_rows_exported_before_their_definition_was_known_are_replaced(
    server: Server, definition: str, value: str, tmp_path: Path, spark: Any
) -> None:
    """MariaDB's logs have neither character sets nor signs; MySQL's do."""
    server.sql("DROP DATABASE IF EXISTS ddl")
    server.reset()
    server.sql(f"CREATE DATABASE ddl; CREATE TABLE ddl.t (a INT PRIMARY KEY, b {definition})")
    server.flush_logs()
    server.sql(f"INSERT INTO ddl.t VALUES (1, {value})")
    server.flush_logs()
    places = (str(tmp_path / "one log"), str(tmp_path / "whole chain"))
    export(places[0], server.binlogs()[1:2])
    for _ in range(2):
        load(LoadOptions(places[:1], str(tmp_path / "lake")), lambda: nullcontext(spark))
    export(places[1], server.binlogs()[:2])
    for _ in range(2):
        summary = load(LoadOptions(places, str(tmp_path / "lake")), lambda: nullcontext(spark))
        [table] = summary.tables
        assert (table.completeness, table.loaded) == ("yes", 0 if _ else 1)
        assert differences(server, "ddl", tmp_path / "lake") == ([], 0)


ROTATIONS = 3
KEY_NOT_KNOWN = "the key's column"
"""What a table lacks whose key got values that no log tells: rows from before."""


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
        export(data, server.binlogs()[-2:-1])
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
        told += [
            f"{name}: {kind} differ after each and at once"
            for name in one.keys() | other
            if one.get(name) != other.get(name)
        ]
    server.sql("SET GLOBAL binlog_row_image = FULL; SET GLOBAL binlog_row_metadata = MINIMAL")
    assert not told, f"SEED={seed_of(number)} on {server.daemon}\n" + "\n".join(told[:40])


def _loaded(server: Server, data: Path, output: Path, spark: Any) -> list[str]:
    """Load what is new; what differs from SELECT then."""
    options = LoadOptions((str(data),), str(output), scd2=True)
    summary = load(options, lambda: nullcontext(spark))
    found = [f"{one.db}.{one.table} {one.error}" for one in summary.tables if one.error]
    lacking = [
        (one.db, one.table)
        for one in summary.tables
        if any(KEY_NOT_KNOWN in reason for reason in one.reasons)
    ]
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
        left_out = {name for one, name in lacking if one == db} | {str(name) for name in keyless}
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
