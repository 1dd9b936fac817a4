"""``python -m bench.semi_sync``: how long commits wait for ``binx pull`` and for a replica to acknowledge.

One client of a MySQL server commits one row after another. The server waits for nobody, for ``binx pull
--semi-sync``, which brings each transaction to the disk first, and for a semi-synchronous replica on the same
machine, which applies nothing, with and without ``sync_relay_log=1``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testdata.relay import linked
from testdata.servers import MySQLServer, Server

_TIMEOUT = 3_600_000
_SECONDS = 60
_STATUS = "SHOW STATUS LIKE 'Rpl_semi_sync_source_clients'"


def commits(source: Server, count: int) -> float:
    """Commits a second of one client."""
    text = "INSERT INTO waited.t (v) VALUES (REPEAT('v', 100));" * count
    begun = time.perf_counter()
    source.sql(text)
    return count / (time.perf_counter() - begun)


@contextmanager
def pulled(source: Server, folder: Path) -> Iterator[None]:
    """While ``binx pull`` acknowledges."""
    command = [sys.executable, "-m", "binx", "pull", "--quiet", "--user", "root", "--tls", "disable"]
    command += ["--socket", str(source.socket), "--to", str(folder), "--follow", "--semi-sync"]
    with subprocess.Popen(command) as process:
        try:
            wait_for_clients(source, 1)
            yield
        finally:
            process.terminate()


@contextmanager
def replicated(source: Server, replica: Server, synchronized: int) -> Iterator[None]:
    """While a replica acknowledges what it has written to its relay log."""
    replica.sql(
        f"SET GLOBAL rpl_semi_sync_replica_enabled = ON; SET GLOBAL sync_relay_log = {synchronized};"
        " START REPLICA IO_THREAD"
    )
    try:
        wait_for_clients(source, 1)
        yield
    finally:
        replica.sql("STOP REPLICA IO_THREAD")


def wait_for_clients(source: Server, count: int) -> None:
    """Wait until so many connections acknowledge."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        if source.query(_STATUS) == [("Rpl_semi_sync_source_clients", str(count))]:
            return
        time.sleep(0.1)
    raise SystemExit(f"expected {count} connections that acknowledge within {_SECONDS} s, found others")


def main() -> None:
    """Measure, and print a line for each way."""
    parser = argparse.ArgumentParser(prog="python -m bench.semi_sync", description=__doc__)
    parser.add_argument("--commits", type=int, default=2000, help="in each round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of each way, in turns (default: %(default)s)")
    given = parser.parse_args()
    rates: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="bench-semi-sync-") as scratch,
        linked(MySQLServer, Path(scratch)) as (source, replica),
    ):
        replica.sql("STOP REPLICA; INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")
        source.sql(
            "CREATE DATABASE waited; CREATE TABLE waited.t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT);"
            " INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';"
            f" SET GLOBAL rpl_semi_sync_source_timeout = {_TIMEOUT}"
        )
        for _ in range(given.rounds):
            source.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
            rates.setdefault("nobody", []).append(commits(source, given.commits))
            source.sql("SET GLOBAL rpl_semi_sync_source_enabled = ON")
            with pulled(source, Path(scratch) / "pulled"):
                rates.setdefault("binx pull --semi-sync", []).append(commits(source, given.commits))
            wait_for_clients(source, 0)
            for synchronized in (1, 0):
                with replicated(source, replica, synchronized):
                    name = f"replica, sync_relay_log={synchronized}"
                    rates.setdefault(name, []).append(commits(source, given.commits))
                wait_for_clients(source, 0)
        source.sql("SET GLOBAL rpl_semi_sync_source_enabled = OFF")
    alone = max(rates["nobody"])
    for name, runs in rates.items():
        best = max(runs)
        wait = 1000 / best - 1000 / alone
        print(f"{name:<26} {best:8,.0f} commits/s, {wait:6.2f} ms more than alone")


if __name__ == "__main__":
    main()
