"""Where an archive is kept: a local folder, or any place that ``pyarrow.fs`` knows."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from binx.errors import OutputError, SourceError
from binx.export.dataset import output_errors
from binx.export.output import Sink, open_output, remove_leftovers
from binx.source import PlainFile, Source
from binx.source.remote import is_uri

MANIFESTS = "_manifest"
"""The folder of the manifests, below the archive's own."""

LOCK = "_lock"

_FILE_SCHEME = "file://"


class Store(Protocol):
    """A place that holds named objects, each written whole or not at all."""

    @property
    def where(self) -> str:
        """The place as messages call it."""

    def prepare(self) -> None:
        """Make the place where it is not there, and remove what killed runs have left half written.

        Raises:
            OutputError: it cannot be made.
        """

    def locked(self) -> AbstractContextManager[None]:
        """Hold the place for one writer; the lock goes with the process, however it ends.

        Raises:
            OutputError: another process holds it.
        """

    def names(self, folder: str = "") -> list[str]:
        """The names of the objects directly in a folder, sorted; none where there is no such folder.

        Raises:
            SourceError: it cannot be read.
        """

    def path(self, name: str) -> str:
        """What an object is called outside of the archive: a path, or a URI."""

    def open(self, name: str) -> Source:
        """An object's bytes as they are stored.

        Raises:
            SourceError: it is not there, or cannot be read.
            NotABinlogError: it is empty.
        """

    def writing(self, name: str) -> AbstractContextManager[Sink]:
        """Write an object; it appears whole when the block is left without an error.

        Raises:
            OutputError: it cannot be written.
        """


class LocalStore:
    """A folder.

    Args:
        folder: its path.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def where(self) -> str:
        """The folder."""
        return str(self._folder)

    def prepare(self) -> None:
        """As :class:`Store` says."""
        with output_errors(self._folder):
            (self._folder / MANIFESTS).mkdir(parents=True, exist_ok=True)
            for folder in (self._folder, self._folder / MANIFESTS):
                remove_leftovers(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """As :class:`Store` says."""
        with output_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(self._folder / LOCK, self.where):
            yield

    def names(self, folder: str = "") -> list[str]:
        """As :class:`Store` says."""
        place = self._folder / folder
        try:
            return sorted(entry.name for entry in os.scandir(place) if entry.is_file())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=str(place)) from error

    def path(self, name: str) -> str:
        """As :class:`Store` says."""
        return str(self._folder / name)

    def open(self, name: str) -> Source:
        """As :class:`Store` says."""
        return PlainFile.open(self.path(name))

    @contextmanager
    def writing(self, name: str) -> Iterator[Sink]:
        """As :class:`Store` says; file and folder are brought to the disk."""
        with open_output(self.path(name)) as stream:
            yield stream


def open_store(place: str) -> Store:
    """The store that a user names.

    Args:
        place: a folder, or a URI.

    Raises:
        UsageError: a file system that is not known.
        OutputError: it cannot be reached.
    """
    if place.startswith(_FILE_SCHEME):
        return LocalStore(Path(place.removeprefix(_FILE_SCHEME)))
    if is_uri(place):
        from binx.archive.remote_store import RemoteStore

        return RemoteStore(place)
    return LocalStore(Path(place))


@contextmanager
def hold_lock(path: Path, where: str) -> Iterator[None]:
    """Hold a lock file; it stays, as another process may be about to lock it.

    Args:
        path: the lock file.
        where: what it protects, for messages.

    Raises:
        OutputError: another process holds it, or it cannot be made.
    """
    with output_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"another binx process{_holder(descriptor)} is writing to this archive", path=where
            ) from None
        with suppress(OSError):
            # Only a hint for people; on a full disk the lock is as good without it.
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """The number of the process that holds a lock, as it has written it down."""
    text = os.pread(descriptor, 32, 0).strip()
    return f" ({int(text)})" if text.isdigit() else ""


__all__ = ["MANIFESTS", "LocalStore", "Store", "hold_lock", "open_store"]
