"""Logs exported without the definitions that a dump has: tables are right, or what may be wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from binx.lake.at_moment import table_at
from testdata.servers import Server
from tests.cli.process import binx
from tests.live.lake.test_base import options_of
from tests.live.logs import empty

ORDER = "its columns may have other values"


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [("ADD w INT DEFAULT 5, MODIFY v BIGINT", ORDER), ("ADD w INT FIRST", ORDER), ("DROP x", ""),
     ("DROP PRIMARY KEY, ADD PRIMARY KEY (v)", "")],
)  # fmt: skip
def test_rows_after_an_alter_that_were_exported_without_the_definition_are_reported(
    server: Server, clauses: str, reason: str, tmp_path: Path
) -> None:
    """The order of the columns is not known then; an export with the definition mends it."""
    lake, dump = tmp_path / "lake", tmp_path / "dump.sql"
    empty(server)
    server.sql("SET GLOBAL binlog_row_metadata = MINIMAL")
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v INT, x INT)")
    server.sql("INSERT INTO shop.t VALUES (1, 1, 1), (2, 2, 2)")
    server.flush_logs()
    dump.write_bytes(server.dump(*options_of(server, "position")[:-3], "--databases", "shop"))
    assert binx("base", dump, "-o", lake, "--quiet").code == 0
    server.sql(f"ALTER TABLE shop.t {clauses}")
    server.sql("UPDATE shop.t SET v = 40 WHERE id = 2; INSERT INTO shop.t (id, v) VALUES (3, 3)")
    server.flush_logs()
    for options in ((), ("--schema", dump)):
        assert binx("to-parquet", *options, server.binlogs()[1], "-o", lake, "--quiet").code == 0
        state = table_at(str(lake), "shop.t", None)
        is_told = bool(reason) and not options
        assert bool(state.missing) == is_told
        assert not is_told or reason in str(state.missing)
        if not is_told:
            found = sorted((row["id"], row["v"]) for row in state.rows.to_pylist())
            assert found == [(1, 1), (2, 40), (3, 3)]


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_versioned_rows_that_were_exported_without_the_definition_are_reported(
    mariadb: Server, metadata: str, tmp_path: Path
) -> None:
    lake, dump = tmp_path / "lake", tmp_path / "dump.sql"
    empty(mariadb)
    mariadb.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING"
    )
    mariadb.flush_logs()
    dump.write_bytes(mariadb.dump("--single-transaction", "--master-data=2", "--databases", "shop"))
    assert binx("base", dump, "-o", lake, "--quiet").code == 0
    mariadb.sql(f"SET GLOBAL binlog_row_metadata = {metadata}")
    mariadb.sql(
        "INSERT INTO shop.t VALUES (1, 1), (2, 2); UPDATE shop.t SET v = 5 WHERE id = 1; DELETE FROM shop.t"
    )
    mariadb.sql("SET GLOBAL binlog_row_metadata = MINIMAL; FLUSH BINARY LOGS")
    for options, told in (((), True), (("--schema", dump), False)):
        assert binx("to-parquet", *options, mariadb.binlogs()[1], "-o", lake, "--quiet").code == 0
        state = table_at(str(lake), "shop.t", None)
        assert ("its rows may have other values" in str(state.missing)) == told
        assert told or not state.rows.num_rows


def test_character_sets_of_a_database_that_no_log_makes_are_said_to_be_guesses(
    server: Server, tmp_path: Path
) -> None:
    """MySQL's table maps have them."""
    empty(server)
    if server.daemon == "mariadbd":
        server.sql("SET GLOBAL binlog_row_metadata = NO_LOG")
    server.sql("CREATE DATABASE shop CHARACTER SET latin1")
    server.flush_logs()
    server.sql("CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO shop.t VALUES (1, 'Ã©')")
    server.flush_logs()
    for first, is_guess in ((1, server.daemon == "mariadbd"), (0, False)):
        lake = tmp_path / str(first)
        made = binx("to-parquet", *server.binlogs()[first:2], "-o", lake)
        assert ("character sets of text in shop.t: it is read as utf8mb4" in made.err) == is_guess
        [row] = table_at(str(lake), "shop.t", None).rows.to_pylist()
        assert row["v"] == ("é" if is_guess else "Ã©")
