"""The entry point of the process; it imports little, as an interrupt can come while all else is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 128 + signal.SIGINT
_GARBAGE_OBJECTS = 50_000
"""New objects before Python seeks garbage; by default so few that it does so all the while modules load."""


def main() -> NoReturn:
    """Run the process's command line, and exit."""
    gc.set_threshold(_GARBAGE_OBJECTS)
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, _end)
    from binx.cli.run import run

    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    # Seeking garbage in all that was loaded would take longer than the rest of the exit.
    gc.freeze()
    sys.exit(code)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """End a process that has not begun yet, and has nothing to clear away."""
    os.write(2, b"binx: interrupted\n")
    os._exit(_INTERRUPTED)
