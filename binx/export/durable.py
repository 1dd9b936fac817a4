"""Many files brought to the disk together.

A file system brings what it is asked for at the same time to the disk at once: thousands of small files one
after another wait for a write of its journal each.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from binx.export.output import create_beside, output_error, output_errors

_TOGETHER = 16
"""Files that are brought to the disk at the same time."""


def synchronize(paths: Iterable[Path]) -> None:
    """Bring files and folders to the disk, and return when they are there.

    Raises:
        OutputError: one cannot be brought there; some file systems say only now that they have no space.
    """
    left = deque(paths)
    errors: list[tuple[BaseException, Path]] = []

    def work() -> None:
        while left and not errors:
            # Another thread may have taken the last one meanwhile.
            with suppress(IndexError):
                path = left.popleft()
                try:
                    _synchronize(path)
                except BaseException as error:
                    errors.append((error, path))

    others = [Thread(target=work) for _ in range(min(_TOGETHER, len(left)) - 1)]
    for other in others:
        other.start()
    work()
    for other in others:
        other.join()
    for error, path in errors:
        if isinstance(error, OSError):
            raise output_error(error, str(path)) from error
        raise error


def write_together(files: Sequence[tuple[Path, bytes]]) -> None:
    """Write small files, each whole or not at all, whose folders are there.

    Raises:
        OutputError: one cannot be written; some may be.
    """
    written: list[tuple[Path, Path]] = []
    descriptors: list[int] = []
    try:
        for path, data in files:
            with output_errors(path):
                beside, descriptor = create_beside(str(path))
                # As long as it is open, nobody takes it for what a killed process has left.
                descriptors.append(descriptor)
                written.append((Path(beside), path))
                _write(descriptor, data)
        synchronize([temporary for temporary, _ in written])
        for temporary, path in written:
            with output_errors(path):
                temporary.replace(path)
        synchronize({path.parent: None for path, _ in files})
    except BaseException:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
        raise
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += os.write(descriptor, data[done:])


def _synchronize(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["synchronize", "write_together"]
