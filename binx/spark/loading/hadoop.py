"""Folders on the file systems that Hadoop knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .outcome import LoadError, reason_of
from .storage import HIDDEN, LocalStorage, Storage, StoredFile, held_by, is_local, lock_owner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# There a rename is a copy and a deletion, before which what was there is deleted.
_OBJECT_STORES = frozenset({"s3", "s3a", "s3n", "gs", "oss", "cosn", "obs"})


def open_storage(root: str, spark: SparkSession) -> Storage:
    """The storage at a path of this machine, or at a URI that the session's Hadoop libraries know."""
    return LocalStorage(root) if is_local(root) else HadoopStorage(root, spark)


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
        scheme = self.root.partition(":")[0].lower()
        renames = self._configuration.get(f"fs.AbstractFileSystem.{scheme}.impl") is not None
        self._renames_over = renames and scheme not in _OBJECT_STORES

    def _path(self, path: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(self.target(path))

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
            if not status.getPath().getName().startswith(HIDDEN):
                path = str(root.relativize(status.getPath().toUri()).getPath())
                found.append(StoredFile(path, int(status.getLen()), int(status.getModificationTime())))
        return sorted(found, key=lambda file: file.path)

    def read(self, path: str) -> bytes:
        """See :meth:`Storage.read`."""
        if not self.exists(path):
            raise LoadError(f"{self.target(path)} cannot be read: no such file")
        stream = self._files.open(self._path(path))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def sha256(self, path: str) -> str:
        """See :meth:`Storage.sha256`; the Java side reads, so that a large file takes no memory here."""
        if not self.exists(path):
            raise LoadError(f"{self.target(path)} cannot be read: no such file")
        stream = self._files.open(self._path(path))
        try:
            return str(self._java.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream))
        finally:
            stream.close()

    def replace(self, path: str, content: bytes) -> None:
        """See :meth:`Storage.replace`; an object store replaces an object when the new one is closed.

        Raises:
            LoadError: it cannot be written.
        """
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        try:
            if self._renames_over:
                self._rename_over(path, content)
            else:
                self._write(self._path(path), content, overwrite=True)
        except Py4JJavaError as error:
            raise LoadError(f"{self.target(path)} cannot be written: {reason_of(error)}") from error

    def _rename_over(self, path: str, content: bytes) -> None:
        """Write a draft, and let it take the place of what is there."""
        draft, final = self._path(f"{path}.draft"), self._path(path)
        self._write(draft, content, overwrite=True)
        fs = self._java.org.apache.hadoop.fs
        options = self._gateway.new_array(fs.Options.Rename, 1)
        options[0] = fs.Options.Rename.OVERWRITE
        fs.FileContext.getFileContext(final.toUri(), self._configuration).rename(draft, final, options)

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

    def synchronize(self, paths: Iterable[str]) -> None:
        """See :meth:`Storage.synchronize`: what is closed here is stored."""

    def remove(self, path: str) -> None:
        """See :meth:`Storage.remove`."""
        self._files.delete(self._path(path), True)

    def link(self, path: str, destination: str) -> None:
        """See :meth:`Storage.link`: there are none here, and the state names the folder."""

    @contextmanager
    def lock(self, path: str, *, broken: bool) -> Iterator[None]:
        """See :meth:`Storage.lock`."""
        from py4j.protocol import Py4JJavaError

        if broken:
            self.remove(path)
        try:
            self._write(self._path(path), lock_owner(), overwrite=False)
        except Py4JJavaError as error:
            if not self.exists(path):
                raise LoadError(f"{self.root} cannot be written: {reason_of(error)}") from error
            advice = "Wait until it ends; if that process no longer exists, run again with --break-lock."
            raise held_by(self.root, self.read(path), advice) from error
        try:
            yield
        finally:
            self.remove(path)
