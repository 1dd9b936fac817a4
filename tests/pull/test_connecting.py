"""What a server is told, and what is believed of its answers; the servers are fake, of a few packets."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("pymysql")

from binx.errors import BinxError, DamagedError, ServerError
from binx.pull.connection_parameters import Login, Tls, TlsMode
from binx.pull.guarded import ANSWER_MAXIMUM
from binx.pull.server import Server

PASSWORD = "correct horse"
SALT = b"12345678" + b"901234567890"
OK = b"\0\0\0\2\0\0\0"
CAPABILITIES = 0x81FFF7FF & ~0x800  # all of them but TLS


def greeting(plugin: bytes, version: bytes = b"8.0.36") -> bytes:
    low, high = struct.pack("<I", CAPABILITIES)[:2], struct.pack("<I", CAPABILITIES)[2:]
    return (
        b"\x0a" + version + b"\0" + struct.pack("<I", 1) + SALT[:8] + b"\0" + low + b"\xff\2\0" + high
        + bytes([21]) + bytes(10) + SALT[8:] + b"\0" + plugin + b"\0"
    )  # fmt: skip


def text(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    size = bytes([len(value)]) if len(value) < 251 else b"\xfc" + struct.pack("<H", len(value))
    return size + value


def column(name: bytes) -> bytes:
    return (
        text(b"def")
        + text(b"") * 3
        + text(name) * 2
        + b"\x0c"
        + struct.pack("<HIBHB", 45, 1024, 253, 0, 0)
        + b"\0\0"
    )


def rows(names: list[bytes], *values: list[bytes | None]) -> list[bytes]:
    """The packets of an answer."""
    end = b"\xfe\0\0\2\0"
    return [bytes([len(names)]), *map(column, names), end, *(b"".join(map(text, row)) for row in values), end]


class FakeServer:
    """Sends a greeting, and answers each packet by the next of its answers."""

    def __init__(self, hello: bytes, answers: Callable[[bytes], list[bytes]]) -> None:
        self.heard: list[bytes] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = Thread(target=self._serve, args=(hello, answers))
        self._thread.start()

    def _serve(self, hello: bytes, answers: Callable[[bytes], list[bytes]]) -> None:
        connection, _ = self._listening.accept()
        with connection, connection.makefile("rb") as received:
            try:
                connection.sendall(len(hello).to_bytes(3, "little") + b"\0" + hello)
                while len(head := received.read(4)) == 4:
                    packet = received.read(int.from_bytes(head[:3], "little"))
                    self.heard.append(packet)
                    number = 0 if packet[:1] == b"\3" else head[3]
                    for answer in answers(packet):
                        number = number + 1 & 255
                        connection.sendall(len(answer).to_bytes(3, "little") + bytes([number]) + answer)
            except OSError:
                pass

    def login(self, public_key: bytes | None = None) -> Login:
        tls = Tls(TlsMode.PREFERRED)
        return Login("127.0.0.1", self.port, user="u", password=PASSWORD, tls=tls, public_key=public_key)

    def close(self) -> None:
        self._listening.close()
        self._thread.join()


Faker = Callable[..., FakeServer]


@pytest.fixture
def fake() -> Iterator[Faker]:
    servers: list[FakeServer] = []

    def start(hello: bytes, answers: Callable[[bytes], list[bytes]]) -> FakeServer:
        servers.append(FakeServer(hello, answers))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_a_server_that_asks_for_the_password_in_clear_text_does_not_get_it(
    fake: Faker, plugin: bytes
) -> None:
    server = fake(greeting(b"mysql_native_password"), lambda _: [b"\xfe" + plugin + b"\0" + SALT + b"\0"])
    with pytest.raises(ServerError, match=r"--tls-ca FILE.*--server-public-key FILE"):
        Server(server.login())
    assert PASSWORD.encode() not in b"".join(server.heard)


@pytest.mark.parametrize("plugin", [b"caching_sha2_password", b"sha256_password"])
def test_a_key_that_the_server_sends_is_no_reason_to_send_the_password(fake: Faker, plugin: bytes) -> None:
    def answers(packet: bytes) -> list[bytes]:
        if len(packet) < 4:
            return [b"\1-----BEGIN PUBLIC KEY-----"]
        return [b"\1\4"] if plugin == b"caching_sha2_password" else [b"\xfe" + plugin + b"\0" + SALT + b"\0"]

    server = fake(greeting(plugin), answers)
    with pytest.raises(ServerError, match="an RSA key of its own"):
        Server(server.login())
    assert len(server.heard) == 1  # and no request for a key
    assert PASSWORD.encode() not in server.heard[0]


FACTS = [b"version", b"id", b"log_bin", b"checksum"]


def answering(facts: list[bytes]) -> Callable[[bytes], list[bytes]]:
    def answers(packet: bytes) -> list[bytes]:
        return facts if packet[:7] == b"\3SELECT" else [OK]

    return answers


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (rows(FACTS), "one row, found 0"),
        (rows(FACTS, [b"8", b"1", None, b"CRC32"]), "log_bin, found NULL"),
        (rows([b"x"], [b"1"]), "a column version, found x"),
        (rows(FACTS, [b"8", b"1", b"9" * 5000, b"CRC32"]), "log_bin as a number, found '999"),
        (rows(FACTS, [b"8.0.1-mariadb", b"one", b"1", b"CRC32"]), "a server id as a number, found 'one'"),
        ([OK], "a column version, found none"),
        ([b"\4", b"\xff"], "the connection failed"),
        ([b"\xfc"], "the connection failed"),
        ([b"\1", column(b"version")[:9]], "the connection failed"),
    ],
)
def test_odd_answers_are_errors_of_the_server(fake: Faker, facts: list[bytes], message: str) -> None:
    server = fake(greeting(b"mysql_native_password"), answering(facts))
    with pytest.raises(BinxError, match=message) as caught:
        Server(server.login())
    assert f"127.0.0.1:{server.port}" in str(caught.value)


@pytest.mark.parametrize("size", [0, 1, 5, 12, 30, 44])
def test_a_greeting_that_is_cut_is_an_error_of_the_server(fake: Faker, size: int) -> None:
    def hang_up(_: bytes) -> list[bytes]:
        raise ConnectionResetError

    server = fake(greeting(b"mysql_native_password")[:size], hang_up)
    with pytest.raises(BinxError, match="the connection failed"):
        Server(server.login())


def test_an_answer_without_end_is_not_kept(fake: Faker) -> None:
    block = b"\xfd\xfa\xff\xff" + bytes((1 << 24) - 6)  # one text of 16 MiB
    count = ANSWER_MAXIMUM // len(block) + 2
    facts = [b"\1", column(b"version"), b"\xfe\0\0\2\0", *[block] * count]
    server = fake(greeting(b"mysql_native_password"), answering(facts))
    with pytest.raises(DamagedError, match="an answer of at most 64 MiB"):
        Server(server.login())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_pull_that_waits_for_the_first_server(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        port = silent.getsockname()[1]
        command = [sys.executable, "-m", "binx", "pull", f"mysql://u@127.0.0.1:{port}", "--to", str(tmp_path)]
        environment = {**os.environ, "HOME": str(tmp_path)}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as pull:
            connection, _ = silent.accept()
            with connection:
                pull.send_signal(number)
                _, errors = pull.communicate(timeout=60)
                # The server has said nothing yet: its silence did not end the pull.
                assert (pull.returncode, "the connection failed" in errors) == (code, False), errors
