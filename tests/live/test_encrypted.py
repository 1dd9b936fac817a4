"""A server that encrypts its logs: rows and positions are those that it tells."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import binx
from binx.source import open_source
from binx.source.keyring import given_keys
from testdata.encrypted import decrypted_by_server, encrypting_server
from testdata.programs import MYSQL_HINT, find_mysql


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
