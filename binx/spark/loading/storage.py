"""Folders that the loader reads and writes: on this machine, or on a file system that Hadoop knows.

Paths are relative to the storage's root and use ``/``. Only small files pass through here (manifests, the
state); Spark reads and writes the data itself at the addresses that :meth:`Storage.address` gives.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .outcome import LoadError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

_GLOB_CHARACTERS = re.compile(r"([\[\]{}*?\\])")
_HIDDEN = ("_", ".")
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

    def address(self, path: str) -> str:
        """The path as Spark's readers take it: absolute, its glob characters escaped."""

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

    def remove(self, path: str) -> None:
        """Remove a file, link or folder with all it holds; nothing happens where there is none."""

    def link(self, path: str, destination: str) -> None:
        """Let ``path`` lead to ``destination`` (relative to the folder of ``path``), where links exist."""

    def lock(self, path: str, *, broken: bool) -> AbstractContextManager[None]:
        """Hold the lock at ``path``; ``broken`` takes it from an owner that is known to be dead.

        Raises:
            LoadError: another run holds it.
        """


def is_local(root: str) -> bool:
    """Whether this is a path of this machine, not a URI."""
    return _SCHEME.match(root) is None


def open_storage(root: str, spark: SparkSession) -> Storage:
    """The storage at a path of this machine, or at a URI that the session's Hadoop libraries know."""
    return LocalStorage(root) if is_local(root) else HadoopStorage(root, spark)


def _owner() -> bytes:
    return json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode()


def _held(place: str, owner: bytes, advice: str) -> LoadError:
    who = owner.decode("utf-8", "replace").strip() or "an unknown process"
    return LoadError(f"another load is writing to {place}: the lock is held by {who}. {advice}")


class LocalStorage:
    """A folder of this machine; its lock ends with the process that holds it, however that ends."""

    def __init__(self, root: str) -> None:
        self.root = str(Path(root).absolute())

    def _path(self, path: str) -> Path:
        return Path(self.root, path)

    def address(self, path: str) -> str:
        """See :meth:`Storage.address`."""
        return _GLOB_CHARACTERS.sub(r"\\\1", self.target(path))

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
            if file.is_file() and not file.name.startswith(_HIDDEN):
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

    def move(self, source: str, destination: str) -> None:
        """See :meth:`Storage.move`."""
        final = self._path(destination)
        final.parent.mkdir(parents=True, exist_ok=True)
        self._path(source).rename(final)

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
                raise _held(self.root, os.pread(descriptor, 512, 0), "Wait for its end.") from error
            except OSError as error:
                raise LoadError(f"{self.root} cannot be locked: {error.strerror}") from error
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _owner(), 0)
            yield
        finally:
            os.close(descriptor)


class HadoopStorage:
    """A folder on a file system of Hadoop (``hdfs:``, ``s3a:``, ``file:`` …), through Spark's own libraries.

    Its lock is a file that the run removes at its end; a run that was killed leaves it behind, and
    ``--break-lock`` takes it over. There are no links.
    """

    def __init__(self, root: str, spark: SparkSession) -> None:
        self.root = root.rstrip("/")
        context = spark.sparkContext
        gateway: Any = context._gateway
        self._java: Any = context._jvm
        self._gateway = gateway
        self._configuration: Any = context._jsc.hadoopConfiguration()
        self._files: Any = self._path("").getFileSystem(self._configuration)

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self.target(path))

    def address(self, path: str) -> str:
        """See :meth:`Storage.address`."""
        return _GLOB_CHARACTERS.sub(r"\\\1", self.target(path))

    def target(self, path: str) -> str:
        """See :meth:`Storage.target`."""
        return f"{self.root}/{path}" if path else self.root

    def exists(self, path: str) -> bool:
        """See :meth:`Storage.exists`."""
        return bool(self._files.exists(self._path(path)))

    def names(self, folder: str) -> list[str]:
        """See :meth:`Storage.names`."""
        if not self.exists(folder):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._path(folder)))

    def files(self, folder: str) -> list[StoredFile]:
        """See :meth:`Storage.files`."""
        root = self._files.makeQualified(self._path(folder)).toUri()
        found = []
        listed = self._files.listFiles(self._path(folder), True) if self.exists(folder) else None
        while listed is not None and listed.hasNext():
            status = listed.next()
            if not status.getPath().getName().startswith(_HIDDEN):
                path = str(root.relativize(status.getPath().toUri()).getPath())
                found.append(StoredFile(path, int(status.getLen()), int(status.getModificationTime())))
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str) -> bytes:
        """See :meth:`Storage.read`."""
        if not self.exists(path):
            raise LoadError(f"{self.target(path)} cannot be read: there is no such file")
        stream = self._files.open(self._path(path))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def sha256(self, path: str) -> str:
        """See :meth:`Storage.sha256`; the Java side reads, so that a large file takes no memory here."""
        if not self.exists(path):
            raise LoadError(f"{self.target(path)} cannot be read: there is no such file")
        stream = self._files.open(self._path(path))
        try:
            return str(self._java.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def replace(self, path: str, content: bytes) -> None:
        """See :meth:`Storage.replace`; a store without rename replaces the object when it is closed."""
        draft, final = self._path(f"{path}.draft"), self._path(path)
        self._write(draft, content, overwrite=True)
        fs = self._java.org.apache.hadoop.fs
        options = self._gateway.new_array(fs.Options.Rename, 1)
        options[0] = fs.Options.Rename.OVERWRITE
        try:
            fs.FileContext.getFileContext(final.toUri(), self._configuration).rename(draft, final, options)
        except Exception:
            self._write(final, content, overwrite=True)
            self._files.delete(draft, False)

    def _write(self, path: Any, content: bytes, *, overwrite: bool) -> None:
        stream = self._files.create(path, overwrite)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def move(self, source: str, destination: str) -> None:
        """See :meth:`Storage.move`."""
        final = self._path(destination)
        self._files.mkdirs(final.getParent())
        if not self._files.rename(self._path(source), final):
            raise LoadError(f"{self.target(source)} cannot be renamed to {self.target(destination)}")

    def remove(self, path: str) -> None:
        """See :meth:`Storage.remove`."""
        self._files.delete(self._path(path), True)

    def link(self, path: str, destination: str) -> None:
        """See :meth:`Storage.link`: there are none here, and the state names the folder."""

    @contextmanager
    def lock(self, path: str, *, broken: bool) -> Iterator[None]:
        """See :meth:`Storage.lock`."""
        if broken:
            self.remove(path)
        try:
            self._write(self._path(path), _owner(), overwrite=False)
        except Exception as error:
            owner = self.read(path) if self.exists(path) else b""
            advice = "Wait for its end; if that process is dead, run again with --break-lock."
            raise _held(self.root, owner, advice) from error
        try:
            yield
        finally:
            self.remove(path)
