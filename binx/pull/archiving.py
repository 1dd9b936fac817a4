"""The archive that takes the logs of a mirror as they are closed, in a process of its own.

So that whatever it takes, of time or memory, the server gets its acknowledgements.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from binx.errors import ExitCode


class Archiving:
    """Runs of ``binx archive``, never two at once.

    Args:
        archive: where the logs go.
        parquet: where their row changes go; None: nowhere.
        tell: is told of a run that failed.

    Attributes:
        failures: how many runs have failed.
    """

    def __init__(self, archive: str, parquet: str | None, tell: Callable[[str], None]) -> None:
        self._options = ["--to", archive, "--quiet", *([] if parquet is None else ["--parquet", parquet])]
        self._tell = tell
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        self.failures = 0

    def start(self, folder: Path) -> None:
        """Archive the logs in a folder from now on, once those of another folder are archived."""
        if folder != self._folder:
            if self._folder is not None:
                self.finish()
            self._folder = folder
            self._begin()

    def _begin(self) -> None:
        # In the standalone folder the program is binx itself.
        program = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "binx"]
        command = [*program, "archive", str(self._folder), *self._options]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def tend(self, closed: int) -> None:
        """Begin a run where logs were closed since the last one.

        Args:
            closed: how many were closed so far.
        """
        if self._process is not None and self._process.poll() is not None:
            self._judge(self._process.returncode)
            self._process = None
        if self._process is None and closed > self._seen:
            self._seen = closed
            self._begin()

    def finish(self) -> None:
        """Archive what is left, and wait for that."""
        if self._process is not None:
            self._judge(self._process.wait())
        self._begin()
        if self._process is not None:
            self._judge(self._process.wait())
            self._process = None

    def terminate(self) -> None:
        """End a run that is under way; the next one goes on where it was."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _judge(self, status: int) -> None:
        if status != ExitCode.DONE:
            self.failures += 1
            self._tell(f"binx archive ended with status {status}; it is tried again with the next closed log")


__all__ = ["Archiving"]
