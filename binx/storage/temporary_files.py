"""Files on their way to their names, and what killed processes have left of such."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NEW_FILE_MODE = 0o666
_TEMPORARY_ATTEMPTS = 100
_TEMPORARY_NAMES = ".binx-*.tmp"


def create_beside(target: str) -> tuple[str, int]:
    """A new file in the target's folder, with the permissions that the umask gives a new file.

    As long as it is open, :func:`remove_leftovers` leaves it alone.

    Raises:
        OSError: it cannot be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for _ in range(_TEMPORARY_ATTEMPTS):
        temporary = os.path.join(os.path.dirname(target), f".binx-{os.urandom(6).hex()}.tmp")
        with suppress(FileExistsError):
            descriptor = os.open(temporary, flags, _NEW_FILE_MODE)
            if _is_ours(descriptor, temporary):
                return temporary, descriptor
            os.close(descriptor)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes have left half written in a folder; files of living ones stay.

    Raises:
        OSError: the folder cannot be read.
    """
    for leftover in folder.glob(_TEMPORARY_NAMES):
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(descriptor)


def _is_ours(descriptor: int, temporary: str) -> bool:
    """Lock a new file, so that it is not taken for a leftover, and see that it was not taken for one yet."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks; there nothing is taken for a leftover either.
    return os.path.exists(temporary)
