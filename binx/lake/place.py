"""A folder on this machine or at a URI; only the URI is pickled, so it works on the driver and in tasks."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import OutputError, SourceError
from binx.source.remote import is_uri, reach, shortened
from binx.storage.output import synchronize
from binx.storage.store import Store, open_store

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_ZSTD_LEVEL = 1
_TOGETHER = 32
_LOCKS = "_lock"


class ListedFile(NamedTuple):
    """A file in a folder listing; ``modified`` is in ns since 1970."""

    path: str
    bytes: int
    modified: int


class LakeStore:
    """A folder tree."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.removeprefix("file://")
        self.is_local = not is_uri(self.uri)
        self.uri = str(Path(self.uri).absolute()) if self.is_local else self.uri

    def __getstate__(self) -> str:
        return self.uri

    def __setstate__(self, uri: str) -> None:
        self.__init__(uri)  # type: ignore[misc]

    @cached_property
    def _reached(self) -> tuple[FileSystem, str]:
        if self.is_local:
            from pyarrow.fs import LocalFileSystem

            return LocalFileSystem(), self.uri
        system, root = reach(self.uri, OutputError)
        return system, root.rstrip("/")

    @cached_property
    def _store(self) -> Store:
        return open_store(self.uri)

    @property
    def filesystem(self) -> FileSystem:
        """The file system that has the files."""
        return self._reached[0]

    def inside(self, path: str) -> str:
        """Return a file's path within :attr:`filesystem`."""
        return f"{self._reached[1]}/{path}" if path else self._reached[1]

    def shown(self, path: str) -> str:
        """Return a file's name for readers and messages: a path, or a URI without its options."""
        return f"{self.uri.partition('?')[0].rstrip('/')}/{path}"

    def read(self, path: str) -> bytes | None:
        """Return a small file's content, None if it does not exist."""
        return self._store.read(path)

    def read_all(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        """Yield the contents of small files, many at a time."""
        with ThreadPoolExecutor(_TOGETHER) as pool:
            yield from pool.map(self.read, paths)

    def put(self, path: str, data: bytes) -> None:
        """Write a small file atomically, and durably on a local disk."""
        self._store.put(path, data)

    def parquet(self, path: str) -> pq.ParquetFile:
        """Open a Parquet file; its size is requested from the store only once."""
        return pq.ParquetFile(
            self.filesystem.open_input_file(self.inside(path)), pre_buffer=not self.is_local
        )

    @contextmanager
    def reading(self, path: str) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file; what fails while it is read is a :class:`SourceError` about it."""
        try:
            with self.parquet(path) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            message = str(error).splitlines()[0]
            raise SourceError(
                f"cannot be read ({message}): of a data set, export that log again with --force",
                path=self.shown(path),
            ) from error

    def table(self, path: str, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file."""
        with self.reading(path) as file:
            return file.read(columns, use_threads=False)

    def make_folder(self, path: str) -> None:
        """Create the folder of a file to be written; object stores need none."""
        if self.is_local:
            self.filesystem.create_dir(self.inside(path.rpartition("/")[0]), recursive=True)

    def writer(
        self, path: str, schema: pa.Schema, compression: str | dict[str, str] = "zstd", **settings: Any
    ) -> pq.ParquetWriter:
        """Open a Parquet file for writing."""
        self.make_folder(path)
        if compression == "zstd":
            settings.setdefault("compression_level", _ZSTD_LEVEL)
        return pq.ParquetWriter(
            self.inside(path), schema, filesystem=self.filesystem, compression=compression, **settings
        )

    def write(
        self, path: str, rows: pa.Table, compression: str | dict[str, str] = "zstd", **settings: Any
    ) -> int:
        """Write a Parquet file and return its size in bytes."""
        group_rows = settings.pop("row_group_size", None)
        with self.writer(path, rows.schema, compression, **settings) as writer:
            writer.write_table(rows, row_group_size=group_rows)
        return int(self.filesystem.get_file_info(self.inside(path)).size)

    def files(self, folder: str, *, recursive: bool = False) -> list[ListedFile]:
        """Return the files of a folder, sorted by path; empty if the folder does not exist."""
        from pyarrow import fs

        selector = fs.FileSelector(self.inside(folder), allow_not_found=True, recursive=recursive)
        try:
            infos = self.filesystem.get_file_info(selector)
        except OSError as error:
            raise SourceError(f"cannot be read: {shortened(error)}", path=self.shown(folder)) from error
        beginning = len(self.inside("")) + 1
        return sorted(
            ListedFile(info.path[beginning:], info.size, info.mtime_ns or 0)
            for info in infos
            if info.type == fs.FileType.File
        )

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; missing ones are ignored."""

        def remove(path: str) -> None:
            try:
                with suppress(FileNotFoundError):
                    self.filesystem.delete_file(self.inside(path))
            except OSError as error:
                raise OutputError(f"cannot be removed: {shortened(error)}", path=self.shown(path)) from error

        with ThreadPoolExecutor(_TOGETHER) as pool:
            for _ in pool.map(remove, paths):
                pass

    def synchronize(self, paths: Iterable[str]) -> None:
        """Flush files and their folders to disk, where closing a file does not do so."""
        if self.is_local:
            files = [self.inside(path) for path in paths]
            folders = {str(parent) for file in files for parent in Path(file).parents}
            inside = [folder for folder in folders if folder.startswith(self.uri)]
            synchronize([*files, *sorted(inside)])

    @contextmanager
    def locked(self, *, broken: bool) -> Iterator[None]:
        """Lock the place for one writer.

        A lock on a local file system ends with its process. Elsewhere each writer announces itself with a
        file and then lists all such files: of two concurrent writers at least one sees the other and gives
        up.

        Raises:
            OutputError: another writer has the lock, or the place is not writable.
        """
        if self.is_local:
            with self._store.locked():
                yield
            return
        own_lock = f"{_LOCKS}/{uuid4().hex}.json"
        owner = json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode()
        if broken:
            self.remove(file.path for file in self.files(_LOCKS))
        self.put(own_lock, owner)
        try:
            others = [file.path for file in self.files(_LOCKS) if file.path != own_lock]
            if others:
                holder = (self.read(others[0]) or b"unknown").decode("utf-8", "replace")
                raise OutputError(
                    f"another load is writing to it ({holder}): wait until it ends, or use --break-lock if it"
                    " runs no longer",
                    path=self.uri,
                )
            yield
        finally:
            with suppress(OutputError):
                self.remove([own_lock])
