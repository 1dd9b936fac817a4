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
from dataclasses import dataclass
from pathlib import Path

BINX = (sys.executable, "-m", "binx")
_LINES = 40


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
    """Run a command line in pipes."""
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
    program = f"import os, signal, sys\n{code}\nfrom binx.cli.main import run\nsys.exit(run(sys.argv[1:]))"
    return (sys.executable, "-c", program)


def binx_with(code: str, *arguments: str | Path, cwd: Path | None = None) -> Ended:
    """Run a command line in pipes after some Python."""
    done = subprocess.run(
        [*after(code), *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        env=environment(),
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8"))


def on_terminal(
    *arguments: str | Path,
    width: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    command: Sequence[str] = BINX,
) -> Ended:
    """Run a command line on a pseudo-terminal of a certain width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, width, 0, 0))
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env=environment(env),
    )
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
