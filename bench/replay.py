"""``python -m bench.replay``: how long a server takes to apply a log, by each way that leads there.

The CPU time is that of the server, and that of the programs that bring it the log. Each way begins with an
empty server of the same options, whose own binary log is on; all must end with the same tables and GTIDs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.logs import CACHE, Log, need_log
from testdata.expected import tables_of
from testdata.servers import MySQLServer

OPTIONS = ("--server-id=98", "--innodb-redo-log-capacity=1G", "--innodb-buffer-pool-size=1G")
_BINX = [sys.executable, "-m", "binx"]
_FAILED = "SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'OFF'"


def piped(server: MySQLServer, command: list[str | Path]) -> None:
    """Have the client run what a command prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as printing:
        subprocess.run(
            [*server.client_command(), "--max-allowed-packet=1G"], stdin=printing.stdout, check=True
        )
    if printing.returncode:
        raise SystemExit(f"{command[0]} ended with {printing.returncode}")


def by_mysqlbinlog(server: MySQLServer, log: Path) -> None:
    """``mysqlbinlog LOG | mysql``."""
    reader = [*server.programs.command("mysqlbinlog"), "--no-defaults"]
    root = server.programs.root
    if root is not None:
        reader.append(f"--character-sets-dir={root}/usr/share/mysql/charsets")
    piped(server, [*reader, log])


def by_extract(server: MySQLServer, log: Path) -> None:
    """``binx extract --format sql LOG | mysql``."""
    piped(server, [*_BINX, "extract", "--quiet", "--format", "sql", log])


def by_serve(server: MySQLServer, log: Path) -> None:
    """``binx serve LOG``, and the server as its replica."""
    command: list[str | Path] = [*_BINX, "serve", "--listen", "127.0.0.1:0", log]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        begun = service.stderr.readline()
        try:
            _, _, said = begun.partition("listening on 127.0.0.1:")
            port, gtids = said.partition(":")[0], said.partition("; GTIDs ")[2].strip()
            server.sql(
                f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_SSL=0,"
                " SOURCE_USER='any', SOURCE_AUTO_POSITION=1; START REPLICA"
            )
            while server.query(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 1)") != [("0",)]:
                if server.query(_FAILED) != [("0",)]:
                    raise SystemExit(f"the replica stopped; see {server.folder}/error.log")
        finally:
            service.terminate()


WAYS: dict[str, Callable[[MySQLServer, Path], None]] = {
    "mysqlbinlog | mysql": by_mysqlbinlog,
    "binx extract --format sql | mysql": by_extract,
    "binx serve": by_serve,
}


@dataclass(frozen=True, slots=True)
class Applied:
    """What one way took, in seconds, and the tables and GTIDs that it led to."""

    wall: float
    server: float
    others: float
    end: object


def applied(apply: Callable[[MySQLServer, Path], None], log: Log, workers: int) -> Applied:
    """Apply a log to an empty server."""
    options = [*OPTIONS, f"--replica-parallel-workers={workers}"]
    with (
        tempfile.TemporaryDirectory(prefix="bench-replay-", dir=CACHE) as scratch,
        MySQLServer(Path(scratch), options) as server,
    ):
        server.reset()
        process = int((server.folder / "pid").read_text())
        begun, used, others = time.perf_counter(), _used(process), _used_by_children()
        apply(server, log.path)
        wall = time.perf_counter() - begun
        used, others = _used(process) - used, _used_by_children() - others
        sums = [server.query(f"CHECKSUM TABLE `{db}`.`{table}`") for db, table in tables_of(server)]
        return Applied(wall, used, others, (sums, server.query("SELECT @@GLOBAL.gtid_executed")))


def _used(process: int) -> float:
    """Seconds of processor time that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _used_by_children() -> float:
    """The same of all programs that were run and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure, and print a line for each way."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="MB of the log (default: %(default)s)")
    parser.add_argument("--kind", default="sysbench", help="what the log holds (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="of the replica (default: %(default)s)")
    given = parser.parse_args()
    log = need_log(given.kind, given.size, CACHE)
    ends = []
    for name, apply in WAYS.items():
        took = applied(apply, log, given.workers)
        ends.append(took.end)
        print(
            f"{name:<34} {took.wall:8.1f} s  {log.bytes / took.wall / 1e6:6.2f} MB/s"
            f"  {took.server:8.1f} s CPU of the server  {took.others:8.1f} s of others",
            flush=True,
        )
    if any(end != ends[0] for end in ends):
        raise SystemExit("the ways led to different tables or GTIDs")


if __name__ == "__main__":
    main()
