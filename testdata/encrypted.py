"""Binary logs that a MySQL server encrypted, their keyring, and the same logs as the server decrypts them.

``python -m testdata.encrypted`` writes ``testdata/mysql-9.7/encrypted`` again: a log copied before and one
after the replication master key was rotated, the keyrings (component_keyring_file) of before and after, and
in ``decrypted`` what ``mysqlbinlog --read-from-remote-server --raw`` gives. A rotation encrypts the headers
of the logs that the server has, and removes the old key, so a copy from before needs the keyring of then.
The keys are of a server that lived for some seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from testdata.programs import need_mysql
from testdata.servers import MySQLServer

FOLDER = Path(__file__).resolve().parent / "mysql-9.7" / "encrypted"
KEYRING_BEFORE, KEYRING = "keyring-before.json", "keyring.json"
LOGS = ("mysql-bin.000001", "mysql-bin.000003")
"""One of before the rotation, which begins a log of its own, and one of after it."""

TRAFFIC = """
CREATE DATABASE vault;
CREATE TABLE vault.t (id INT PRIMARY KEY, secret VARCHAR(200));
INSERT INTO vault.t VALUES (1, 'one'), (2, 'two');
UPDATE vault.t SET secret = REPEAT('x', 150) WHERE id = 2;
"""
LATER = "INSERT INTO vault.t VALUES (3, 'after the rotation'); DELETE FROM vault.t WHERE id = 1;"


@contextmanager
def encrypting_server(folder: Path) -> Iterator[tuple[MySQLServer, Path]]:
    """A server that encrypts its logs, and the keyring file it keeps its keys in.

    The server reads beside its own program which keyring it has, so it runs from a tree of its own.
    """
    programs = need_mysql()
    if programs.root is None:
        raise RuntimeError(
            "expected an unpacked MySQL, found one on the PATH, whose folder is not ours to change"
        )
    root = folder / "programs"
    shutil.copytree(programs.root, root, symlinks=True, copy_function=_link)
    keyring = folder / KEYRING
    daemon = next(root.rglob("mysqld"))
    daemon.with_suffix(".my").write_text(json.dumps({"components": "file://component_keyring_file"}))
    plugin = next(root.rglob("component_keyring_file.so"))
    plugin.with_suffix(".cnf").write_text(json.dumps({"path": str(keyring), "read_only": False}))
    server = MySQLServer(
        folder / "server", programs=replace(programs, root=root), options=["--binlog-encryption=ON"]
    )
    with server:
        yield server, keyring


def decrypted_by_server(server: MySQLServer, log: str, folder: Path) -> bytes:
    """A log as the server gives it to a replica."""
    command = [*server.programs.command("mysqlbinlog"), "--no-defaults", "--read-from-remote-server", "--raw"]
    command += [f"--socket={server._socket}", "--user=root", *server._reader_options()]
    subprocess.run([*command, f"--result-file={folder}/", log], check=True, capture_output=True)
    return (folder / log).read_bytes()


def make(folder: Path) -> None:
    """Write the files again."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        with encrypting_server(work) as (server, keyring):
            server.sql("RESET BINARY LOGS AND GTIDS")
            (folder / "decrypted").mkdir(parents=True, exist_ok=True)
            for log, kept, statements in zip(LOGS, (KEYRING_BEFORE, KEYRING), (TRAFFIC, LATER), strict=True):
                server.sql(statements)
                server.sql("FLUSH BINARY LOGS")
                shutil.copyfile(server.binlog_folder / log, folder / log)
                shutil.copyfile(keyring, folder / kept)
                (folder / "decrypted" / log).write_bytes(decrypted_by_server(server, log, work))
                server.sql("ALTER INSTANCE ROTATE BINLOG MASTER KEY")


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


if __name__ == "__main__":
    make(FOLDER)
