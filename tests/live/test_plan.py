"""Backups of real servers, restored and brought to a moment by the commands that ``plan`` prints, as printed.

The tables and GTIDs then are those that the server had at that moment. Without ROUNDS a dump is brought
there in two of the four ways, a physical backup in the others.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple

import pytest

from testdata.expected import tables_of
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.small import drop_databases
from tests.cli.process import binx
from tests.live.logs import needed
from tests.live.serve.replicas import Serving, wait_for

ROUNDS = int(os.environ.get("ROUNDS", "1"))
SEED = os.environ.get("SEED", "plan")
MOMENTS = 9
FIRST_TIME = 2_000_000_000
"""MariaDB's commit times are whole seconds: sessions say which, behind the times at which logs are closed."""
SECONDS = 600
START = "# start the server"
WAYS = ("serve", "mysqlbinlog", "binx", "relay_logs")


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


def wrap_programs(server: Server, folder: Path) -> Path:
    """The programs that the commands call, as they are called on a machine with a server in its places."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = [*server.programs.command(server.binlog_reader), "--no-defaults", *server._reader_options()]
    commands = {server.binlog_reader: reader, "binx": [sys.executable, "-m", "binx"]}
    if server._process is not None:
        commands[server.client] = server.client_command()
    for name, command in commands.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {join(command)} "$@"\n')
        script.chmod(0o755)
    return folder


def shell(lines: list[str], server: Server, folder: Path) -> None:
    programs = wrap_programs(server, folder / "programs")
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", DATADIR=str(server.binlog_folder))
    script = "\n".join(["set -eo pipefail", *lines])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{script}\n{done.stderr.decode()}"


def carry_out(way: str, lines: list[str], server: Server, folder: Path) -> None:
    if way == "serve":
        replicate(lines, server, folder)
        return
    if way != "relay_logs":
        shell(lines, server, folder)
        return
    server.stop()
    at = next(place for place, line in enumerate(lines) if line.startswith(START))
    shell(lines[:at], server, folder)
    skip = "--skip-replica-start" if isinstance(server, MySQLServer) else "--skip-slave-start"
    assert skip in lines[at]
    server.start(["--relay-log=binx-relay", skip])
    shell(lines[at:], server, folder)
    wait_for_applier(server)


def replicate(lines: list[str], server: Server, folder: Path) -> None:
    """Run the service of the first line, on a port that is free, and the rest of the lines."""
    assert lines[0].startswith("binx serve ")
    words = shlex.split(lines[0].removesuffix(" &"))[2:]
    with Serving(*words) as service:
        shell([line.replace("3307", str(service.port)) for line in lines[1:]], server, folder)
        if " UNTIL " in lines[-2]:
            wait_for_applier(server)
        else:
            wait_for(server, lines[-1].partition("@@gtid_slave_pos is ")[2].partition(";")[0])
    word = "REPLICA" if isinstance(server, MySQLServer) else "SLAVE"
    server.sql(f"STOP {word}; RESET {word} ALL")


def wait_for_applier(server: Server) -> None:
    """Wait until the SQL thread has stopped where it was told to."""
    word = "Replica" if isinstance(server, MySQLServer) else "Slave"
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        command = [*server.client_command(), "--vertical", "-e", f"SHOW {word.upper()} STATUS"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        status = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if status[f"{word}_SQL_Running"] == "No":
            assert status["Last_SQL_Error"] == "", status["Last_SQL_Error"]
            return
        server.sql("SELECT SLEEP(0.1)")
    raise ServerError("the SQL thread did not come to its end in time")


def plan_of(arguments: list[str], expected: int = 0) -> dict[str, Any]:
    done = binx("plan", "--json", *arguments)
    assert done.code == expected, done.err + done.out
    document: dict[str, Any] = json.loads(done.out)
    return document


def archived(server: Server, folder: Path) -> Path:
    logs = server.binlog_folder / "mysql-bin.index"
    assert binx("archive", "--quiet", logs, "--to", folder / "archive").code == 0
    return folder / "archive"


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize(
    ("kind", "options"),
    [(MySQLServer, ()), (MySQLServer, WITHOUT_GTIDS), (MariaDBServer, ())],
    ids=["mysql", "mysql without GTIDs", "mariadb"],
)
def test_the_commands_as_printed_lead_from_a_backup_to_the_target(
    kind: type[Server], options: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    needed(kind)
    rng = random.Random(f"{SEED} {kind.__name__} {options} {number}")
    taken = rng.randrange(1, MOMENTS - 2)
    moments: list[Moment] = []
    backups: list[Backup] = []
    with kind(tmp_path / "source", options=options) as server:
        server.sql("CREATE DATABASE shop")
        for name in ("t1", "t2", "t3"):
            server.sql(f"CREATE TABLE shop.{name} (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60), n INT)")
        for place in range(MOMENTS):
            write(server, rng, place)
            moments.append(moment_of(server, place))
            if place == taken:
                backups = [dump(server, tmp_path), physical(server, tmp_path)]
        server.flush_logs()
        archive = archived(server, tmp_path)
        logs = [server.binlog_folder / "mysql-bin.index", archive]
        target = rng.randrange(taken + 1, MOMENTS - 1)
        moment = moments[target]
        order = rng.sample(WAYS, len(WAYS))
        for backup in backups:
            targets = [["--to-time", moment.time]]
            if moment.gtid:
                targets += [["--to-gtid", moment.gtid], ["--before-gtid", moment.following]]
            asked = rng.choice(targets)
            planned = plan_of(["--backup", str(backup.path), *asked, str(rng.choice(logs))])
            assert set(planned["commands"]) == set(WAYS)
            for way in WAYS if "ROUNDS" in os.environ else order[:2] if backup.folder is None else order[2:]:
                folder = tmp_path / f"{backup.path.stem}-{way}"
                other = restored(kind, options, backup, folder)
                try:
                    carry_out(way, planned["commands"][way], other, folder)
                    assert state_of(other) == moment.state, (way, asked, planned)
                finally:
                    other.stop()
                    shutil.rmtree(folder)
            removed_logs_are_named(planned, ["--backup", str(backup.path), *asked], archive)


def removed_logs_are_named(planned: dict[str, Any], asked: list[str], archive: Path) -> None:
    # The GTIDs before the next log tell that one without transactions held nothing.
    for part in (part for part in planned["logs"] if part["transactions"]):
        (path,) = archive.glob(f"{part['file']}.*.zst")
        path.rename(archive.parent / path.name)
        try:
            found = plan_of([*asked, str(archive)], expected=4)
        finally:
            (archive.parent / path.name).rename(path)
        assert part["file"] in found["missing"]["logs"], (asked, found)
