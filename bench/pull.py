"""``python -m bench.pull``: what pulling a log costs, against ``mysqlbinlog -R --raw``.

A server that was given a log of the bench as its own serves it over its socket; both copy it, in turns.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from bench.logs import CACHE, need_log
from bench.process import Reading, run_measured
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from testdata.programs import need_mysql
from testdata.servers import MySQLServer

FIRST = "mysql-bin.000001"


def serve(server: MySQLServer, log: Path) -> None:
    """Start a server that has a log of another one as its first."""
    with server:
        server.reset()
    for path in server.binlog_folder.glob("mysql-bin.0*"):
        path.unlink()
    shutil.copy(log, server.binlog_folder / FIRST)
    (server.binlog_folder / "mysql-bin.index").write_text(f"./{FIRST}\n")
    server.start()


def commands(server: MySQLServer) -> dict[str, list[str]]:
    """The commands that copy it into their working folder."""
    reader = [
        *server.programs.command("mysqlbinlog"),
        "--no-defaults",
        f"--socket={server.socket}",
        "--user=root",
    ]
    root = server.programs.root
    if root is not None:
        reader.append(f"--character-sets-dir={root}/usr/share/mysql/charsets")
    pull = [sys.executable, "-m", "binx", "pull", "--quiet", "--user", "root", "--socket", str(server.socket)]
    return {
        "mysqlbinlog -R --raw": [*reader, "--read-from-remote-server", "--raw", "--to-last-log", FIRST],
        "binx pull": [*pull, "--to", "."],
    }


def main() -> None:
    """Measure, and print a line for each command."""
    parser = argparse.ArgumentParser(prog="python -m bench.pull", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, help="MB of the log (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: %(default)s)")
    parser.add_argument("--kind", default="sysbench", help="what the log holds (default: %(default)s)")
    given = parser.parse_args()
    log = need_log(given.kind, given.size, CACHE).path
    with tempfile.TemporaryDirectory(prefix="bench-pull-") as scratch:
        work = Path(scratch)
        server = MySQLServer(work / "server", programs=need_mysql())
        serve(server, log)
        try:
            readings: dict[str, list[Reading]] = {}
            for _ in range(given.rounds):
                for name, command in commands(server).items():
                    to = work / "to"
                    to.mkdir()
                    readings.setdefault(name, []).append(run_measured(command, folder=to))
                    if readings[name][-1].status or (to / FIRST).stat().st_size != log.stat().st_size:
                        raise SystemExit(f"{name}: {readings[name][-1].message}")
                    shutil.rmtree(to)
        finally:
            server.stop()
    with BinlogFile.open(str(log)) as file:
        events = sum(_events(file).values())
    size = log.stat().st_size
    for name, runs in readings.items():
        cpu = statistics.median(run.cpu for run in runs)
        wall = statistics.median(run.wall for run in runs)
        peak = max(run.peak for run in runs)
        print(
            f"{name:<22} {cpu:6.2f} s CPU  {cpu / size * 1e9:5.2f} s/GB  {events / cpu:12,.0f} events/s"
            f"  {wall:6.2f} s  {peak / 2**20:5.0f} MiB"
        )


def _events(file: BinlogFile) -> dict[int, int]:
    from binx.kernels.walk.scan import Level

    scan = Scan(file, Level.LEVEL_EVENTS, verify=False)
    for _ in scan:
        pass
    return scan.totals().events


if __name__ == "__main__":
    main()
