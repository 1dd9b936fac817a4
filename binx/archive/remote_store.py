"""An archive in an object store or another file system, through ``pyarrow.fs``."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from binx.archive.store import MANIFESTS, hold_lock
from binx.errors import OutputError, SourceError, UsageError
from binx.export.output import Sink
from binx.source import Source
from binx.source.remote import RemoteFile

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from typing_extensions import Buffer

_OBJECT_STORES = ("s3", "gcs", "abfs")
"""File systems where a file appears when it is closed, and folders are but parts of names."""

_TEMPORARY = ".binx-{}.tmp"


class RemoteStore:
    """A prefix of an object store, or a folder of a distributed file system.

    Its lock holds among the processes of this machine and user; two machines that archive the same logs into
    one place write the same objects, and do no harm.

    Args:
        uri: as ``pyarrow.fs`` takes it: ``s3://bucket/prefix``.

    Raises:
        UsageError: a file system that is not known.
        OutputError: it cannot be reached.
    """

    def __init__(self, uri: str) -> None:
        import pyarrow as pa
        from pyarrow import fs

        if ":" in uri.partition("://")[2].partition("/")[0].rpartition("@")[0]:
            raise UsageError(
                "expected no secret in the URI, as messages and lists of processes show it; set it in the"
                " environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or in a profile"
            )
        self._uri, _, query = uri.partition("?")
        self._uri = self._uri.rstrip("/")
        self._query = f"?{query}" if query else ""
        try:
            self._system, root = fs.FileSystem.from_uri(uri)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UsageError(f"expected a URI of s3, gs, hdfs or file: {_short(error)}", path=uri) from None
        except OSError as error:
            raise OutputError(f"cannot be reached: {_short(error)}", path=uri) from error
        self._root = root.rstrip("/")
        self._is_object_store = self._system.type_name in _OBJECT_STORES

    @property
    def where(self) -> str:
        """The URI without its options."""
        return self._uri

    def prepare(self) -> None:
        """As :class:`~binx.archive.store.Store` says; in object stores nothing half written can be seen."""
        if self._is_object_store:
            return
        with self._errors(self._uri):
            self._system.create_dir(f"{self._root}/{MANIFESTS}", recursive=True)
            for folder in ("", MANIFESTS):
                for name in self.names(folder):
                    if name.startswith(".binx-") and name.endswith(".tmp"):
                        self._system.delete_file(self._inside(f"{folder}/{name}" if folder else name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """As :class:`~binx.archive.store.Store` says, on this machine."""
        digest = hashlib.sha256(self._uri.encode()).hexdigest()[:16]
        lock = Path(tempfile.gettempdir()) / f"binx-archive-{os.getuid()}-{digest}.lock"
        with hold_lock(lock, self.where):
            yield

    def names(self, folder: str = "") -> list[str]:
        """As :class:`~binx.archive.store.Store` says."""
        from pyarrow import fs

        selector = fs.FileSelector(self._inside(folder) if folder else self._root, allow_not_found=True)
        try:
            found = self._system.get_file_info(selector)
        except OSError as error:
            raise SourceError(f"cannot be read: {_short(error)}", path=self._uri) from error
        return sorted(info.base_name for info in found if info.type == fs.FileType.File)

    def path(self, name: str) -> str:
        """As :class:`~binx.archive.store.Store` says."""
        return f"{self._uri}/{name}{self._query}"

    def open(self, name: str) -> Source:
        """As :class:`~binx.archive.store.Store` says."""
        return RemoteFile.open(self.path(name))

    @contextmanager
    def writing(self, name: str) -> Iterator[Sink]:
        """As :class:`~binx.archive.store.Store` says.

        Object stores show an object when all of it has been put; elsewhere it is renamed then.
        """
        target = self._inside(name)
        folder = target.rpartition("/")[0]
        written = target if self._is_object_store else f"{folder}/{_TEMPORARY.format(os.urandom(6).hex())}"
        where = self.path(name).partition("?")[0]
        with self._errors(where):
            # Without being told not to, Arrow compresses what is called .zst once more.
            stream = self._system.open_output_stream(written, compression=None)
        try:
            yield _RemoteSink(stream, where)
            with self._errors(where):
                stream.close()
                if written != target:
                    self._system.move(written, target)
        except BaseException:
            # A stream has no way to be given up: what it leaves is removed.
            with suppress(OSError):
                stream.close()
            with suppress(OSError):
                self._system.delete_file(written)
            raise

    def _inside(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _errors(self, where: str) -> Iterator[None]:
        with _output_errors(where):
            yield


class _RemoteSink:
    """Takes what is written, with errors that say where."""

    def __init__(self, stream: NativeFile, where: str) -> None:
        self._stream = stream
        self._where = where

    def write(self, data: Buffer, /) -> int:
        with _output_errors(self._where):
            self._stream.write(data)
        return memoryview(data).nbytes


@contextmanager
def _output_errors(where: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot be written: {_short(error)}", path=where) from error


def _short(error: Exception) -> str:
    """What Arrow says, without the places in its own source."""
    return (str(error).partition(" Detail:")[0].splitlines() or ["no reason is given"])[0]


__all__ = ["RemoteStore"]
