"""Many files brought to the disk together.

A file system brings what it is asked for at the same time to the disk at once: thousands of small files one
after another wait for a write of its journal each.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from binx.storage.output import output_error

_TOGETHER = 16
"""Files that are brought to the disk at the same time."""


def synchronize(paths: Iterable[str | Path]) -> None:
    """Bring files and folders to the disk, and return when they are there.

    Raises:
        OutputError: one cannot be brought there; some file systems say only now that they have no space.
    """
    left = deque(paths)
    errors: list[tuple[BaseException, str | Path]] = []

    def work() -> None:
        while left and not errors:
            # Another thread may have taken the last one meanwhile.
            with suppress(IndexError):
                path = left.popleft()
                try:
                    _synchronize(path)
                except BaseException as error:
                    errors.append((error, path))

    others: list[Thread] = []
    # Where the system starts no more threads, those there are do it, if only this one.
    with suppress(RuntimeError):
        for _ in range(min(_TOGETHER, len(left)) - 1):
            other = Thread(target=work)
            other.start()
            others.append(other)
    work()
    for other in others:
        other.join()
    for error, path in errors:
        if isinstance(error, OSError):
            raise output_error(error, str(path)) from error
        raise error


def _synchronize(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
