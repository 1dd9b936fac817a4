"""A store in an object store or another file system of ``pyarrow.fs``."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from binx.errors import OutputError, SourceError
from binx.source import Source
from binx.source.remote import RemoteFile, reach, shortened
from binx.storage.locking import held_since, hold_lock
from binx.storage.output import CountedSink
from binx.storage.output_errors import output_errors

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from typing_extensions import Buffer

_OBJECT_STORES = ("s3", "gcs", "abfs")
"""File systems where a file appears when it is closed, and folders are only name prefixes."""

_TEMPORARY = ".binx-{}.tmp"
_LOCK = ".lock"

_COPY_BYTES = 8 * 1024 * 1024
"""Size of an upload part; object stores require at least 5 MiB."""


class RemoteStore:
    """A prefix of an object store, or a folder of a distributed file system.

    Its lock holds among the processes of this machine and user. Two machines that write the same logs to one
    place write identical objects, which is harmless unless objects are encrypted: no two encryptions are the
    same, and the manifest of one machine may end up with the object of the other.
    """

    def __init__(self, uri: str) -> None:
        self._uri, _, query = uri.partition("?")
        self._uri = self._uri.rstrip("/")
        self._query = f"?{query}" if query else ""
        self._system, root = reach(uri, OutputError)
        self._root = root.rstrip("/")
        self._is_object_store = self._system.type_name in _OBJECT_STORES

    @property
    def where(self) -> str:
        """The URI without its options."""
        return self._uri

    def prepare(self, folders: Iterable[str] = ()) -> None:
        """Create the place, and remove incomplete objects; in object stores those are never visible."""
        if self._is_object_store:
            return
        with _output_errors(self._uri):
            self._system.create_dir(self._root, recursive=True)
            inside = list(folders)
            for folder in ["", *inside] if inside else []:
                self._system.create_dir(self._inside(folder), recursive=True)
                for name in self.names(folder):
                    if name.startswith(".binx-") and name.endswith(".tmp"):
                        self._system.delete_file(self._inside(f"{folder}/{name}" if folder else name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """See :class:`~binx.storage.store.LocalStore`; locks on this machine only."""
        with hold_lock(self._on_this_machine(_LOCK), self.where):
            yield

    def locked_since(self) -> float | None:
        return held_since(self._on_this_machine(_LOCK))

    def modified(self, name: str) -> float:
        try:
            written = self._system.get_file_info(self._inside(name)).mtime_ns
        except OSError:
            return 0
        # Object stores tell whole seconds.
        return 0 if written is None else written / 1e9 + 1

    @property
    def upload_folder(self) -> Path:
        """A folder of this machine and user for files to be uploaded to this place."""
        return self._on_this_machine("")

    def make_upload_folder(self) -> None:
        """Create that folder, readable by its user only."""
        folder = self.upload_folder
        with output_errors(folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise OutputError(
                "the folder belongs to another user; set TMPDIR to another folder",
                path=str(folder),
            )

    def names(self, folder: str = "") -> list[str]:
        return [path.rpartition("/")[2] for path in self._listed(folder, recursive=False)]

    def find(self, folder: str) -> list[str]:
        return [path.removeprefix(f"{self._root}/") for path in self._listed(folder, recursive=True)]

    def path(self, name: str) -> str:
        return f"{self._uri}/{quote(name)}{self._query}"

    def open(self, name: str) -> Source:
        return RemoteFile.inside(self._system, self._inside(name), self.path(name))

    def read(self, name: str) -> bytes | None:
        try:
            with self._system.open_input_file(self._inside(name)) as file:
                data: bytes = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SourceError(f"cannot be read: {shortened(error)}", path=self._shown(name)) from error
        return data

    @contextmanager
    def writing(self, name: str) -> Iterator[CountedSink]:
        """See :class:`~binx.storage.store.LocalStore`.

        Object stores show an object once it is uploaded completely; other file systems rename it then.
        """
        target = self._inside(name)
        folder = target.rpartition("/")[0]
        path = target if self._is_object_store else f"{folder}/{_TEMPORARY.format(os.urandom(6).hex())}"
        where = self._shown(name)
        with _output_errors(where):
            # Explicit, since Arrow by default compresses files named .zst again.
            stream = self._system.open_output_stream(path, compression=None)
        try:
            yield _RemoteSink(stream, where)
            with _output_errors(where):
                stream.close()
                if path != target:
                    self._system.move(path, target)
        except BaseException:
            # A stream cannot be aborted: its remains are removed.
            with suppress(OSError):
                stream.close()
            with suppress(OSError):
                self._system.delete_file(path)
            raise

    def put(self, name: str, data: bytes) -> None:
        self._make_folder(name)
        with self.writing(name) as sink:
            sink.write(data)

    def take(self, files: Iterable[tuple[str, str]]) -> None:
        for path, name in files:
            self._make_folder(name)
            with output_errors(path), Path(path).open("rb") as file, self.writing(name) as sink:
                shutil.copyfileobj(file, sink, _COPY_BYTES)
            with output_errors(path):
                Path(path).unlink()

    def move(self, name: str, to: str) -> None:
        """Rename an object, replacing an existing one.

        Object stores copy it on the server side.
        """
        self._make_folder(to)
        with _output_errors(self._shown(to)):
            self._system.move(self._inside(name), self._inside(to))

    def remove(self, name: str) -> None:
        with _output_errors(self._shown(name)), suppress(FileNotFoundError):
            self._system.delete_file(self._inside(name))

    def _make_folder(self, name: str) -> None:
        if not self._is_object_store:
            with _output_errors(self._shown(name)):
                self._system.create_dir(self._inside(name).rpartition("/")[0], recursive=True)

    def _listed(self, folder: str, *, recursive: bool) -> list[str]:
        """Return the paths of the files in a folder, sorted."""
        from pyarrow import fs

        selector = fs.FileSelector(self._inside(folder), allow_not_found=True, recursive=recursive)
        try:
            infos = self._system.get_file_info(selector)
        except OSError as error:
            raise SourceError(f"cannot be read: {shortened(error)}", path=self._uri) from error
        return sorted(info.path for info in infos if info.type == fs.FileType.File)

    def _inside(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _shown(self, name: str) -> str:
        """Return an object's name for messages."""
        return f"{self._uri}/{name}"

    def _on_this_machine(self, suffix: str) -> Path:
        """Return a path shared by all processes of this machine and user that use this place."""
        digest = hashlib.sha256(self._uri.encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"binx-{os.getuid()}-{digest}{suffix}"


class _RemoteSink:
    """A sink whose errors name the object."""

    def __init__(self, stream: NativeFile, where: str) -> None:
        self._stream = stream
        self._where = where
        self.bytes_written = 0

    def write(self, data: Buffer, /) -> int:
        with _output_errors(self._where):
            self._stream.write(data)
        size = memoryview(data).nbytes
        self.bytes_written += size
        return size


@contextmanager
def _output_errors(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot be written: {shortened(error)}", path=where) from error
