"""Runs one command and tells what it cost: CPU time, wall time and peak memory, children included."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

_KIBIBYTE = 1024
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_LONGEST_MESSAGE = 300
_BETWEEN_LOOKS = 0.1
"""Seconds; looking takes time of the processor that is measured."""


def plain_environment() -> dict[str, str]:
    """This process's environment, but Python may keep compiled modules, as where it is installed."""
    return {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run of a command cost.

    Attributes:
        user: seconds of processor time in programs, of the process and the children it waited for.
        system: seconds of processor time that the system worked for them.
        wall: seconds from start to end.
        peak: bytes of memory that were resident at most, in the process or in one of its children; or, where
            it has children, in all of them together, what they share counted once. Linux counts what
            the parent had resident when it started the process, so that no reading is smaller.
        status: the exit code; negative for the signal that ended it.
        message: the last that it wrote on standard error.
    """

    user: float
    system: float
    wall: float
    peak: int
    status: int
    message: str = ""

    @property
    def cpu(self) -> float:
        """Seconds of processor time, user and system."""
        return self.user + self.system


class _Together:
    """Looks now and then at the memory of a process and its children.

    Args:
        parent: the process.

    Attributes:
        peak: the most that was seen, in bytes; 0 where it never had children.
    """

    def __init__(self, parent: int) -> None:
        self.peak = 0
        self._parent = parent
        self._is_over = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(_BETWEEN_LOOKS):
            # Those of each thread have a list of their own.
            lists = Path(f"/proc/{self._parent}/task").glob("*/children")
            children: list[str] = []
            for one in lists:
                with suppress(OSError):
                    children += one.read_text("ascii").split()
            if children:
                self.peak = max(self.peak, sum(map(_proportional, [str(self._parent), *children])))


def _proportional(process: str) -> int:
    """Resident bytes of a process, those that it shares divided by how many share them; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines():
            name, *words = line.split()
            if name == "Pss:":
                return int(words[0]) * _KIBIBYTE
    return 0


def run_measured(
    command: Sequence[str | Path], *, output: Path | None = None, folder: Path | None = None
) -> Reading:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        output: the file that takes its standard output; None to throw that away.
        folder: its working folder.
    """
    with tempfile.TemporaryFile() as errors, (output or Path(os.devnull)).open("wb") as out:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            cwd=folder,
            env=plain_environment(),
        )
        together = _Together(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        together.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Reading(
        user=usage.ru_utime,
        system=usage.ru_stime,
        wall=wall,
        peak=max(usage.ru_maxrss * _KIBIBYTE, together.peak),
        status=process.returncode,
        message=said[-_LONGEST_MESSAGE:],
    )
