"""``binx pull`` as a process, a connection that can be made to fail, and what must be true of the logs."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from binx.event.header import EventType
from testdata.servers import Server
from tests.cli.process import BINX, binx

IN_USE_AT = 4 + 17
CHECKPOINT = bytes([EventType.MARIADB_BINLOG_CHECKPOINT])
BLOCK = 1 << 16


def command(to: Path, address: Path, *options: str) -> list[str]:
    """The words of a pull by a server's administrator over a socket."""
    words = ["pull", "--user", "root", "--socket", str(address), "--to", str(to)]
    return [*BINX, *words, "--tls", "disable", *options]


def pull(to: Path, address: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A pull up to where the server is."""
    words = command(to, address, *options)
    ended = binx(*words[len(BINX) :])
    return subprocess.CompletedProcess(words, ended.code, ended.out, ended.err)


def measured(words: Sequence[str]) -> tuple[int, int]:
    """The exit code of a command, and the most memory that it had, in MiB."""
    # A process of its own starts it, as Linux counts what the parent had.
    code = (
        "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ);"
        "_, status, used = os.wait4(pid, 0); print(os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    status, memory = map(int, done.stdout.split()[-2:])
    assert status == 0, done.stderr
    return status, memory


def differences(server: Server, to: Path) -> list[str]:
    """What of a server's logs is not the same in a folder; closed ones byte for byte."""
    found = []
    logs = server.binlogs()
    for log in logs:
        copy = to / log.name
        if not copy.exists():
            found.append(f"{log.name} is not there")
            continue
        theirs, ours = log.read_bytes(), copy.read_bytes()
        if log == logs[-1]:
            # A MariaDB notes a while after it began a log that it needs none of before.
            if theirs[len(ours) + 4 :].startswith(CHECKPOINT):
                theirs = theirs[: len(ours)]
            same = theirs[:IN_USE_AT] + theirs[IN_USE_AT + 1 :] == ours[:IN_USE_AT] + ours[IN_USE_AT + 1 :]
        else:
            same = theirs == ours
        if not same:
            found.append(f"{log.name} has {len(ours):,} bytes, not the {len(theirs):,} of the server")
    return found


class Proxy:
    """Stands between a pull and its server, and can fail in the ways that networks do."""

    def __init__(self, server: Server, address: Path, flips: int = 0) -> None:
        self._server = server
        self._flips = flips
        self.address = address
        self.flipped = 0
        self._random = random.Random(str(address))
        self._connections: list[socket.socket] = []
        self._allowance: int | None = None
        self._stalled = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(address))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, after: int) -> None:
        """Close all connections after so many more bytes."""
        self._allowance = after

    def stall(self) -> None:
        """Pass nothing on any more, on the connections that there are."""
        self._stalled.set()

    def drop(self) -> None:
        """Close all connections at once."""
        for one in [*self._connections]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            upstream = socket.socket(socket.AF_UNIX)
            try:
                upstream.connect(str(self._server.socket))
            except Exception:
                client.close()
                continue
            self._stalled = threading.Event()
            self._connections += [client, upstream]
            for one, other in ((client, upstream), (upstream, client)):
                threading.Thread(
                    target=self._pass_on, args=(one, other, one is upstream, self._stalled), daemon=True
                ).start()

    def _pass_on(
        self, one: socket.socket, other: socket.socket, from_server: bool, stalled: threading.Event
    ) -> None:
        left = self._flips
        try:
            while data := bytearray(one.recv(BLOCK)):
                if stalled.is_set():
                    continue
                if from_server and self._flips:
                    left -= len(data)
                    if left < 0:
                        place = self._random.randrange(len(data))
                        data[place] ^= 1 << self._random.randrange(8)
                        left = self._flips
                        self.flipped += 1
                if from_server and self._allowance is not None:
                    data = data[: self._allowance]
                    self._allowance -= len(data)
                other.sendall(data)
                if from_server and self._allowance == 0:
                    self._allowance = None
                    self.drop()
        except OSError:
            pass
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            with contextlib.suppress(ValueError):
                self._connections.remove(end)

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._listener.close()
        self.drop()


class Follower:
    """A pull that follows its server, until it is ended."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        # A connection that falls silent is given up soon, and made again.
        self._words = [*words, "--follow", "--heartbeat", "0.4"]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stderr=log)

    @property
    def ended(self) -> int | None:
        """Its exit code if it has ended."""
        assert self._process is not None
        return self._process.poll()

    @property
    def said(self) -> str:
        """What it said."""
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """End it as a power failure does."""
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        """End it in good order."""
        return self._end(signal.SIGTERM)

    def files_open(self) -> int:
        """How many files it has open."""
        assert self._process is not None
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def _end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(600)

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Have it gone."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
