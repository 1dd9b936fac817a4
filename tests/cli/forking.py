"""Processes that begin where binx and what it stands on are loaded already.

Hundreds of tests run a command in a process of its own, and loading takes most of its time. One process
loads all once, and a fork of it runs each command, with streams, environment and folder of its own. Where a
shell starts the command, a program stands in for it that hands its streams to such a fork.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import marshal
import os
import pkgutil
import select
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from shlex import join
from types import ModuleType
from typing import NoReturn

_MOST = 128 * 1024
"""Bytes of a request at most."""
_HIGHEST = 64
"""No descriptor below this one is left to a program, but its three streams."""

_LOADED = (
    "pyarrow.parquet",
    "pyarrow.compute",
    "pyarrow.fs",
    "zstandard",
    "rich.table",
    "rich.progress",
    "sqlglot",
)
_LEFT_OUT = ("binx.spark", "binx.__main__")

MAIN = "from binx.cli.main import main\nmain()"
"""A program that is the command."""
_KILLED = 137
"""The exit code of a shell's command whose fork was killed."""

_STAND_IN = """
import _socket, marshal, os, sys
channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
channel.connect({address!r})
request = marshal.dumps(({main!r}, ["-c", *sys.argv[1:]], os.getcwd(), dict(os.environ)))
fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
channel.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
os._exit(int(channel.recv(16) or {killed}))
"""


class Forking:
    """The process that is forked."""

    def __init__(self) -> None:
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A name that is in no folder.
        self._address = f"\0binx-{os.getpid()}-{id(self)}"
        listener.bind(self._address)
        listener.listen()
        fds = [other.fileno(), listener.fileno()]
        program = "from tests.cli.forking import serve; serve()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, *map(str, fds)],
            pass_fds=fds,
            env={
                **os.environ,
                "ARROW_DEFAULT_MEMORY_POOL": "system",
                "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
            },
        )
        other.close()
        listener.close()

    def stand_in(self) -> str:
        """A program that a shell can start as binx."""
        code = _STAND_IN.format(address=self._address, main=MAIN, killed=_KILLED)
        return f'#!/bin/sh\nexec {join([sys.executable, "-I", "-S", "-c", code])} "$@"\n'

    def start(
        self, program: str, arguments: Sequence[str], cwd: Path | None, env: Mapping[str, str], fds: list[int]
    ) -> None:
        """Let a fork run a program."""
        request = marshal.dumps((program, ["-c", *arguments], str(cwd or Path.cwd()), dict(env)))
        socket.send_fds(self._channel, [request], fds)

    def wait(self) -> int:
        """The exit code of the fork, as subprocess has it."""
        return int(self._channel.recv(_MOST))


@cache
def forking() -> Forking:
    """The one that all tests of a process share."""
    return Forking()


def serve() -> None:
    """Run what is asked for, each in a process of its own: what tests ask for one after the other."""
    channel, listener = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:])
    _load()
    gc.collect()
    gc.freeze()
    while True:
        ready, _, _ = select.select([channel, listener], [], [])
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if listener in ready:
            asking, _ = listener.accept()
            if not os.fork():
                _run_for(asking)
            asking.close()
        if channel in ready:
            request, fds, *_ = socket.recv_fds(channel, _MOST, 3)
            if not request:
                return
            child = os.fork()
            if not child:
                channel.close()
                os._exit(_run(request, fds))
            for fd in fds:
                os.close(fd)
            _, status = os.waitpid(child, 0)
            with suppress(BrokenPipeError):
                channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def _run_for(asking: socket.socket) -> NoReturn:
    """Run what a program asks for that stands in for the command, and say how it ended."""
    request, fds, *_ = socket.recv_fds(asking, _MOST, 3)
    answer = fcntl.fcntl(asking, fcntl.F_DUPFD_CLOEXEC, _HIGHEST)
    code = _run(request, fds)
    os.write(answer, str(code).encode())
    os._exit(code)


def _load() -> None:
    for name in _LOADED:
        importlib.import_module(name)
    binx = importlib.import_module("binx")
    for module in pkgutil.walk_packages(binx.__path__, "binx."):
        if not module.name.startswith(_LEFT_OUT):
            importlib.import_module(module.name)


def _run(request: bytes, fds: list[int]) -> int:
    """Run a program up to where the process would end."""
    program, arguments, cwd, env = marshal.loads(request)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, _HIGHEST)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = arguments
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _stream(1, "strict")
    sys.stderr = _stream(2, "backslashreplace")
    main = sys.modules["__main__"] = ModuleType("__main__")
    code = 0
    try:
        exec(program, main.__dict__)
    except SystemExit as ending:
        code = int(ending.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    # An interpreter's end, but for taking down all that is loaded.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def _stream(number: int, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python opens it."""
    buffered = number == 1 and not os.isatty(number)
    return open(number, "w", buffering=-1 if buffered else 1, encoding="utf-8", errors=errors, closefd=False)
