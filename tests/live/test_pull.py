"""Logs pulled from live servers, which are killed meanwhile, are those on the servers' disks."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from binx.archive.manifest import read_manifests
from binx.event.gtid.sets import GtidSet
from binx.pull.mirror import NewestLog, read_tail
from binx.storage.store import open_store
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from tests.cli.process import Ended, binx
from tests.live.connection import Connection
from tests.live.logs import needed
from tests.live.pulling import Follower, Proxy, command, differences, measured, pull

MOST_MEMORY = 100
"""MiB."""


@pytest.fixture
def clean(server: Server) -> Server:
    """A server without logs of before, and with a table of long texts."""
    server.sql("DROP DATABASE IF EXISTS pulled")
    server.sql("SET GLOBAL max_allowed_packet = 1073741824")
    server.reset()
    server.sql(
        "CREATE DATABASE pulled; CREATE TABLE pulled.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)"
    )
    return server


def insert(server: Server, size: int, count: int = 1) -> None:
    server.sql(f"INSERT INTO t (v) VALUES (REPEAT('v', {size}));" * count, "pulled")


def test_whatever_is_in_them_logs_are_the_servers_own(clean: Server, tmp_path: Path) -> None:
    insert(clean, 100, 500)
    clean.flush_logs()
    if clean.daemon == "mysqld":
        clean.sql("SET binlog_transaction_compression = ON; INSERT INTO t (v) SELECT v FROM t", "pulled")
        clean.sql("SET gtid_next = 'AUTOMATIC:audit'; INSERT INTO t (v) VALUES ('tagged')", "pulled")
        clean.sql("XA START 'x'; INSERT INTO t (v) VALUES ('xa'); XA END 'x'; XA PREPARE 'x'", "pulled")
        clean.sql("XA COMMIT 'x'")
    else:
        clean.sql("SET GLOBAL log_bin_compress = ON")
        insert(clean, 3000, 20)
        clean.sql("SET GLOBAL log_bin_compress = OFF")
        clean.sql("SET binlog_annotate_row_events = ON; INSERT INTO t (v) VALUES ('annotated')", "pulled")
    clean.flush_logs()
    for size in (40_000_000, (1 << 24) - 100, (1 << 20) - 40, 1 << 20):
        clean.sql(
            f"SET SESSION binlog_format = STATEMENT; INSERT INTO t (v) VALUES ('{'s' * size}')", "pulled"
        )
        insert(clean, size)
    clean.sql("BEGIN;" + "INSERT INTO t (v) VALUES (REPEAT('w', 10000000));" * 15 + "COMMIT", "pulled")
    clean.flush_logs()
    insert(clean, 10)
    _, memory = measured(command(tmp_path, clean.socket))
    assert differences(clean, tmp_path) == []
    assert memory <= MOST_MEMORY
    assert json.loads(binx("verify", "--json", tmp_path).out)["ok"]


@pytest.mark.parametrize("checksum", ["CRC32", "NONE"])
def test_a_second_pull_goes_on(clean: Server, tmp_path: Path, checksum: str) -> None:
    clean.sql(f"SET GLOBAL binlog_checksum = {checksum}")
    try:
        for _ in range(3):
            insert(clean, 1000, 5)
            pulled = pull(tmp_path, clean.socket)
            assert pulled.returncode == 0, pulled.stderr
            assert differences(clean, tmp_path) == []
        clean.flush_logs()
        insert(clean, 1000)
        assert pull(tmp_path, clean.socket).returncode == 0
        assert differences(clean, tmp_path) == []
    finally:
        clean.sql("SET GLOBAL binlog_checksum = CRC32")


@pytest.mark.parametrize("again", [False, True])
def test_numbers_that_were_set_back_are_pulled(clean: Server, tmp_path: Path, again: bool) -> None:
    if not isinstance(clean, MariaDBServer):
        pytest.skip("MySQL numbers transactions itself")
    clean.flush_logs()
    insert(clean, 100, 20)
    clean.sql("SET gtid_seq_no = 5; INSERT INTO t (v) VALUES ('back')", "pulled")
    if again:
        clean.sql("SET gtid_seq_no = 5; INSERT INTO t (v) VALUES ('the same')", "pulled")
    assert pull(tmp_path, clean.socket).returncode == 0
    for _ in range(2):
        clean.flush_logs()
        insert(clean, 100)
        clean.sql("SET gtid_seq_no = 3; INSERT INTO t (v) VALUES ('back')", "pulled")
        pulled = pull(tmp_path, clean.socket)
        assert pulled.returncode == 0, pulled.stderr
        assert differences(clean, tmp_path) == []


def test_a_domain_that_was_deleted_from_the_list_is_not_lost(clean: Server, tmp_path: Path) -> None:
    if not isinstance(clean, MariaDBServer):
        pytest.skip("MySQL has no domains")
    clean.sql("SET gtid_domain_id = 7; INSERT INTO t (v) VALUES ('of domain 7')", "pulled")
    clean.flush_logs()
    clean.sql("SET GLOBAL gtid_slave_pos = ''")
    assert pull(tmp_path, clean.socket).returncode == 0
    newest = clean.binlogs()[-1].name
    while len(clean.binlogs()) > 1:
        # A server keeps a log as long as it believes that a connection reads it.
        clean.sql(f"PURGE BINARY LOGS TO '{newest}'")
    clean.sql("FLUSH BINARY LOGS DELETE_DOMAIN_ID = (7)")
    insert(clean, 100)
    pulled = pull(tmp_path, clean.socket)
    assert pulled.returncode == 0, pulled.stderr
    assert differences(clean, tmp_path) == []


def test_logs_that_were_reset_are_refused_and_go_into_a_new_chain(clean: Server, tmp_path: Path) -> None:
    insert(clean, 100, 20)
    assert pull(tmp_path, clean.socket).returncode == 0
    clean.reset()
    insert(clean, 100, 40)
    before = (tmp_path / "mysql-bin.000001").read_bytes()
    refused = pull(tmp_path, clean.socket)
    assert refused.returncode == 1
    assert "--new-chain" in refused.stderr
    assert (tmp_path / "mysql-bin.000001").read_bytes() == before
    assert pull(tmp_path, clean.socket, "--new-chain").returncode == 0
    assert differences(clean, tmp_path / "chain-2") == []


def test_a_log_that_was_reset_with_other_events_is_refused(clean: Server, tmp_path: Path) -> None:
    """Where the last transaction began there is the middle of an event now."""
    insert(clean, 100, 20)
    assert pull(tmp_path, clean.socket).returncode == 0
    tail = read_tail(tmp_path)
    assert tail is not None
    clean.reset()
    insert(clean, 2 * tail.end)
    refused = pull(tmp_path, clean.socket)
    assert refused.returncode == 1
    assert "--new-chain" in refused.stderr


def test_a_log_that_was_purged_is_absent(clean: Server, tmp_path: Path) -> None:
    assert pull(tmp_path, clean.socket).returncode == 0
    clean.flush_logs()
    clean.flush_logs()
    newest = clean.binlogs()[-1].name
    while len(clean.binlogs()) > 1:
        # A server keeps a log as long as it believes that a connection reads it.
        clean.sql(f"PURGE BINARY LOGS TO '{newest}'")
    gone = pull(tmp_path, clean.socket)
    assert gone.returncode == 4
    assert "mysql-bin.000001" in gone.stderr


def test_what_was_purged_before_it_was_pulled_is_in_no_chain(clean: Server, tmp_path: Path) -> None:
    assert pull(tmp_path, clean.socket).returncode == 0
    insert(clean, 100, 3)
    clean.flush_logs()
    insert(clean, 100)
    clean.flush_logs()
    newest = clean.binlogs()[-1].name
    while len(clean.binlogs()) > 1:
        # A server keeps a log as long as it believes that a connection reads it.
        clean.sql(f"PURGE BINARY LOGS TO '{newest}'")
    assert pull(tmp_path, clean.socket).returncode == 4
    begun = pull(tmp_path, clean.socket, "--new-chain")
    assert begun.returncode == 0, begun.stderr
    assert "4 GTIDs in no chain" in begun.stderr
    first, second = json.loads(binx("pull", "--status", tmp_path, "--json").out)["chains"]
    assert (first["missing_gtids"], GtidSet.parse(second["missing_gtids"]).count) == ("", 4)
    assert second["missing_gtids"] in binx("pull", "--status", tmp_path).out


def test_another_server_is_refused_and_followed_after_a_failover(
    clean: Server, replica: Server, tmp_path: Path
) -> None:
    insert(clean, 100, 10)
    assert pull(tmp_path, clean.socket).returncode == 0
    tail = read_tail(tmp_path)
    assert tail is not None
    replica.reset()
    if replica.daemon == "mysqld":
        replica.sql(f"SET GLOBAL gtid_purged = '{tail.gtids}'")
    else:
        replica.sql("SET GLOBAL server_id = 11; SET GLOBAL gtid_binlog_state = '0-10-12'")
    replica.sql("CREATE DATABASE failed_over")
    assert "--from-gtid auto" in pull(tmp_path, replica.socket).stderr
    done = pull(tmp_path, replica.socket, "--from-gtid", "auto")
    assert done.returncode == 0, done.stderr
    replica.sql("DROP DATABASE failed_over")
    assert pull(tmp_path, replica.socket, "--from-gtid", "auto").returncode == 0
    assert differences(replica, tmp_path / "chain-2") == []
    if replica.daemon == "mariadbd":
        replica.sql("SET SESSION gtid_seq_no = 2; CREATE DATABASE set_back")
        assert pull(tmp_path, replica.socket).returncode == 0
        refused = pull(tmp_path, clean.socket, "--from-gtid", "auto")
        assert (refused.returncode, "has set them back" in refused.stderr) == (1, True)


def test_a_bit_changed_on_the_way_is_never_written(clean: Server, tmp_path: Path) -> None:
    insert(clean, 200_000, 100)
    insert(clean, 100, 500)
    clean.flush_logs()
    to = tmp_path / "to"
    with Proxy(clean, tmp_path / "proxy", flips=1 << 20) as proxy:
        for _ in range(60):
            done = pull(to, proxy.address)
            here = (to / "mysql-bin.000001").read_bytes() if (to / "mysql-bin.000001").exists() else b""
            theirs = clean.binlogs()[0].read_bytes()
            assert here[22:] == theirs[22 : len(here)]
            if done.returncode == 0:
                break
        assert proxy.flipped > 5
    assert differences(clean, to) == []


def test_status_and_options_of_a_file(clean: Server, tmp_path: Path) -> None:
    options = tmp_path / "my.cnf"
    options.write_text(f"[client]\nsocket = {clean.socket}\nuser = 'root' # admin\n")
    to = tmp_path / "to"
    assert binx("pull", "--defaults-file", options, "--to", to).code == 0
    status = json.loads(binx("pull", "--status", to, "--json").out)
    assert not status["running"]
    assert (status["file"], status["position"]) == ("mysql-bin.000001", clean.binlogs()[0].stat().st_size)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> MySQLServer:
    """A MySQL with accounts that need TLS."""
    return needed(MySQLServer)(tmp_path_factory.mktemp("secured"))


def test_tls_with_passwords_and_certificates(
    secured: MySQLServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with secured as server:
        server.sql(
            "CREATE USER sha2@localhost IDENTIFIED WITH caching_sha2_password BY 'söcret' REQUIRE SSL;"
            "CREATE USER x509@localhost IDENTIFIED WITH caching_sha2_password BY 'other' REQUIRE X509;"
            "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO sha2@localhost, x509@localhost"
        )
        data = server.binlog_folder

        def tried(user: str, password: str, *options: str) -> Ended:
            monkeypatch.setenv("MYSQL_PWD", password)
            account = ("--socket", server.socket, "--user", user)
            return binx("pull", *account, "--to", tmp_path / user, *options)

        ca = ("--tls-ca", str(data / "ca.pem"))
        own = ("--tls-cert", str(data / "client-cert.pem"), "--tls-key", str(data / "client-key.pem"))
        assert tried("sha2", "söcret", "--tls", "required").code == 0
        assert tried("sha2", "söcret", *ca).code == 0
        assert tried("x509", "other", *ca, *own).code == 0
        assert differences(server, tmp_path / "x509") == []
        for wrong in (
            tried("sha2", "wrong", "--tls", "required"),
            tried("sha2", "söcret", "--tls", "disable"),
            tried("x509", "other", *ca),
            tried("sha2", "söcret", "--tls-ca", str(data / "public_key.pem")),
        ):
            assert wrong.code in (1, 2)
            assert "söcret" not in wrong.err
        foreign = tried("sha2", "söcret", "--tls-ca", "/etc/ssl/certs/ca-certificates.crt")
        assert foreign.code == 1
        assert "--tls-ca" in foreign.err


def test_mariadbs_own_way_of_logging_in(
    mariadb: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mariadb.attempt(b"INSTALL SONAME 'auth_ed25519'"):
        pytest.skip("this MariaDB has no auth_ed25519")
    mariadb.sql(
        "CREATE USER ed@localhost IDENTIFIED VIA ed25519 USING PASSWORD('secret');"
        "GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO ed@localhost"
    )
    for password, status in (("secret", 0), ("wrong", 1)):
        monkeypatch.setenv("MYSQL_PWD", password)
        ended = binx("pull", "--socket", mariadb.socket, "--user", "ed", "--to", tmp_path)
        assert ended.code == status
    assert differences(mariadb, tmp_path) == []


ROUNDS = int(os.environ.get("ROUNDS", "3"))
SEED = os.environ.get("SEED") or str(random.SystemRandom().randrange(10**9))
LONGEST = 600.0
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


@pytest.fixture(
    params=[(MySQLServer, MYSQL_OPTIONS), (MariaDBServer, MARIADB_OPTIONS)], ids=["mysql", "mariadb"]
)
def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    """A server whose commits wait for an acknowledgement, not started yet."""
    kind, options = request.param
    server: Server = needed(kind)(tmp_path / "server", options)
    return server


class Writer:
    """Writes one transaction after another, and knows which of them the server has confirmed."""

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


def newest(tail: NewestLog) -> int:
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
    to, archive, rotations = tmp_path / "to", tmp_path / "archive", 10 * ROUNDS
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
