"""Odd logs, chains, relay logs, encrypted logs and partitions of real servers."""

from __future__ import annotations

import json
import random
import re
import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import binx
from binx.errors import RefusedError
from binx.event.format import Flavour
from binx.inspect.row_history import RowLife
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.chain.inputs import open_chain
from binx.log.selection.selection import Selection
from binx.slices.options import ExtractOptions, SliceFormat
from binx.source import open_source
from binx.source.keyring import given_keys
from binx.stats.gather import gather
from binx.stats.lines import COLUMNS, LineWriter
from binx.stats.listing import Listing
from binx.undo.extract_undo import extract_undo
from binx.verify import verify
from binx.verify.problems import LogProblemKind
from testdata.encrypted import decrypted_by_server, encrypting_server
from testdata.programs import MYSQL_HINT, find_mysql
from testdata.relay import replicate
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.exports import export
from tests.live.logs import empty, needed, sections
from tests.live.test_differential import ROUNDS
from tests.stats.mysqlbinlog import count_listing, count_with_binx, print_log

ODD = sections(Path(__file__).with_name("odd_logs.sql"))

_HEADER = struct.Struct("<IBII")
_TABLE_MAP = 19
_ROWS = {23, 24, 25, 30, 31, 32, 39}


def bytes_by_table(path: Path) -> dict[str, int]:
    """The bytes of rows events of each table, by the headers alone."""
    data, place = path.read_bytes(), 4
    sizes: Counter[str] = Counter()
    names: dict[bytes, str] = {}
    while place < len(data):
        _, kind, _, size = _HEADER.unpack_from(data, place)
        body = data[place + 19 : place + size]
        if kind == _TABLE_MAP:
            db = body[9 : 9 + body[8]]
            rest = body[10 + len(db) :]
            names[body[:6]] = f"{db.decode()}.{rest[1 : 1 + rest[0]].decode()}"
        elif kind in _ROWS:
            sizes[names[body[:6]]] += size
        place += size
    return dict(sizes)


def threads_of(text: bytes) -> Counter[int]:
    """Transactions by the connection that their first statement names."""
    found: Counter[int] = Counter()
    for transaction in re.split(rb"\t(?:Anonymous_)?G[Tt][Ii][Dd](?: |\t)", text)[1:]:
        thread = re.search(rb"thread_id=(\d+)", transaction)
        found[int(thread[1]) if thread else -1] += 1
    return found


def listed(file: BinlogFile) -> list[dict[str, Any]]:
    listing = Listing([ChainLog.of(file)], LineWriter(COLUMNS, as_json=True))
    return [json.loads(line) for text in listing for line in text.splitlines()]


