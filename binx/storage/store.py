"""Stores of archives and data sets: a local folder, or any place that ``pyarrow.fs`` supports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from binx.errors import SourceError
from binx.source import PlainFile, Source
from binx.source.remote import beside, is_uri
from binx.storage.locking import held_since, hold_lock
from binx.storage.output import CountedSink, open_output, remove_leftovers, synchronize
from binx.storage.output_errors import output_errors

if TYPE_CHECKING:
    from binx.storage.remote_store import RemoteStore

MANIFESTS = "_manifest"
"""The folder of the manifests within a store."""

LOCK = "_lock"

_FILE_SCHEME = "file://"


class LocalStore:
    """A folder: a place that holds named objects, each written completely or not at all.

    :class:`~binx.storage.remote_store.RemoteStore` has the same methods.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inside = f"{folder}{os.sep}"

    @property
    def where(self) -> str:
        """The place's name in messages."""
        return str(self._folder)

    @property
    def folder(self) -> Path:
        """The folder."""
        return self._folder

    def prepare(self, folders: Iterable[str] = ()) -> None:
        """Create the place if it does not exist, and remove incomplete objects of killed runs.

        Args:
            folders: created and cleaned too; if there are any, so is the place itself.

        Raises:
            OutputError: it cannot be created.
        """
        with output_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            inside = [self._folder / name for name in folders]
            for folder in [self._folder, *inside] if inside else []:
                folder.mkdir(parents=True, exist_ok=True)
                remove_leftovers(folder)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the place for one writer; the lock ends with the process, however it ends.

        Raises:
            OutputError: another process holds it.
        """
        with output_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(self._folder / LOCK, self.where):
            yield

    def locked_since(self) -> float | None:
        """Return when the place was locked, in seconds since 1970; None if no process holds the lock."""
        return held_since(self._folder / LOCK)

    def modified(self, name: str) -> float:
        """Return when an object was written, in seconds since 1970; 0 if it does not exist."""
        try:
            return os.stat(self.path(name)).st_mtime
        except OSError:
            return 0

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the objects directly in a folder, sorted; none if there is no such folder.

        Raises:
            SourceError: it cannot be read.
        """
        path = self._folder / folder
        try:
            return sorted(entry.name for entry in os.scandir(path) if entry.is_file())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error

    def find(self, folder: str) -> list[str]:
        """Return the names of all objects below a folder, at any depth, sorted; none without such a folder.

        Raises:
            SourceError: it cannot be read.
        """
        files = (path for path in (self._folder / folder).rglob("*") if path.is_file())
        try:
            return sorted(path.relative_to(self._folder).as_posix() for path in files)
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=self.path(folder)) from error

    def path(self, name: str) -> str:
        """Return an object's full name: a path, or a URI."""
        return self._inside + name

    def open(self, name: str) -> Source:
        """Open an object's stored bytes.

        Raises:
            SourceError: it does not exist, or cannot be read.
            NotABinlogError: it is empty.
        """
        return PlainFile.open(self.path(name))

    def read(self, name: str) -> bytes | None:
        """Return all bytes of a small object; None if it does not exist.

        Raises:
            SourceError: it cannot be read.
        """
        try:
            with open(self.path(name), "rb", buffering=0) as file:
                return file.readall()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror}", path=self.path(name)) from error

    @contextmanager
    def writing(self, name: str) -> Iterator[CountedSink]:
        """Write an object; it appears completely when the block is left without an error.

        Raises:
            OutputError: it cannot be written.
        """
        with open_output(self.path(name)) as stream:
            yield stream

    def put(self, name: str, data: bytes) -> None:
        """Write a small object, completely or not at all; its folder is created.

        Raises:
            OutputError: it cannot be written.
        """
        path = self._folder / name
        with output_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.writing(name) as sink:
            sink.write(data)

    def take(self, files: Iterable[tuple[str, str]]) -> None:
        """Move local files into the store; each appears completely, and its folder is created.

        Args:
            files: pairs of a local path and the object's name. A local store takes only files of its own file
                system.

        Raises:
            OutputError: a file cannot be moved; those before it are.
        """
        moves = [*files]
        synchronize(path for path, _ in moves)
        folders: dict[str, None] = {}
        with output_errors(self._folder):
            for path, name in moves:
                folder = self.path(name.rpartition("/")[0])
                if folder not in folders:
                    folders[folder] = None
                    _make_folder(folder)
                os.replace(path, self.path(name))
        synchronize(folders)

    def remove(self, name: str) -> None:
        """Remove an object permanently; do nothing if it does not exist.

        Raises:
            OutputError: it cannot be removed.
        """
        path = self._folder / name
        with output_errors(path):
            path.unlink(missing_ok=True)
        if path.parent.is_dir():
            synchronize([path.parent])


Store: TypeAlias = "LocalStore | RemoteStore"


def _make_folder(path: str) -> None:
    """Create a folder if it does not exist; usually its parent does."""
    try:
        os.mkdir(path)
    except FileExistsError:
        pass
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)


def open_store(place: str) -> Store:
    """Return the store that a user names.

    Raises:
        UsageError: the file system is unknown.
        OutputError: it cannot be reached.
    """
    if place.startswith(_FILE_SCHEME):
        return LocalStore(Path(place.removeprefix(_FILE_SCHEME)))
    if is_uri(place):
        from binx.storage.remote_store import RemoteStore

        return RemoteStore(place)
    return LocalStore(Path(place))


@contextmanager
def open_file(path: str) -> Iterator[CountedSink]:
    """Open a local or remote file for writing; it appears when the block is left without an error.

    Raises:
        UsageError: the file system is unknown.
        OutputError: it cannot be written.
    """
    if not is_uri(path):
        with open_output(path) as stream:
            yield stream
        return
    name = path.partition("?")[0].rpartition("/")[2]
    with open_store(beside(path, "")).writing(unquote(name)) as sink:
        yield sink
