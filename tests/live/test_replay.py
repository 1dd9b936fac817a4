"""Slices replayed on an empty server leave the tables and the GTIDs of the server that wrote the logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import open_chain
from binx.log.scan import Scan
from binx.log.selection.selection import Selection
from binx.slices.binlog import write_binlog
from binx.slices.extraction import extract
from binx.slices.renaming import DatabaseNames
from binx.slices.search import Selected
from testdata.expected import rows_document, server_facts, tables_of
from testdata.servers import MySQLServer, Server
from tests.conftest import SHOPS, TESTDATA
from tests.live.logs import FOLDERS, empty, logs_of, needed, run_on_empty, set_gtid_mode, shop_of

MYSQL = TESTDATA / "mysql-9.7"
SMALL = [
    (flavour, name)
    for flavour, names in (
        ("mysql", ("compressed", "load_data", "partial_json", "tagged_gtids", "xa")),
        ("mariadb", ("collations", "compressed", "generated", "load_data", "standalone", "statements", "xa")),
    )
    for name in names
    if (FOLDERS[flavour] / "small" / f"{name}.binlog").exists()
]


def parts_of(file: BinlogFile) -> Iterator[Selected]:
    """All transactions of a file."""
    scan = Scan(file)
    return (Selected(scan, table, table.mask()) for table in scan)


def slice_of(paths: Sequence[Path], target: Path, *, apart: bool = False) -> Path:
    """All transactions of some files as one slice; ``apart`` has each come as a run of its own."""
    with ExitStack() as stack, target.open("wb") as output:
        files = [stack.enter_context(BinlogFile.open(str(path))) for path in paths]
        runs = [part for file in files for part in parts_of(file)]
        if apart:
            runs = [
                run._replace(mask=bytearray(i == k for i in range(len(run.table))))
                for run in runs
                for k in range(len(run.table))
            ]
        write_binlog(runs, output)
    return target


def replay(server: Server, path: Path, folder: Path) -> None:
    """Empty a server and run what its own reader makes of a log."""
    run_on_empty(server, server.mysqlbinlog("--verify-binlog-checksum", f"--local-load={folder}", path))


def checksums(server: Server) -> dict[str, str | None]:
    """CHECKSUM TABLE of all tables."""
    return {
        f"{database}.{table}": server.query(f"CHECKSUM TABLE `{database}`.`{table}`")[0][1]
        for database, table in tables_of(server)
    }


def expected_of(shop: list[Path]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((shop[0].parent / "expected" / "tables.json").read_text())
    return document


def test_the_shop_comes_back_with_its_tables_and_gtids(server: Server, tmp_path: Path) -> None:
    shop = shop_of(server)
    expected = expected_of(shop)
    replay(server, slice_of(shop, tmp_path / "slice"), tmp_path)
    assert checksums(server) == {name: table["checksum"] for name, table in expected["tables"].items()}
    # MariaDB's reader sets domain, server id and number of each transaction, so that the state is the same.
    assert server_facts(server)["gtid_executed"] == expected["gtid_executed"]


@pytest.mark.parametrize("pieces", [0, 3], ids=["one slice, serial", "three slices a file, clocks kept"])
def test_a_replica_applies_slices_with_parallel_workers_and_no_reader_between(
    pieces: int, tmp_path: Path
) -> None:
    # A replica reads binary logs that lie in place of its relay logs (MySQL manual, "Point-in-Time Recovery
    # Using Event Positions" and "The Relay Log"), and refuses clocks that do not grow.
    options = ["--relay-log=relay-bin", "--skip-replica-start", "--replica-parallel-workers=4"]
    # A replica passes over events of its own server id.
    options.append("--server-id=98")
    replica = needed(MySQLServer)(tmp_path / "replica", options=options)
    with replica:
        replica.reset()
    shop = SHOPS["mysql-9.7"]
    relay_logs = [replica.binlog_folder / f"relay-bin.{i:06}" for i in range(1, max(5 * pieces, 1) + 1)]
    if pieces:
        for i, target in enumerate(relay_logs):
            piece_of(shop[i // pieces], i % pieces, pieces, target)
    else:
        slice_of(shop, relay_logs[0])
    index = replica.binlog_folder / "relay-bin.index"
    index.write_text("".join(f"./{path.name}\n" for path in relay_logs))
    expected = expected_of(shop)
    with replica:
        replica.sql(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='nowhere', RELAY_LOG_FILE='relay-bin.000001',"
            " RELAY_LOG_POS=4; START REPLICA SQL_THREAD"
        )
        gtids = expected["gtid_executed"]
        waited = replica.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 60)")
        table = "performance_schema.replication_applier_status_by"
        errors = replica.query(f"SELECT last_error_message FROM {table}_worker WHERE last_error_number > 0")
        errors += replica.query(
            f"SELECT last_error_message FROM {table}_coordinator WHERE last_error_number > 0"
        )
        assert (waited, errors) == ([("0",)], [])
        assert checksums(replica) == {name: table["checksum"] for name, table in expected["tables"].items()}


def piece_of(path: Path, piece: int, pieces: int, target: Path) -> None:
    """One of the contiguous runs that a file's transactions are cut into."""
    with BinlogFile.open(str(path)) as file, target.open("wb") as output:
        (part,) = parts_of(file)
        first, end = (len(part.table) * k // pieces for k in (piece, piece + 1))
        mask = bytearray(first <= i < end for i in range(len(part.table)))
        report = write_binlog([part._replace(mask=mask)], output)
        assert report.renumbered == 0


@pytest.mark.parametrize(("server", "name"), SMALL, indirect=["server"])
def test_a_small_log_comes_back_with_its_rows(server: Server, name: str, tmp_path: Path) -> None:
    folder = FOLDERS[server.client] / "small"
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    replay(server, slice_of([folder / f"{name}.binlog"], tmp_path / "slice", apart=True), tmp_path)
    # The server that made the log may have been of another patch level.
    assert rows_document(server) | {"version": None} == expected | {"version": None}


def test_a_log_of_mysql_without_gtids_comes_back_with_its_rows(mysql: MySQLServer, tmp_path: Path) -> None:
    expected = json.loads((MYSQL / "small" / "anonymous_gtids.expected.json").read_text())
    path = slice_of([MYSQL / "small" / "anonymous_gtids.binlog"], tmp_path / "slice")
    # Only a server that takes transactions with and without GTIDs takes these, and gives them no GTIDs.
    set_gtid_mode(mysql, "ON_PERMISSIVE")
    try:
        replay(mysql, path, tmp_path)
        found = rows_document(mysql)
    finally:
        set_gtid_mode(mysql, "ON")
    assert found == expected


XA_OF_TWO_TABLES = """
CREATE DATABASE small; USE small;
CREATE TABLE kept (id INT PRIMARY KEY); CREATE TABLE other (id INT PRIMARY KEY);
XA START 'kept'; INSERT INTO kept VALUES (1); XA END 'kept'; XA PREPARE 'kept'; XA COMMIT 'kept';
XA START 'other'; INSERT INTO other VALUES (1); XA END 'other'; XA PREPARE 'other'; XA COMMIT 'other';
XA START 'back'; INSERT INTO kept VALUES (2); XA END 'back'; XA PREPARE 'back'; XA ROLLBACK 'back';
INSERT INTO kept VALUES (3);
"""


def test_a_slice_of_one_table_ends_its_xa_transactions(server: Server, tmp_path: Path) -> None:
    [log] = logs_of(server, XA_OF_TWO_TABLES)
    with open_chain([str(log)]) as chain:
        extract(chain, Selection(tables=("small.kept",)), str(tmp_path / "slice"))
    empty(server)
    server.sql("CREATE DATABASE small")
    server.reset()
    server.script(server.mysqlbinlog(tmp_path / "slice"))
    assert server.query("XA RECOVER") == []
    assert server.query("SELECT id FROM small.kept ORDER BY id") == [("1",), ("3",)]


def test_a_slice_replays_into_a_database_of_another_name(server: Server, tmp_path: Path) -> None:
    folder = FOLDERS[server.client] / "small"
    if not (folder / "compressed.binlog").exists():
        pytest.skip(f"{folder.parent.name} has no such log")
    expected = json.loads((folder / "compressed.expected.json").read_text())
    target = tmp_path / "renamed"
    with BinlogFile.open(str(folder / "compressed.binlog")) as file, target.open("wb") as output:
        runs = [*parts_of(file)]
        write_binlog(runs, output, databases=DatabaseNames({"small": "another"}))
    empty(server)
    server.sql("SET sql_log_bin=0; CREATE DATABASE another")
    # CREATE DATABASE names it in its text, which stays.
    server.script(server.mysqlbinlog("--verify-binlog-checksum", target))
    for name, table in expected["tables"].items():
        renamed = name.replace("small.", "another.")
        assert checksums(server)[renamed] == table["checksum"], name
