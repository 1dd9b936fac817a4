"""Running the real command in a process of its own, in a pipe or on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.cli.forking import MAIN, forking

BINX = (sys.executable, "-m", "binx")
_LINES = 40
PATIENT = "from binx.cli import progress\nprogress._PATIENCE = 3600.0"
"""Shows no progress, however long a command takes."""


@dataclass(frozen=True)
class Ended:
    """A process that has ended; on a terminal all that was shown is in ``out``."""

    code: int
    out: str
    err: str = ""

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the tests, without what would change the output."""
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "COLUMNS") and not name.startswith("BINX_")
    }
    return known | {"TERM": "xterm-256color", "BINX_CONFIG": "", "BINX_PAGER": ""} | dict(extra or {})


def binx(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    prefix: Sequence[str] = (),
) -> Ended:
    """Run a command line in pipes; after other programs it begins from nothing."""
    if not prefix:
        return _forked(MAIN, arguments, cwd, stdin, env)
    done = subprocess.run(
        [*prefix, *BINX, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=environment(env),
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8"))


def after(code: str) -> tuple[str, ...]:
    """The command in a process that runs some Python first, to make something happen at a certain place."""
    return (sys.executable, "-c", _program(code))


def _program(code: str) -> str:
    return f"import os, signal, sys\n{code}\n{MAIN}"


def binx_with(code: str, *arguments: str | Path, cwd: Path | None = None) -> Ended:
    """Run a command line in pipes after some Python."""
    return _forked(_program(code), arguments, cwd)


def _forked(
    program: str,
    arguments: Sequence[str | Path],
    cwd: Path | None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Ended:
    pipes = [os.pipe() for _ in range(3)]
    (given, write), (out, told), (err, said) = pipes
    process = forking()
    process.start(program, list(map(str, arguments)), cwd, environment(env), [given, told, said])
    for fd in (given, told, said):
        os.close(fd)
    with ThreadPoolExecutor(3) as threads:
        threads.submit(_feed, write, stdin)
        texts = list(threads.map(_read, (out, err)))
    return Ended(process.wait(), texts[0].decode("utf-8", "replace"), texts[1].decode("utf-8"))


def _feed(fd: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(fd, "wb") as pipe:
        pipe.write(data)


def _read(fd: int) -> bytes:
    with open(fd, "rb") as pipe:
        return pipe.read()


def on_terminal(
    *arguments: str | Path,
    width: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    code: str = PATIENT,
) -> Ended:
    """Run a command line on a pseudo-terminal of a certain width, after some Python."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, width, 0, 0))
    process = forking()
    process.start(_program(code), list(map(str, arguments)), cwd, environment(env), [slave] * 3)
    os.close(slave)
    shown = b""
    try:
        while True:
            part = os.read(master, 65536)
            if not part:
                break
            shown += part
    except OSError:
        pass  # Linux says so when the last process has left the terminal.
    os.close(master)
    return Ended(process.wait(), shown.decode("utf-8").replace("\r\n", "\n"))
