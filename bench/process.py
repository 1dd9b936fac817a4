"""Runs one command and tells what it cost: CPU time, wall time and peak memory, children included."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_KIBIBYTE = 1024
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_LONGEST_MESSAGE = 300


def plain_environment() -> dict[str, str]:
    """This process's environment, but Python may keep compiled modules, as where it is installed."""
    return {name: value for name, value in os.environ.items() if name != _NO_BYTECODE}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one run of a command cost.

    Attributes:
        cpu: seconds of processor time, user and system, of the process and the children it waited for.
        wall: seconds from start to end.
        peak: bytes of memory that were resident at most, in the process or in one of its children. Linux
            counts what the parent had resident when it started the process, so that no reading is smaller.
        status: the exit status; negative for the signal that ended it.
        message: the last that it wrote on standard error.
    """

    cpu: float
    wall: float
    peak: int
    status: int
    message: str = ""


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
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Reading(
        cpu=usage.ru_utime + usage.ru_stime,
        wall=wall,
        peak=usage.ru_maxrss * _KIBIBYTE,
        status=process.returncode,
        message=said[-_LONGEST_MESSAGE:],
    )
