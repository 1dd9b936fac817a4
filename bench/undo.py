"""``python -m bench.undo``: how long a server takes to apply what undoes one large statement.

The table is that of sysbench. An undo script and a reversed log of the same statement are applied in turns,
to the same server, by its client; the log goes through the server's own reader. The log that is undone has
that statement alone: what else is in the logs costs binx time, not the server.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from testdata.programs import find_newer_mariadb
from testdata.servers import MariaDBServer, MySQLServer, Server

MOST_ROWS = 1_000_000
_TABLE = """
CREATE DATABASE bench; USE bench;
CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0,
c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k)) ENGINE=InnoDB;
CREATE TABLE digits (n INT PRIMARY KEY);
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
INSERT INTO sbtest1 (k, c, pad) SELECT FLOOR(RAND() * 100000), SHA2(RAND(), 256), LEFT(SHA2(RAND(), 256), 60)
FROM digits a, digits b, digits c, digits d, digits e, digits f LIMIT {rows}
"""
_PACKETS = ("--max-allowed-packet=1G",)
"""A reader of logs makes one statement of all row events of a logged statement."""

_STATEMENTS = {
    "UPDATE": "UPDATE bench.sbtest1 SET k = k + 1, c = SHA2(id, 256)",
    "INSERT": "INSERT INTO bench.sbtest1 (k, c, pad) SELECT k, c, pad FROM bench.sbtest1",
    "DELETE": "DELETE FROM bench.sbtest1",
}


def applied(server: Server, statement: str, file_format: str, folder: Path) -> float:
    """Run a statement, undo it, and return the seconds that this takes, without those of writing it."""
    wanted = server.sql("CHECKSUM TABLE bench.sbtest1")
    server.reset()
    server.sql(statement)
    server.flush_logs()
    log, *_ = server.binlogs()
    undo, schema = folder / f"undo.{file_format}", folder / "schema.sql"
    schema.write_bytes(server.dump("--no-data", "--databases", "bench"))
    command = [sys.executable, "-m", "binx", "extract", "--reverse", "--format", file_format, "--force", "-q"]
    subprocess.run([*command, "--schema", f"{schema}@start", "-o", str(undo), str(log)], check=True)
    skipped = ["--skip-gtids"] if isinstance(server, MySQLServer) else []
    client = [*server.client_command(), *_PACKETS, "--batch"]
    began = time.perf_counter()
    script = undo.read_bytes() if file_format == "sql" else server.mysqlbinlog(*skipped, undo)
    subprocess.run(client, input=script, stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - began
    if server.sql("CHECKSUM TABLE bench.sbtest1") != wanted:
        raise SystemExit(f"the rows are not as before: {statement}")
    return seconds


def main() -> None:
    """Measure on each server that is installed."""
    parser = argparse.ArgumentParser(prog="python -m bench.undo", description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=100_000, help="rows of the table, all changed (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each form (default: %(default)s)")
    given = parser.parse_args()
    if not 0 < given.rows <= MOST_ROWS:
        parser.error(f"expected 1 to {MOST_ROWS:,} rows, found {given.rows:,}")
    newer = find_newer_mariadb()
    servers = [(MySQLServer, None), (MariaDBServer, None), *([(MariaDBServer, newer)] if newer else [])]
    for kind, programs in servers:
        with tempfile.TemporaryDirectory() as folder:
            measure(kind(Path(folder) / "server", _PACKETS, programs), given.rows, given.rounds, Path(folder))


def measure(server: Server, rows: int, rounds: int, folder: Path) -> None:
    """Start a server, and print a line for each statement."""
    with server:
        server.sql(_TABLE.format(rows=rows))
        for name, statement in _STATEMENTS.items():
            sql, log = (
                min(applied(server, statement, form, folder) for _ in range(rounds))
                for form in ("sql", "binlog")
            )
            print(
                f"{server.daemon} {server.version}  {name}  {rows:,} rows: script {sql:.1f} s,"
                f" reversed log {log:.1f} s, {sql / log:.2f} ×",
                flush=True,
            )


if __name__ == "__main__":
    main()
