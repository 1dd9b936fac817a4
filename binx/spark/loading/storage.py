"""Folders that the loader reads and writes, and those of this machine.

Paths are relative to the storage's root and use ``/``. Only small files pass through here (manifests, the
state); Spark reads and writes the data itself at the addresses that :func:`address_of` gives.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .outcome import LoadError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_GLOB_CHARACTERS = re.compile(r"([\[\]{}*?\\])")
HIDDEN = ("_", ".")
_TOGETHER = 16
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file below a folder: its path from there, its size, and when it was written, in ms since 1970."""

    path: str
    bytes: int
    modified: int


class Storage(Protocol):
    """A folder tree."""

    root: str

    def target(self, path: str) -> str:
        """The path as Spark's writers take it: absolute, as it is."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none where there is no such folder."""

    def files(self, folder: str) -> list[StoredFile]:
        """The files below a folder, sorted by path, without those whose names begin with ``_`` or ``.``."""

    def read(self, path: str) -> bytes:
        """A small file's content.

        Raises:
            LoadError: there is no such file, or it cannot be read.
        """

    def sha256(self, path: str) -> str:
        """The hash of a file's content, as 64 hex digits.

        Raises:
            LoadError: there is no such file, or it cannot be read.
        """

    def replace(self, path: str, content: bytes) -> None:
        """Write a small file so that readers find the old content or the new, nothing between."""

    def move(self, source: str, destination: str) -> None:
        """Rename a file or folder; the destination's folder is made, the destination must not exist."""

    def synchronize(self, paths: Iterable[str]) -> None:
        """Bring files and folders, with all they hold, to the disk, where closing a file does not."""

    def remove(self, path: str) -> None:
        """Remove a file, link or folder with all it holds; nothing happens where there is none."""

    def link(self, path: str, destination: str) -> None:
        """Let ``path`` lead to ``destination`` (relative to the folder of ``path``), where links exist."""

    def lock(self, path: str, *, broken: bool) -> AbstractContextManager[None]:
        """Hold the lock at ``path``; ``broken`` takes it from an owner that is known to be dead.

        Raises:
            LoadError: another run holds it.
        """


def address_of(storage: Storage, path: str) -> str:
    """A path of a storage as Spark's readers take it: absolute, its glob characters escaped."""
    return _GLOB_CHARACTERS.sub(r"\\\1", storage.target(path))


def is_local(root: str) -> bool:
    """Whether this is a path of this machine, not a URI."""
    return _SCHEME.match(root) is None


def lock_owner() -> bytes:
    """What the file of a lock says of the process that holds it."""
    return json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode()


def held_by(place: str, owner: bytes, advice: str) -> LoadError:
    """An error about a lock that another process, which its file names, holds."""
    who = owner.decode("utf-8", "replace").strip() or "an unknown process"
    return LoadError(f"another load is writing to {place}: the lock is held by {who}. {advice}")


class LocalStorage:
    """A folder of this machine; its lock ends with the process that holds it, however that ends."""

    def __init__(self, root: str) -> None:
        self.root = str(Path(root).absolute())

    def _path(self, path: str) -> Path:
        return Path(self.root, path)

    def target(self, path: str) -> str:
        """See :meth:`Storage.target`."""
        return str(self._path(path))

    def exists(self, path: str) -> bool:
        """See :meth:`Storage.exists`."""
        return self._path(path).exists()

    def names(self, folder: str) -> list[str]:
        """See :meth:`Storage.names`."""
        try:
            return sorted(os.listdir(self._path(folder)))  # noqa: PTH208 - only the names are wanted
        except (FileNotFoundError, NotADirectoryError):
            return []

    def files(self, folder: str) -> list[StoredFile]:
        """See :meth:`Storage.files`."""
        root = self._path(folder)
        found = []
        for file in root.rglob("*"):
            if file.is_file() and not file.name.startswith(HIDDEN):
                status = file.stat()
                path = file.relative_to(root).as_posix()
                found.append(StoredFile(path, status.st_size, status.st_mtime_ns // 1_000_000))
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str) -> bytes:
        """See :meth:`Storage.read`."""
        try:
            return self._path(path).read_bytes()
        except OSError as error:
            raise LoadError(f"{self.target(path)} cannot be read: {error.strerror}") from error

    def sha256(self, path: str) -> str:
        """See :meth:`Storage.sha256`."""
        try:
            with self._path(path).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise LoadError(f"{self.target(path)} cannot be read: {error.strerror}") from error

    def replace(self, path: str, content: bytes) -> None:
        """See :meth:`Storage.replace`."""
        final = self._path(path)
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = final.with_name(f"{final.name}.draft")
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)
        _synchronize(str(final.parent))

    def move(self, source: str, destination: str) -> None:
        """See :meth:`Storage.move`."""
        final = self._path(destination)
        final.parent.mkdir(parents=True, exist_ok=True)
        self._path(source).rename(final)

    def synchronize(self, paths: Iterable[str]) -> None:
        """See :meth:`Storage.synchronize`.

        Raises:
            OSError: some file systems say only now that they have no space.
        """
        files: list[str] = []
        folders = {self.root}
        for path in map(self._path, paths):
            folders.update(str(parent) for parent in path.parents if parent.is_relative_to(self.root))
            if path.is_file():
                files.append(str(path))
            for folder, _, names in os.walk(path):
                folders.add(folder)
                files += [f"{folder}/{name}" for name in names]
        # A file system brings what it is asked for at the same time to the disk at once.
        with ThreadPoolExecutor(_TOGETHER) as pool:
            for found in (files, sorted(folders)):
                deque(pool.map(_synchronize, found), maxlen=0)

    def remove(self, path: str) -> None:
        """See :meth:`Storage.remove`."""
        target = self._path(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    def link(self, path: str, destination: str) -> None:
        """See :meth:`Storage.link`."""
        final = self._path(path)
        if final.is_symlink() and str(final.readlink()) == destination:
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        draft = final.with_name(f".{final.name}.draft")
        draft.unlink(missing_ok=True)
        with suppress(OSError):
            draft.symlink_to(destination)
            draft.replace(final)

    @contextmanager
    def lock(self, path: str, *, broken: bool) -> Iterator[None]:
        """See :meth:`Storage.lock`; the kernel frees the lock of a process that died."""
        file = self._path(path)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise LoadError(f"{self.root} cannot be written: {error.strerror}") from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise held_by(self.root, os.pread(descriptor, 512, 0), "Wait until it ends.") from error
            except OSError as error:
                raise LoadError(f"{self.root} cannot be locked: {error.strerror}") from error
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, lock_owner(), 0)
            yield
        finally:
            os.close(descriptor)


def _synchronize(path: str) -> None:
    """Bring a file's content, or a folder's list of names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
