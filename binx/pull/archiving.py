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
        folder: where the logs are.
        archive: where they go.
        parquet: where their row changes go; None: nowhere.
        tell: is told of a run that failed.

    Attributes:
        failures: how many runs have failed.
    """

    def __init__(self, folder: Path, archive: str, parquet: str | None, tell: Callable[[str], None]) -> None:
        self._command = [sys.executable, "-m", "binx", "archive", str(folder), "--to", archive, "--quiet"]
        self._command += [] if parquet is None else ["--parquet", parquet]
        self._tell = tell
        self._process: subprocess.Popen[bytes] | None = None
        self._seen = 0
        self.failures = 0

    def start(self) -> None:
        """Begin a run."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

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
            self.start()

    def finish(self) -> bool:
        """Archive what is left; whether all runs went well."""
        if self._process is not None:
            self._judge(self._process.wait())
        self.start()
        if self._process is not None:
            self._judge(self._process.wait())
            self._process = None
        return not self.failures

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
