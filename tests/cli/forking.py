"""Processes that begin where binx and what it stands on are loaded already.

Hundreds of tests run a command in a process of its own, and loading takes most of its time. One process
loads all once, and a fork of it runs each command, with streams, environment and folder of its own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NoReturn

_MOST = 128 * 1024
"""Bytes of a request at most."""

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


class Forking:
    """The process that is forked."""

    def __init__(self) -> None:
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = "from tests.cli.forking import serve; serve()"
        command = [sys.executable, "-P", "-c", program, str(other.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=[other.fileno()],
            env={
                **os.environ,
                "ARROW_DEFAULT_MEMORY_POOL": "system",
                "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path),
            },
        )
        other.close()

    def start(
        self, program: str, arguments: Sequence[str], cwd: Path | None, env: Mapping[str, str], fds: list[int]
    ) -> None:
        """Let a fork run a program."""
        request = json.dumps([program, ["-c", *arguments], str(cwd or Path.cwd()), dict(env)])
        socket.send_fds(self._channel, [request.encode()], fds)

    def wait(self) -> int:
        """The exit code of the fork, as subprocess has it."""
        return int(self._channel.recv(_MOST))


@cache
def forking() -> Forking:
    """The one that all tests of a process share."""
    return Forking()


def serve() -> None:
    """Run what is asked for, one after the other, each in a process of its own."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    _load()
    gc.collect()
    gc.freeze()
    while True:
        request, fds, *_ = socket.recv_fds(channel, _MOST, 3)
        if not request:
            return
        child = os.fork()
        if not child:
            channel.close()
            program, arguments, cwd, env = json.loads(request)
            _run(program, arguments, cwd, env, fds)
        for fd in fds:
            os.close(fd)
        _, status = os.waitpid(child, 0)
        with suppress(BrokenPipeError):
            channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def _load() -> None:
    for name in _LOADED:
        importlib.import_module(name)
    binx = importlib.import_module("binx")
    for module in pkgutil.walk_packages(binx.__path__, "binx."):
        if not module.name.startswith(_LEFT_OUT):
            importlib.import_module(module.name)


def _run(program: str, arguments: list[str], cwd: str, env: dict[str, str], fds: list[int]) -> NoReturn:
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 64)
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
    os._exit(code)


def _stream(number: int, errors: str) -> io.TextIOWrapper:
    """A standard stream as Python opens it."""
    buffered = number == 1 and not os.isatty(number)
    return open(number, "w", buffering=-1 if buffered else 1, encoding="utf-8", errors=errors, closefd=False)
