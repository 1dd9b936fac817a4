"""What clients of the protocol that binx did not write see of ``binx serve``."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pymysql
import pytest
from pymysql.constants import COMMAND

from binx.errors import AbsentError, ExitCode, UsageError
from binx.log.chain.inputs import open_chain
from binx.log.selection.times import Position
from binx.pull.requests import DumpRequest
from binx.recovery.recovery_plan import Target
from binx.serve.login import Account, Entrance
from binx.serve.offer import offer_of
from binx.serve.service import Address, Service
from tests.cli.process import BINX, binx
from tests.conftest import TESTDATA

IN_USE_AT = 4 + 17
SHOPS = [TESTDATA / "mysql-9.7" / "shop", TESTDATA / "mariadb-10.11" / "shop"]


@contextmanager
def serving(
    folder: Path, entrance: Entrance | None = None, until: Target | Position | None = None
) -> Iterator[int]:
    """A service of a folder's logs; its port."""
    with open_chain([str(folder)]) as chain:
        offer = offer_of(chain, until)
    service = Service(offer, entrance or Entrance(), Address("127.0.0.1", 0), lambda _: None, once=False)
    thread = Thread(target=service.run)
    thread.start()
    try:
        yield service.address.port
    finally:
        service.stop.set()
        thread.join()


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_logs_that_are_pulled_from_a_service_are_those_that_it_offers(shop: Path, tmp_path: Path) -> None:
    with serving(shop) as port:
        pulled = binx("pull", f"mysql://any@127.0.0.1:{port}", "--tls", "disable", "--to", tmp_path)
        assert pulled.code == 0, pulled.err
    logs = sorted(shop.glob("mysql-bin.0*"))
    assert logs
    for log in logs:
        # The newest log is in use for whom it is not closed.
        same = [bytearray(path.read_bytes()) for path in (log, tmp_path / log.name)]
        for data in same if log == logs[-1] else ():
            data[IN_USE_AT] = 0
        assert same[0] == same[1], log.name


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_a_password_is_asked_for(shop: Path) -> None:
    with serving(shop, Entrance(Account("repl", "secret"))) as port:
        for user, password in [("repl", "wrong"), ("other", "secret"), ("repl", "")]:
            with pytest.raises(pymysql.OperationalError, match="Access denied"):
                pymysql.connect(host="127.0.0.1", port=port, user=user, password=password, ssl_disabled=True)
        one = pymysql.connect(host="127.0.0.1", port=port, user="repl", password="secret", ssl_disabled=True)
        with one, one.cursor() as cursor:
            cursor.execute("SELECT @@version, @@global.server_id AS id")
            assert len(cursor.fetchall()) == 1


def test_what_is_no_statement_of_replicas_is_refused() -> None:
    with serving(SHOPS[0]) as port:
        one = pymysql.connect(host="127.0.0.1", port=port, user="any", ssl_disabled=True)
        with one, one.cursor() as cursor:
            for statement in ("DROP TABLE t", "SELECT * FROM t", "SHOW TABLES", "SELECT @@unknown"):
                with pytest.raises(pymysql.MySQLError):
                    cursor.execute(statement)


def test_a_connection_without_tls_is_refused_where_it_is_required() -> None:
    entrance = Entrance(Account("repl", "secret"), ssl.create_default_context(), requires_tls=True)
    with serving(SHOPS[0], entrance) as port, pytest.raises(pymysql.OperationalError, match="insecure"):
        pymysql.connect(host="127.0.0.1", port=port, user="repl", password="secret", ssl_disabled=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--listen", "0.0.0.0:0"], "--password-file"),
        (["--user", "repl"], "--password-file"),
        (["--listen", "nowhere"], "expected an address"),
        (["--until", "nonsense"], "expected a GTID, a time or a position"),
        (["--until", "mysql-bin.000001:200"], "inside a transaction"),
        (["--until", "mysql-bin.000001:130"], "which begins at 127"),
        (["--until", "mysql-bin.000001:0"], "which begins at 4"),
    ],
)
def test_a_service_that_cannot_be_as_asked_does_not_start(words: list[str], expected: str) -> None:
    refused = binx("serve", *words, SHOPS[0])
    assert refused.code == 2
    assert expected in refused.err


def test_a_target_is_not_told_to_connect_to_all_addresses() -> None:
    refused = binx("plan", "--execute", "--from", "mysql-bin.000001:4", "--listen", "0.0.0.0:0", SHOPS[0])
    assert refused.code == 2
    assert "means all" in refused.err


