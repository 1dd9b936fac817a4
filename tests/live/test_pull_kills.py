"""Whatever breaks: what a commit has waited for is here, and the logs are the server's own.

``ROUNDS=100`` has as many kills of each server; each run prints its ``SEED``.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from binx.archive.manifest import read_manifests
from binx.pull.mirror import Tail, read_tail
from binx.storage.store import open_store
from testdata.programs import MARIADB_HINT, MYSQL_HINT, find_mariadb, find_mysql
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from tests.live.connection import Connection
from tests.live.pulling import Follower, Proxy, command, differences, pull

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SEED = os.environ.get("SEED") or str(random.SystemRandom().randrange(10**9))
LONGEST = 60.0
FOREVER = 3_600_000

MYSQL_OPTIONS = (
    "--plugin-load-add=semisync_source.so",
    "--rpl-semi-sync-source-enabled=ON",
    f"--rpl-semi-sync-source-timeout={FOREVER}",
)
MARIADB_OPTIONS = (
    "--rpl-semi-sync-master-enabled=ON",
    f"--rpl-semi-sync-master-timeout={FOREVER}",
    "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
)


@pytest.fixture(params=["mysql", "mariadb"])
def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    """A server whose commits wait for an acknowledgement, not started yet."""
    if request.param == "mysql":
        programs = find_mysql()
        if programs is None:
            pytest.skip(MYSQL_HINT)
        return MySQLServer(tmp_path / "server", MYSQL_OPTIONS, programs)
    programs = find_mariadb()
    if programs is None:
        pytest.skip(MARIADB_HINT)
    return MariaDBServer(tmp_path / "server", MARIADB_OPTIONS, programs)


class Writer:
    """A client that writes one transaction after another, and knows which of them the server has confirmed.

    Args:
        server: the server, which may be started again meanwhile.
        choose: how long values are.
    """

    def __init__(self, server: Server, choose: random.Random) -> None:
        self._server = server
        self._choose = choose
        self.confirmed = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._ended.is_set():
            try:
                with Connection(self._server) as connection:
                    while not self._ended.is_set():
                        size = self._choose.choice((1, 100, 3000, 200_000, 2_000_000))
                        said = connection.run(f"INSERT INTO load_.t (v) VALUES (REPEAT('x', {size}))")
                        if not said:
                            self.confirmed += 1
            except (ServerError, OSError):
                self._ended.wait(0.05)

    def has(self, wanted: int) -> bool:
        """Whether so many transactions were confirmed."""
        return self.confirmed >= wanted

    def end(self) -> None:
        """Write no more."""
        self._ended.set()
        self._thread.join(LONGEST)


def newest(tail: Tail) -> int:
    """The number of the newest transaction; a server counts them."""
    return max(last for _, _, last in tail.gtids)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.02)


def test_no_confirmed_transaction_is_lost(waiting: Server, tmp_path: Path) -> None:
    print(f"SEED={SEED}")
    choose = random.Random(SEED)
    to, kills = tmp_path / "to", dict.fromkeys(("pull", "connection", "cut", "drop", "stall", "server"), 0)
    listing = "SHOW REPLICAS" if waiting.daemon == "mysqld" else "SHOW SLAVE HOSTS"
    with waiting as server, Proxy(server, tmp_path / "proxy") as proxy:
        words = command(to, proxy.address, "--semi-sync")
        with Follower(words, tmp_path / "said") as follower:
            until(lambda: bool(server.query(listing)), "the pull did not register")
            server.sql(
                "CREATE DATABASE load_; CREATE TABLE load_.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)"
            )
            tail = read_tail(to)
            assert tail is not None
            begun = newest(tail)
            writer = Writer(server, choose)
            for _ in range(ROUNDS):
                before = writer.confirmed
                wanted = before + choose.randrange(1, 30)
                until(
                    partial(writer.has, wanted),
                    f"no progress after {kills}: {follower.said[-1500:]}",
                )
                kind = choose.choices(list(kills), (5, 3, 4, 2, 1, 1))[0]
                kills[kind] += 1
                if choose.random() < 0.2:
                    server.flush_logs()
                if kind == "connection":
                    for number, name in server.query(
                        "SELECT id, command FROM information_schema.processlist"
                    ):
                        if name is not None and "Dump" in name:
                            server.attempt(f"KILL {number};".encode())
                elif kind == "cut":
                    proxy.cut(choose.randrange(1, 300_000))
                elif kind == "drop":
                    proxy.drop()
                elif kind == "stall":
                    proxy.stall()
                elif kind == "server":
                    server.kill()
                    server.start()
                else:
                    confirmed = writer.confirmed
                    follower.kill()
                    tail = read_tail(to)
                    assert tail is not None
                    # One transaction may have been confirmed between the two looks, none may be missing.
                    assert newest(tail) >= begun + confirmed, (kills, tail)
                    follower.start()
                assert follower.ended is None, follower.said[-1500:]
            writer.end()
            end = server.binlogs()[-1].stat().st_size
            until(
                lambda: (
                    (to / server.binlogs()[-1].name).exists()
                    and (to / server.binlogs()[-1].name).stat().st_size >= end
                ),
                follower.said[-1500:],
            )
            assert follower.terminate() == 0, follower.said[-1500:]
        # A server may have written about the log itself meanwhile.
        assert pull(to, server.socket).returncode == 0
        assert differences(server, to) == []
    print(
        f"{sum(kills.values())} kills of {waiting.daemon}: {kills}, {writer.confirmed} transactions confirmed"
    )


def test_a_day_of_rotations_and_purges_leaves_nothing_open(waiting: Server, tmp_path: Path) -> None:
    to, archive, rotations = tmp_path / "to", tmp_path / "archive", 20 * ROUNDS
    with waiting as server:
        words = command(to, server.socket, "--semi-sync", "--archive", str(archive))
        listing = "SHOW REPLICAS" if waiting.daemon == "mysqld" else "SHOW SLAVE HOSTS"
        with Follower(words, tmp_path / "said") as follower:
            until(lambda: bool(server.query(listing)), "the pull did not register")
            server.sql(
                "CREATE DATABASE load_; CREATE TABLE load_.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)"
            )
            before, kept = follower.files_open(), {}
            for place in range(rotations):
                server.sql("INSERT INTO load_.t (v) VALUES (REPEAT('y', 1000))")
                log = server.binlogs()[-1]
                server.flush_logs()
                kept[log.name] = log.read_bytes()
                if place % 10 == 9:
                    until((to / server.binlogs()[-1].name).exists, follower.said[-1500:])
                    server.sql(f"PURGE BINARY LOGS TO '{server.binlogs()[-1].name}'")
            until((to / server.binlogs()[-1].name).exists, follower.said[-1500:])
            assert follower.files_open() <= before + 4
            assert follower.terminate() == 0
        assert pull(to, server.socket, "--archive", str(archive)).returncode == 0
        for name, theirs in kept.items():
            assert (to / name).read_bytes()[22:] == theirs[22:], name
        logs, errors = read_manifests(open_store(str(archive)))
        assert not errors
        assert len(logs) >= rotations
