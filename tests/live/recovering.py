"""Servers with a history, moments of it, and backups that are restored to other servers."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from testdata.expected import tables_of
from testdata.servers import MariaDBServer, MySQLServer, Server
from testdata.small import drop_databases
from tests.cli.process import binx

FIRST_TIME = 2_000_000_000
"""MariaDB's commit times are whole seconds: sessions say which, after the times at which logs are closed."""


class Moment(NamedTuple):
    """What a server had at a moment at which nobody wrote."""

    gtid: str
    following: str
    time: str
    state: dict[str, Any]


def state_of(server: Server) -> dict[str, Any]:
    tables: dict[str, Any] = {
        f"{db}.{table}": server.query(f"CHECKSUM TABLE `{db}`.`{table}`")[0][1]
        for db, table in tables_of(server)
    }
    if isinstance(server, MySQLServer):
        tables["GTIDs"] = server.query("SELECT @@GLOBAL.gtid_executed")[0][0]
    return tables


WITHOUT_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")


def moment_of(server: Server, number: int) -> Moment:
    mysql = isinstance(server, MySQLServer)
    name = "@@GLOBAL.gtid_executed" if mysql else "@@GLOBAL.gtid_binlog_pos"
    gtids = str(server.query(f"SELECT {name}")[0][0])
    source, mark, last = gtids.rpartition(":" if mysql else "-")
    last = last.rpartition("-")[2]
    moment = str(server.query("SELECT NOW(6)")[0][0]) if mysql else f"@{FIRST_TIME + 10 * number + 5}"
    state = state_of(server)
    if not last:
        return Moment("", "", moment, state)
    return Moment(f"{source}{mark}{last}", f"{source}{mark}{int(last) + 1}", moment, state)


def statements(rng: random.Random, tables: list[str]) -> Iterator[str]:
    """One transaction or schema statement on some tables, which it changes as they are changed."""
    table = rng.choice(tables)
    match rng.randrange(12):
        case 0:
            column = f"c{rng.randrange(10**9)}"
            yield f"ALTER TABLE shop.{table} ADD COLUMN {column} INT DEFAULT {rng.randrange(9)}"
        case 1:
            yield f"DROP TABLE shop.{table}"
            yield f"CREATE TABLE shop.{table} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), n INT)"
        case 2:
            yield f"TRUNCATE TABLE shop.{table}"
        case 3:
            yield f"DELETE FROM shop.{table} WHERE id % 3 = {rng.randrange(3)}"
        case 4 | 5:
            yield f"UPDATE shop.{table} SET n = n + 1, v = CONCAT(v, 'ü') WHERE id % 4 = {rng.randrange(4)}"
        case 6:
            yield "BEGIN"
            yield f"INSERT INTO shop.{table} (v, n) VALUES ('kept', 1)"
            yield "SAVEPOINT s"
            yield f"DELETE FROM shop.{rng.choice(tables)}"
            yield "ROLLBACK TO SAVEPOINT s"
            yield f"UPDATE shop.{rng.choice(tables)} SET n = {rng.randrange(100)} WHERE id < 9"
            yield "COMMIT"
        case _:
            rows = ", ".join(
                f"('it''s {rng.random()}', {rng.randrange(99)})" for _ in range(rng.randrange(1, 30))
            )
            yield f"INSERT INTO shop.{table} (v, n) VALUES {rows}"


def write(server: Server, rng: random.Random, number: int) -> None:
    """What happens between two moments."""
    at = "" if isinstance(server, MySQLServer) else f"SET TIMESTAMP={FIRST_TIME + 10 * number};"
    for _ in range(rng.randrange(1, 4)):
        lines = [line for _ in range(rng.randrange(1, 12)) for line in statements(rng, ["t1", "t2", "t3"])]
        server.sql(at + ";\n".join(lines))
        # Also twice in a row, which leaves a log without transactions.
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            server.flush_logs()


class Backup(NamedTuple):
    """A backup, and how it comes back."""

    path: Path
    folder: Path | None = None


def dump(server: Server, folder: Path) -> Backup:
    mysql = isinstance(server, MySQLServer)
    options = ["--source-data=2"] if mysql else ["--master-data=2", "--gtid"]
    command = [*server.programs.command("mysqldump" if mysql else "mariadb-dump"), "--no-defaults"]
    command += [f"--socket={server.socket}", "--user=root", "--single-transaction", *options]
    text = subprocess.run([*command, "--databases", "shop"], check=True, capture_output=True).stdout
    path = folder / "dump.sql"
    path.write_bytes(text)
    return Backup(path)


def physical(server: Server, folder: Path) -> Backup:
    """A copy of the data folder that notes its position: mariadb-backup's, or that of a stopped server."""
    target = folder / "physical"
    if isinstance(server, MariaDBServer) and shutil.which("mariadb-backup"):
        for step in (["--backup", "--user=root", f"--socket={server.socket}"], ["--prepare"]):
            command = ["mariadb-backup", "--no-defaults", *step, f"--target-dir={target}"]
            subprocess.run([*command, f"--datadir={server.binlog_folder}"], check=True, capture_output=True)
        return Backup(target, target)
    show = "SHOW BINARY LOG STATUS" if isinstance(server, MySQLServer) else "SHOW MASTER STATUS"
    status = server.sql(show).rstrip("\n").split("\t")
    server.stop()
    shutil.copytree(server.binlog_folder, target, ignore=shutil.ignore_patterns("mysql-bin.*", "auto.cnf"))
    server.start()
    (target / "xtrabackup_binlog_info").write_text("\t".join([*status[:2], *status[4:5]]) + "\n")
    return Backup(target, target)


def restored(kind: type[Server], options: tuple[str, ...], backup: Backup, folder: Path) -> Server:
    server = kind(folder, options=["--server-id=98", *options])
    if backup.folder is not None:
        shutil.copytree(backup.folder, server.binlog_folder)
    server.start()
    if backup.folder is None:
        server.reset()
        drop_databases(server)
        server.script(backup.path.read_bytes())
    elif isinstance(server, MySQLServer) and not options:
        # XtraBackup's restored servers get the GTIDs that it noted in the same way.
        noted = (backup.folder / "xtrabackup_binlog_info").read_text().split(maxsplit=2)[2].strip()
        server.sql(f"RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = '{noted}'")
    return server


def archived(server: Server, folder: Path) -> Path:
    logs = server.binlog_folder / "mysql-bin.index"
    assert binx("archive", "--quiet", logs, "--to", folder / "archive").code == 0
    return folder / "archive"
