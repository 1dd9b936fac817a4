"""What binx's tasks do first in a Python process of Spark."""

from __future__ import annotations

import gc
import sys
from functools import cache


def keep_modules() -> None:
    """Take what is loaded out of Python's garbage collection.

    Spark collects all garbage after each task (``pyspark/daemon.py``). Going through every object of pyarrow,
    numpy and binx each time was a fifth of the processor time of loads of small tables.
    Modules are never garbage.
    """
    _freeze(len(sys.modules))


@cache
def _freeze(modules: int) -> None:
    """Do it once for each number of modules: tasks import some only when they need them."""
    gc.freeze()
