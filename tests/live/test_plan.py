"""Backups of real servers, restored and brought to a moment by the commands that ``plan`` prints, as printed.

The tables and GTIDs then are those that the server had at that moment. Without ROUNDS a dump is brought
there in two of the four ways, a physical backup in the others; where there are no GTIDs, in one way each.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from shlex import join
from typing import Any

import pytest

from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from tests.cli.forking import forking
from tests.cli.process import binx
from tests.live.logs import needed
from tests.live.recovering import (
    WITHOUT_GTIDS,
    Backup,
    Moment,
    archived,
    dump,
    moment_of,
    physical,
    restored,
    state_of,
    write,
)
from tests.live.serve.replicas import Serving, wait_for

ROUNDS = int(os.environ.get("ROUNDS", "1"))
SEED = os.environ.get("SEED", "plan")
MOMENTS = 9
SECONDS = 600
START = "# start the server"
WAYS = ("serve", "mysqlbinlog", "binx", "relay_logs")


def wrap_programs(server: Server, folder: Path) -> Path:
    """The programs that the commands call, as they are called on a machine with a server in its places."""
    folder.mkdir(parents=True, exist_ok=True)
    reader = [*server.programs.command(server.binlog_reader), "--no-defaults", *server._reader_options()]
    commands = {server.binlog_reader: reader}
    if server._process is not None:
        commands[server.client] = server.client_command()
    texts = {name: f'#!/bin/sh\nexec {join(command)} "$@"\n' for name, command in commands.items()}
    for name, text in {**texts, "binx": forking().stand_in()}.items():
        script = folder / name
        script.write_text(text)
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
            of_each = 1 if options else 2
            some = order[:of_each] if backup.folder is None else order[2:][:of_each]
            for way in WAYS if "ROUNDS" in os.environ else some:
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
    for part in (part for part in planned["files"] if part["transactions"]):
        (path,) = archive.glob(f"{part['file']}.*.zst")
        path.rename(archive.parent / path.name)
        try:
            found = plan_of([*asked, str(archive)], expected=4)
        finally:
            (archive.parent / path.name).rename(path)
        assert part["file"] in found["missing_files"], (asked, found)
