"""Many files brought to the disk together.

A file system brings what it is asked for at the same time to the disk at once: thousands of small files one
after another wait for a write of its journal each.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from binx.storage.output import output_error

_TOGETHER = 16
"""Files that are brought to the disk at the same time."""

_SMALL = 1024 * 1024
"""Bytes of a file of which there may be thousands."""


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


def begin_to_synchronize_small(descriptor: int, size: int) -> None:
    """Have the system begin to bring a small file to the disk that :func:`synchronize` will wait for.

    Space on the disk is found for it now, and not within a write of the journal for each of thousands.
    """
    if size <= _SMALL:
        begin_to_synchronize(descriptor, 0, size)


def begin_to_synchronize(descriptor: int, start: int, stop: int) -> None:
    """Have the system begin to bring a part of a file to the disk, once, just after it was written."""
    if sys.platform != "linux":
        return
    with suppress(OSError):
        # It says that nobody will read it soon, upon which Linux begins to write it; of what is not on the
        # disk it forgets nothing. Elsewhere it is no call, or does nothing.
        os.posix_fadvise(descriptor, start, stop - start, os.POSIX_FADV_DONTNEED)


def _synchronize(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
