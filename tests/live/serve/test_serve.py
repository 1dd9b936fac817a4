"""Replicas of MySQL and MariaDB take logs from ``binx serve`` as from the server that wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from binx.event.header import EventType
from testdata.encrypted import FOLDER, KEYRING, KEYRING_BEFORE, LOGS
from testdata.programs import find_newer_mariadb
from testdata.servers import MariaDBServer, MySQLServer, Server
from testdata.small import drop_databases
from tests.cli.process import binx
from tests.live.logs import needed
from tests.live.serve.replicas import (
    LOOPBACK,
    Serving,
    checksums,
    follow,
    logged,
    own_address,
    self_signed,
    wait_for,
    wait_for_error,
    wait_for_heartbeats,
)
from tests.object_store import Bucket
from tests.pull.wire import events_of

BY_GTID = {MySQLServer: "SOURCE_AUTO_POSITION=1", MariaDBServer: "MASTER_USE_GTID=slave_pos"}
BY_POSITION = {
    MySQLServer: "SOURCE_AUTO_POSITION=0, SOURCE_LOG_FILE='mysql-bin.000001', SOURCE_LOG_POS=4",
    MariaDBServer: "MASTER_USE_GTID=no, MASTER_LOG_FILE='mysql-bin.000001', MASTER_LOG_POS=4",
}
OPTIONS = ("--relay-log=relay", "--relay-log-purge=0", "--max-allowed-packet=1G")
OF_A_LOG = {
    EventType.FORMAT_DESCRIPTION,
    EventType.ROTATE,
    EventType.STOP,
    EventType.PREVIOUS_GTIDS,
    EventType.MARIADB_GTID_LIST,
    EventType.MARIADB_BINLOG_CHECKPOINT,
    EventType.HEARTBEAT,
    EventType.HEARTBEAT_V2,
}


def write(server: Server, rows: int) -> list[str]:
    """Write a few logs of one table; the ends of each."""
    ends = []
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")
    for _ in range(4):
        server.sql(
            "INSERT INTO t (v) VALUES (REPEAT('v', 900));" * rows + "UPDATE t SET v = 'w' LIMIT 2", "shop"
        )
        ends.append(end_of(server))
        server.flush_logs()
    return ends


def end_of(server: Server) -> str:
    statement = "SHOW BINARY LOG STATUS" if isinstance(server, MySQLServer) else "SHOW MASTER STATUS"
    name, position, *_ = server.query(statement)[0]
    return f"{name}:{position}"


def transaction_events(logs: Iterable[Path]) -> list[bytes]:
    """The events of transactions, as the bytes are in the logs."""
    return [event for log in logs for event in events_of(log.read_bytes()) if event[4] not in OF_A_LOG]


def index(server: Server) -> Path:
    return server.binlog_folder / "mysql-bin.index"


@pytest.fixture(params=["mysql", "mariadb", "newer mariadb"], scope="module")
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Server]]:
    programs = find_newer_mariadb() if request.param.startswith("newer") else None
    if request.param.startswith("newer") and programs is None:
        pytest.skip("no newer MariaDB is unpacked")
    kind: type[Server] = needed(MySQLServer if request.param == "mysql" else MariaDBServer)
    folder = tmp_path_factory.mktemp("serve")
    with (
        kind(folder / "source", OPTIONS, programs) as source,
        kind(folder / "replica", [*OPTIONS, "--server-id=2"], programs) as replica,
    ):
        yield source, replica


@pytest.fixture
def pair(servers: tuple[Server, Server]) -> tuple[Server, Server]:
    """A server without logs, and an empty one with another server id that follows nobody."""
    source, replica = servers
    word = "REPLICA" if isinstance(replica, MySQLServer) else "SLAVE"
    replica.sql(f"STOP {word}; RESET {word} ALL")
    for server in servers:
        drop_databases(server)
        server.reset()
        if isinstance(server, MariaDBServer):
            server.sql("SET GLOBAL gtid_slave_pos = ''")
    return source, replica


@pytest.mark.parametrize("start", [BY_GTID, BY_POSITION], ids=["GTIDs", "position"])
def test_a_replica_takes_a_chain_byte_for_byte(
    pair: tuple[Server, Server], start: dict[type[Server], str]
) -> None:
    source, replica = pair
    write(source, 200)
    with Serving(index(source)) as service:
        follow(replica, service.port, start[type(source)])
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)
        relay = sorted(replica.binlog_folder.glob("relay.0*"))
        assert transaction_events(relay) == transaction_events(source.binlogs())


def test_an_end_within_the_logs_is_the_end_and_another_service_goes_on(pair: tuple[Server, Server]) -> None:
    source, replica = pair
    source.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")
    source.sql("INSERT INTO t (v) VALUES ('kept');" * 20, "shop")
    state, gtids = checksums(source), logged(source)
    source.sql("INSERT INTO t (v) VALUES ('later');" * 20, "shop")
    source.flush_logs()
    source.sql("INSERT INTO t (v) VALUES ('last')", "shop")
    with Serving("--until", gtids, "--once", index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        assert service.ended() == 0, service.said
    wait_for(replica, gtids, threads=("SQL",))
    assert checksums(replica) == state
    with Serving(index(source)) as service:
        word = "REPLICA" if isinstance(replica, MySQLServer) else "SLAVE"
        replica.sql(f"STOP {word}")
        follow(replica, service.port, BY_GTID[type(source)])
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)


def test_packets_of_any_size_go_through(pair: tuple[Server, Server]) -> None:
    source, replica = pair
    source.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")

    def insert(size: int) -> None:
        source.sql(f"INSERT INTO t (v) VALUES (REPEAT('v', {size}))", "shop")

    insert(1 << 20)
    written = source.query("SHOW BINLOG EVENTS")
    around = max(int(end or 0) - int(begin or 0) for _, begin, _, _, end, _ in written) - (1 << 20)
    # A byte of the protocol stands before an event.
    event = (1 << 24) - 2
    for size in (40_000_000, 2 * event, *range(event - around - 1, event - around + 3)):
        insert(size)
    packet = "replica" if isinstance(replica, MySQLServer) else "slave"
    replica.sql(f"SET GLOBAL {packet}_max_allowed_packet = 1073741824")
    with Serving(index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)


@pytest.mark.parametrize("where", ["folder", "object store"])
def test_an_archive_is_a_source_byte_for_byte(
    pair: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest, where: str
) -> None:
    source, replica = pair
    write(source, 50)
    place = str(tmp_path / "archive")
    if where == "object store":
        place = Bucket(request.getfixturevalue("service"), request.node.nodeid).uri
    assert binx("archive", "--quiet", index(source), "--to", place).code == 0
    with Serving(place) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        wait_for(replica, logged(source))
        # The last log ends with the name of the next one, which is not archived.
        wait_for_heartbeats(replica)
    assert checksums(replica) == checksums(source)
    relay = sorted(replica.binlog_folder.glob("relay.0*"))
    assert transaction_events(relay) == transaction_events(source.binlogs())


def test_logs_that_their_server_encrypted_are_a_source(pair: tuple[Server, Server]) -> None:
    _, replica = pair
    if not isinstance(replica, MySQLServer):
        pytest.skip("the logs are MySQL's")
    keys = [word for name in (KEYRING_BEFORE, KEYRING) for word in ("--keyring", FOLDER / name)]
    with Serving(*keys, FOLDER) as service:
        follow(replica, service.port, BY_GTID[MySQLServer])
        wait_for(replica, service.gtids)
    relay = sorted(replica.binlog_folder.glob("relay.0*"))
    assert transaction_events(relay) == transaction_events(FOLDER / "decrypted" / log for log in LOGS)


def test_a_password_and_tls_guard_the_service(pair: tuple[Server, Server], tmp_path: Path) -> None:
    source, replica = pair
    write(source, 5)
    side = "SOURCE" if isinstance(source, MySQLServer) else "MASTER"
    certificate, key = self_signed(tmp_path, "cert")
    (tmp_path / "secret").write_text("from here on\n")
    guarded: list[str | Path] = ["--user", "repl", "--password-file", tmp_path / "secret"]
    tls = f", {side}_SSL=1, {side}_SSL_VERIFY_SERVER_CERT=0"
    with Serving(*guarded, "--tls-cert", certificate, "--tls-key", key, index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)], more=f"{tls}, {side}_PASSWORD='wrong'")
        assert "Access denied" in wait_for_error(replica)
        replica.sql("STOP REPLICA" if side == "SOURCE" else "STOP SLAVE")
        follow(replica, service.port, BY_GTID[type(source)], more=f"{tls}, {side}_PASSWORD='from here on'")
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)


@pytest.mark.parametrize("listen", ["0.0.0.0", own_address()])
def test_replicas_elsewhere_verify_the_certificate_and_need_tls_and_the_password(
    pair: tuple[Server, Server], tmp_path: Path, listen: str
) -> None:
    source, replica = pair
    write(source, 5)
    mysql = isinstance(source, MySQLServer)
    side, stop = ("SOURCE", "STOP REPLICA") if mysql else ("MASTER", "STOP SLAVE")
    host = own_address()
    (certificate, key), (other, other_key) = (
        self_signed(tmp_path, "cert", host),
        self_signed(tmp_path, "other"),
    )
    (tmp_path / "secret").write_text("from here on\n")
    guarded: list[str | Path] = ["--user", "repl", "--password-file", tmp_path / "secret"]
    with_tls = f", {side}_SSL=1, {side}_SSL_CA='{certificate}', {side}_SSL_VERIFY_SERVER_CERT=1"
    known = f", {side}_PASSWORD='from here on'"
    with Serving(
        *guarded, "--tls-cert", certificate, "--tls-key", key, index(source), host=listen
    ) as service:
        for more, expected in [
            (f", {side}_SSL=0{known}", "insecure transport"),
            (f"{with_tls}, {side}_PASSWORD='wrong'", "Access denied"),
            (f"{with_tls}, {side}_PASSWORD=''", "Access denied"),
        ]:
            follow(replica, service.port, BY_GTID[type(source)], more, host)
            assert expected in wait_for_error(replica)
            replica.sql(stop)
        follow(replica, service.port, BY_GTID[type(source)], with_tls + known, host)
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)
        replica.sql(stop)
    # The certificate is trusted, but is another address's.
    trusted = with_tls.replace(str(certificate), str(other)) + known
    with Serving(
        *guarded, "--tls-cert", other, "--tls-key", other_key, index(source), host="0.0.0.0"
    ) as service:
        follow(replica, service.port, BY_GTID[type(source)], trusted, host)
        if host != LOOPBACK:
            assert "SSL" in wait_for_error(replica)


def test_a_replica_that_trusts_another_authority_takes_nothing(
    pair: tuple[Server, Server], tmp_path: Path
) -> None:
    source, replica = pair
    write(source, 5)
    (certificate, key), (other, _) = self_signed(tmp_path, "cert"), self_signed(tmp_path, "other")
    side = "SOURCE" if isinstance(source, MySQLServer) else "MASTER"
    more = f", {side}_SSL=1, {side}_SSL_VERIFY_SERVER_CERT=1, {side}_SSL_CA='{other}'"
    with Serving("--tls-cert", certificate, "--tls-key", key, index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)], more=more)
        assert "SSL connection error" in wait_for_error(replica)
        replica.sql("STOP REPLICA" if side == "SOURCE" else "STOP SLAVE")
        follow(replica, service.port, BY_GTID[type(source)], more=more.replace(str(other), str(certificate)))
        wait_for(replica, logged(source))
        assert checksums(replica) == checksums(source)


def test_a_replica_that_would_pass_over_its_own_events_is_refused(
    pair: tuple[Server, Server],
) -> None:
    source, replica = pair
    source.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)")
    try:
        source.sql("SET GLOBAL server_id = 2")
        source.sql("INSERT INTO shop.t VALUES (1)")
    finally:
        source.sql("SET GLOBAL server_id = 97")
    with Serving(index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        assert "server_id that is not in the logs" in wait_for_error(replica)


def test_what_a_replica_lacks_is_refused(pair: tuple[Server, Server]) -> None:
    source, replica = pair
    write(source, 5)
    with Serving(*source.binlogs()[2:]) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        error = wait_for_error(replica)
        assert "1236" in error
        assert "purged" in error
        service.wait_until_said("1236")


def test_what_a_replica_has_too_much_is_refused(pair: tuple[Server, Server]) -> None:
    source, replica = pair
    ends = write(source, 5)
    with Serving(index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        wait_for(replica, logged(source))
    replica.sql("STOP REPLICA" if isinstance(replica, MySQLServer) else "STOP SLAVE")
    with Serving("--until", ends[1], index(source)) as service:
        follow(replica, service.port, BY_GTID[type(source)])
        error = wait_for_error(replica)
        assert "1236" in error
        assert "more GTIDs than the source has" in error or "not in the master's binlog" in error


def test_what_a_replica_has_written_itself_is_as_with_a_source(pair: tuple[Server, Server]) -> None:
    source, replica = pair
    write(source, 5)
    with Serving(index(source)) as service:
        if isinstance(replica, MySQLServer):
            replica.sql("CREATE DATABASE own")
            follow(replica, service.port, BY_GTID[MySQLServer])
            wait_for(replica, logged(source))
            assert f"{replica.query('SELECT @@server_uuid')[0][0]}:1" in logged(replica)
            assert checksums(replica) == checksums(source)
        else:
            replica.sql("SET GLOBAL gtid_slave_pos = '0-99-3'")
            follow(replica, service.port, BY_GTID[MariaDBServer])
            assert "diverged" in wait_for_error(replica)
            service.wait_until_said("1236")


def test_two_replicas_are_served_at_once(pair: tuple[Server, Server], tmp_path: Path) -> None:
    source, replica = pair
    write(source, 300)
    kind = type(source)
    with (
        kind(tmp_path / "third", ["--server-id=3"], source.programs) as third,
        Serving(index(source)) as service,
    ):
        third.reset()
        for one in (replica, third):
            follow(one, service.port, BY_GTID[kind])
        for one in (replica, third):
            wait_for(one, logged(source))
            assert checksums(one) == checksums(source)
