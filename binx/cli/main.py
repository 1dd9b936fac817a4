"""The entry point of the process; it imports little, as an interrupt can come while all else is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from binx.hidden_pandas import hide_pandas

_INTERRUPTED = 128 + signal.SIGINT
_YOUNG_OBJECTS = 20_000
"""New objects after which garbage is looked for: imports make many, and hardly any garbage."""


def main() -> NoReturn:
    """Run the process's command line, and exit."""
    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interrupts:
        signal.signal(signal.SIGINT, _end)
    gc.set_threshold(_YOUNG_OBJECTS)
    hide_pandas()
    try:
        from binx.cli.run import run
    except ImportError as error:
        sys.exit(f"binx: error: {error}")
    if interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    # Memory is given back as a whole: a last look for garbage takes a tenth of a short command.
    gc.freeze()
    sys.exit(code)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    """End a process that has not begun yet, and has nothing to clear away."""
    os.write(2, b"binx: interrupted\n")
    os._exit(_INTERRUPTED)
