"""Lock files: one writer at a time; a lock ends with its process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from binx.errors import OutputError
from binx.storage.output_errors import output_errors

if TYPE_CHECKING:
    from pathlib import Path


class LockedError(OutputError):
    """Another process is writing to the place."""


def is_taken(descriptor: int) -> bool:
    """Lock an open file until it is closed; return whether it is locked now, and not by another process.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def hold_lock(path: Path, where: str) -> Iterator[None]:
    """Hold a lock file; the file stays, as another process may be about to lock it.

    Raises:
        LockedError: another process holds it.
        OutputError: it cannot be created or locked.
    """
    with output_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        with output_errors(path):
            is_held = is_taken(descriptor)
        if not is_held:
            raise LockedError(f"another binx process{_holder(descriptor)} is writing to it", path=where)
        with suppress(OSError):
            # Only a hint for people; on a full disk the lock works without it.
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Return the process id that the lock's holder wrote into the file."""
    text = os.pread(descriptor, 32, 0).strip()
    return f" ({int(text)})" if text.isdigit() else ""


def held_since(path: Path) -> float | None:
    """Return when a lock file was taken, in seconds since 1970; None if no process holds it."""
    try:
        with path.open("rb") as file:
            if not file.read(1):
                return None
            begun = os.fstat(file.fileno()).st_mtime
            # Tried only where the holder is active or was killed, as it would refuse one that begins now.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return begun
    except OSError:
        return None
    return None
