"""Output on a terminal goes through a pager: ``less``, or what ``BINX_PAGER`` or ``PAGER`` names.

The pager starts with the first output, so that progress bars are seen until then. What stands on standard
error afterwards goes through it too, where that is the terminal as well.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from binx.cli.terminal import is_terminal, say_warning

if TYPE_CHECKING:
    from typing_extensions import Buffer

NO_PAGER = "binx.no-pager"
"""Whether there is to be none, among what a click context knows."""

_LESS = "less"
_LESS_OPTIONS = "FRX"
"""End at once where all fits on the screen, pass colours on, and leave the text there: as git sets LESS."""

_STANDARD_ERROR = 2


@contextmanager
def paged() -> Iterator[None]:
    """Let what the command of the current context writes to a terminal go through a pager."""
    context = click.get_current_context()
    pager = _pager()
    if (
        pager is None
        or context.meta.get(NO_PAGER)
        or context.params.get("as_json")
        or not is_terminal(sys.stdout)
    ):
        yield
        return
    before = sys.stdout
    before.flush()
    screen = _Screen(before.fileno(), pager)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(screen), before.encoding, "backslashreplace", write_through=True
    )
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
        sys.stdout = before
        screen.end()


def _pager() -> list[str] | None:
    """The command line of the pager; None for none."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return None
    given = next((os.environ[name] for name in ("BINX_PAGER", "PAGER") if name in os.environ), _LESS)
    words = shlex.split(given)
    if words in ([], ["cat"]):
        return None
    if shutil.which(words[0]) is None:
        if given != _LESS:
            say_warning(f"the pager {words[0]} was not found; BINX_PAGER and PAGER name one")
        return None
    return words


class _Screen(io.RawIOBase):
    """A terminal whose output a pager shows."""

    def __init__(self, descriptor: int, pager: list[str]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._pager = pager
        self._process: subprocess.Popen[bytes] | None = None
        self._standard_error: int | None = None

    def isatty(self) -> bool:
        """It is shown to a person."""
        return True

    def fileno(self) -> int:
        """The terminal's, whose width counts."""
        return self._descriptor

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Buffer, /) -> int:
        """Hand text to the pager.

        Raises:
            BrokenPipeError: the pager has ended.
        """
        if self._process is None:
            self._process = self._started()
        assert self._process.stdin is not None
        return os.write(self._process.stdin.fileno(), data)

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._pager,
            bufsize=0,
            stdin=subprocess.PIPE,
            env={"LESS": _LESS_OPTIONS, "LV": "-c", **os.environ},
        )
        if sys.stderr is not None and is_terminal(sys.stderr):
            assert process.stdin is not None
            self._standard_error = os.dup(_STANDARD_ERROR)
            os.dup2(process.stdin.fileno(), _STANDARD_ERROR)
        return process

    def end(self) -> None:
        """Wait until the person has read."""
        if self._process is None:
            return
        if self._standard_error is not None:
            os.dup2(self._standard_error, _STANDARD_ERROR)
            os.close(self._standard_error)
        assert self._process.stdin is not None
        self._process.stdin.close()
        # An interrupt is for the pager, which goes on with what it has.
        interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, interrupted)