def test_odd_logs_hold_what_the_servers_reader_prints(server: Server, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("300,a,b\n301,c,d\n")
    (tmp_path / "more.csv").write_text("310,a,b\n311,c,d\n")
    server.sql("SET GLOBAL local_infile = ON")
    server.flush_logs()
    before = len(server.binlogs())
    for part in (ODD["both"], ODD[server.client]):
        # What a server does not know or allow is left out.
        server.attempt(part.encode(), tmp_path)
        server.flush_logs()
    reader = server.programs.command(server.binlog_reader)
    for path in server.binlogs()[before - 1 : -1]:
        text, complaints = print_log(reader, path, tmp_path)
        assert complaints == ""
        theirs, ours = count_listing(text), count_with_binx(path)
        assert (ours.transactions, ours.events, ours.rows) == (
            theirs.transactions,
            theirs.events,
            theirs.rows,
        )
        with BinlogFile.open(str(path)) as file:
            figures, rows = gather([file]), listed(file)
            flavour = file.format.flavour
        sums: Counter[tuple[str, str]] = Counter()
        for one in rows:
            for change in one["tables"]:
                for name in ("inserts", "updates", "deletes"):
                    sums[f"{change['db']}.{change['table']}", name] += change[name]
        names = ("inserts", "updates", "deletes")
        assert +sums == +Counter(
            {
                (table, name): count
                for table, counts in ours.rows.items()
                for name, count in zip(names, counts, strict=True)
            }
        )
        # Where something is compressed, bytes are those before.
        if not {name for name in ours.events if "PAYLOAD" in name or "COMPRESSED" in name}:
            sizes = {f"{one['db']}.{one['table']}": one["bytes"] for one in figures["tables"]}
            assert {name: size for name, size in sizes.items() if size} == bytes_by_table(path)
        threads = Counter(-1 if one["thread_id"] is None else one["thread_id"] for one in rows)
        if flavour is Flavour.MYSQL:
            assert threads == threads_of(text)
        assert sum(one["bytes"] for one in figures["kinds"]) == sum(one["bytes"] for one in rows)
    server.sql("DROP DATABASE odd")


BEFORE = "CREATE DATABASE moved; CREATE TABLE moved.t (a INT PRIMARY KEY, b INT)"
UNDER_ANOTHER_ID = "ALTER TABLE moved.t MODIFY a INT AFTER b; INSERT INTO moved.t (a, b) VALUES (2, 20)"
AFTER = "INSERT INTO moved.t (a, b) VALUES (3, 30); UPDATE moved.t SET b = 11 WHERE a = 1"


@pytest.fixture
def logs(server: Server, tmp_path: Path) -> list[Path]:
    """The logs of three ids: one, another, and the first again."""
    ((own_id,),) = server.query("SELECT CAST(@@server_id AS CHAR)")
    server.reset()
    server.sql(f"{BEFORE}; INSERT INTO moved.t VALUES (1, 10)")
    for server_id, statements in (("98", UNDER_ANOTHER_ID), (own_id, AFTER)):
        server.sql(f"SET GLOBAL server_id = {server_id}")
        server.flush_logs()
        server.sql(statements)
    server.flush_logs()
    taken = [Path(shutil.copy(log, tmp_path)) for log in server.binlogs()[:3]]
    (tmp_path / "mysql-bin.index").write_text("".join(f"./{log.name}\n" for log in taken))
    return taken


def test_the_rows_are_those_of_the_server_in_whatever_order_the_logs_are_named(
    server: Server, logs: list[Path]
) -> None:
    held = {(int(a or 0), int(b or 0)) for a, b in server.query("SELECT a, b FROM moved.t")}
    server.sql("DROP DATABASE moved")
    for paths in (random.sample(logs, 3), [logs[0].parent], [logs[0].parent / "mysql-bin.index"]):
        with binx.open(*paths) as opened:
            changes = [row for batch in opened.changes("moved.t") for row in batch.to_pylist()]
        images = [row for row in changes if row["_change_type"] in ("insert", "update_postimage")]
        assert set({row["a"]: row["b"] for row in images}.items()) == held


def test_a_log_of_another_id_that_is_not_there_is_reported(server: Server, logs: list[Path]) -> None:
    server.sql("DROP DATABASE moved")
    assert verify([str(log) for log in logs]).ok
    for pair in ((logs[0], logs[2]), (logs[2], logs[0])):
        (problem,) = verify([str(log) for log in pair]).problems
        assert problem.kind is LogProblemKind.MISSING_FILE


# By GTID the logs of testdata were received.
@pytest.mark.parametrize("gtids", [True, False] if ROUNDS else [False])
@pytest.mark.parametrize("kind", [MySQLServer, MariaDBServer])
def test_relay_logs_hold_the_transactions_of_their_source(
    kind: type[Server], gtids: bool, tmp_path: Path
) -> None:
    needed(kind)
    replicate(kind, tmp_path / "servers", tmp_path / "logs", gtids=gtids)
    found = []
    for folder in (tmp_path / "logs", tmp_path / "logs/source"):
        with binx.open(folder) as opened:
            rows = opened.changes("relayed.t").read_all().to_pylist()
            transactions = [
                (one.gtid, one.kind, one.commit_timestamp, one.rows) for one in opened.transactions()
            ]
        found.append(
            (transactions, [(row["_change_type"], row["_row"], *list(row.values())[-2:]) for row in rows])
        )
    assert found[0] == found[1]
    assert len(found[0][1]) == 54


def test_logs_of_a_server_that_encrypts_are_what_it_says(tmp_path: Path) -> None:
    programs = find_mysql()
    if programs is None or programs.root is None:
        pytest.skip(MYSQL_HINT)
    with encrypting_server(tmp_path) as (server, keyring):
        server.sql("CREATE DATABASE vault; CREATE TABLE vault.t (id INT PRIMARY KEY, secret LONGTEXT)")
        server.sql("ALTER INSTANCE ROTATE BINLOG MASTER KEY")
        server.sql("SET GLOBAL binlog_row_metadata = 'FULL'")
        server.sql("INSERT INTO vault.t VALUES (1, REPEAT('a', 3000000)), (2, 'b')")
        server.sql("INSERT INTO vault.t VALUES (3, 'c')")
        server.sql("FLUSH BINARY LOGS")
        logs = [str(row[0]) for row in server.query("SHOW BINARY LOGS")][:-1]
        paths = [server.binlog_folder / log for log in logs]
        for log, path in zip(logs, paths, strict=True):
            source = open_source(str(path), given_keys([str(keyring)]))
            assert bytes(source.window(0, source.size)) == decrypted_by_server(server, log, tmp_path)
        with binx.open(*paths, keyring=keyring) as opened:
            table = pa.Table.from_batches(list(opened.changes("vault.t")))
            starts = {(Path(one.path).name, one.start) for one in opened.transactions()}
        read = sorted(zip(table["id"].to_pylist(), table["secret"].to_pylist(), strict=True))
        assert read == [(1, "a" * 3000000), (2, "b"), (3, "c")]
        told = {
            (log, int(row[1] or 0))
            for log in logs
            for row in server.query(f"SHOW BINLOG EVENTS IN '{log}'")
            if row[2] == "Gtid"
        }
        assert starts == told


PARTITIONED = """
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id)
(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
CREATE TABLE o (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (11, 11);
INSERT INTO o VALUES (5, 5);
ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE o; UPDATE o SET v = 7 WHERE id = 1;
"""
CONVERTED = """
USE small; ALTER TABLE t CONVERT PARTITION p1 TO TABLE made; UPDATE made SET v = 3;
ALTER TABLE t CONVERT TABLE made TO PARTITION p1 VALUES LESS THAN (20);
"""


def test_rows_that_change_hands_are_reported(server: Server, tmp_path: Path) -> None:
    empty(server)
    server.sql(PARTITIONED)
    tables = {"o": ("1", ["create", "alter", "update"])}
    expected: list[tuple[str, str, str | None]] = [("partitions", "t", "o")]
    if isinstance(server, MariaDBServer):
        server.sql(CONVERTED)
        tables["made"] = ("11", ["alter", "update", "alter"])
        expected += [
            ("partitions", "t", "made"), ("created", "made", None),
            ("partitions", "t", "made"), ("dropped", "made", None),
        ]  # fmt: skip
    server.flush_logs()
    log = str(server.binlogs()[0])
    for table, (key, types) in tables.items():
        selection = Selection(tables=(f"small.{table}",))
        with open_chain([log]) as chain:
            changes = list(RowLife(chain, selection, key=(key,)))
        assert [change.row["type"] for change in changes] == types
        assert [change.uncertain for change in changes] == [kind == "alter" for kind in types]
        options = ExtractOptions(format=SliceFormat.SQL, only_matching=True)
        with (
            open_chain([log]) as chain,
            pytest.raises(RefusedError, match=r"“ALTER TABLE t .* PARTITION|TABLE"),
        ):
            extract_undo(chain, selection, str(tmp_path / "undo.sql"), options)
    export(tmp_path, [log])
    (statements,) = (tmp_path / "statements").glob("*.parquet")
    effects = [
        one for row in pq.ParquetFile(statements).read(["effects"]).to_pylist() for one in row["effects"]
    ]
    found = [(one["action"], one["table"], one["new_table"]) for one in effects]
    assert [one for one in found if one[0] == "partitions" or one[1] == "made"] == expected