NOWHERE = ("--execute", "--target", "mysql://any@127.0.0.1:1", "--from", "mysql-bin.000001:4")


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_what_a_replay_of_some_tables_alone_tears_apart_is_counted(shop: Path) -> None:
    table = "shop.orders"
    listed = [json.loads(line)["tables"] for line in binx("ls", "--json", shop).lines]
    changing = [
        names
        for names in ({f"{one['db']}.{one['table']}" for one in each} for each in listed)
        if table in names
    ]
    mixed = sum(len(names) > 1 for names in changing)
    said = binx("plan", *NOWHERE, "--tables", table, shop).err
    assert f"{len(changing):,} transactions to replay change their rows, {mixed:,} of them" in said


def test_a_replay_of_no_table_is_refused() -> None:
    refused = binx("plan", *NOWHERE, "--tables", "shop.order", SHOPS[0])
    assert refused.code == 2
    assert "check the names" in refused.err


@contextmanager
def started(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, and what it says once it listens."""
    command = [*BINX, "serve", "--listen", "127.0.0.1:0", *words, str(SHOPS[0])]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process, process.stderr.readline()
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("words", "number", "code"),
    [
        ([], signal.SIGTERM, ExitCode.DONE),
        ([], signal.SIGINT, ExitCode.INTERRUPTED),
        (["--once"], signal.SIGTERM, ExitCode.TERMINATED),
        (["--once"], signal.SIGINT, ExitCode.INTERRUPTED),
    ],
)
def test_a_service_that_is_ended_before_it_has_served_does_not_say_that_it_has(
    words: list[str], number: signal.Signals, code: ExitCode
) -> None:
    with started(*words) as (process, _):
        process.send_signal(number)
        assert process.wait() == code


def test_a_replica_whose_connection_broke_has_not_been_served() -> None:
    with started("--once") as (process, said):
        port = int(said.partition("127.0.0.1:")[2].partition(":")[0])
        one = pymysql.connect(host="127.0.0.1", port=port, user="any", ssl_disabled=True)
        with one.cursor() as cursor:
            cursor.execute("SET @source_binlog_checksum = 'CRC32'")
        one._execute_command(*DumpRequest(server_id=7).encode())
        assert process.stderr is not None
        assert "begins at" in process.stderr.readline()
        # Nothing that was sent is read.
        one._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one._force_close()
        assert "its connection broke" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == ExitCode.TERMINATED


def test_a_date_alone_is_a_time_and_no_gtid_of_mariadb() -> None:
    with started("--until", "2020-01-01") as (_, said):
        assert "GTIDs none" in said


def test_logs_with_a_gap_are_not_offered(tmp_path: Path) -> None:
    for log in (SHOPS[0] / "mysql-bin.000002", SHOPS[0] / "mysql-bin.000004"):
        (tmp_path / log.name).write_bytes(log.read_bytes())
    with open_chain([str(tmp_path)]) as chain, pytest.raises(AbsentError, match="missing log"):
        offer_of(chain)


def test_logs_of_two_servers_are_not_offered() -> None:
    with open_chain([str(shop) for shop in SHOPS]) as chain, pytest.raises(UsageError, match="one server"):
        offer_of(chain)


@pytest.mark.parametrize("value", ["four", "", "-4", "9" * 5000])
def test_settings_that_are_no_numbers_are_as_none(value: str) -> None:
    mariadb = next(shop for shop in SHOPS if "mariadb" in str(shop))
    with serving(mariadb) as port:
        one = pymysql.connect(host="127.0.0.1", port=port, user="any", ssl_disabled=True)
        with one, one.cursor() as cursor:
            cursor.execute("SET @master_binlog_checksum = 'CRC32'")
            cursor.execute(f"SET @mariadb_slave_capability = '{value}', @master_heartbeat_period = '{value}'")
            one._execute_command(COMMAND.COM_BINLOG_DUMP, struct.pack("<IHI", 4, 0, 7))
            with pytest.raises(pymysql.MySQLError, match="expected a replica that knows MariaDB's GTIDs"):
                one._read_packet()


def test_who_has_not_logged_in_cannot_make_it_take_a_large_message() -> None:
    with serving(SHOPS[0]) as port, socket.create_connection(("127.0.0.1", port)) as client:
        assert client.recv(4096)
        client.sendall(b"\xff\xff\xff\x01")
        assert client.recv(4096) == b""
