"""The data set on disk: where its files stand, and the commit of one source's part of it.

A source's files are written aside, below ``_staging/``; at the commit its old manifest goes, the files are
moved to their places, and the new manifest is written last. At any moment a manifest lists only whole
files, and a run that was killed leaves none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binx.errors import OutputError
from binx.export.output import open_output, output_error, remove_leftovers

MANIFESTS = "_manifest"
STAGING = "_staging"
LOCK = "_lock"

_NAME_BYTES = 200
"""Longest folder name made from a table's; file systems take 255 bytes."""

_PLAIN_PUNCTUATION = frozenset("_-.$@+,")


def escape_name(name: str) -> str:
    """A database's or table's name as a folder's, percent-escaped where a file system or Spark needs it.

    Letters and digits of any script stay. ``_`` and ``.`` are escaped at the beginning, where Spark takes
    them for hidden files; all other characters but ``-$@+,`` are, as the bytes of their UTF-8.
    """
    parts = []
    for place, character in enumerate(name):
        plain = character.isalnum() or (
            character in _PLAIN_PUNCTUATION and not (place == 0 and character in "_.")
        )
        encoded = character.encode("utf-8", "surrogatepass")
        parts.append(character if plain else "".join(f"%{byte:02X}" for byte in encoded))
    escaped = "".join(parts) or "%"
    if len(escaped.encode("utf-8", "surrogatepass")) > _NAME_BYTES:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        escaped = escaped[: _NAME_BYTES // 4] + "%" + digest
    return escaped


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of a data set.

    Attributes:
        path: below the data set's folder, with ``/``.
        bytes: its size.
        sha256: of its bytes, in hex.
    """

    path: str
    bytes: int
    sha256: str


class DataSet:
    """A data set's folder.

    Raises:
        OutputError: the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the data set for one writer; the lock goes with the process, however it ends.

        Raises:
            OutputError: another process is writing to it.
        """
        path = self.folder / LOCK
        with output_errors(path), path.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OutputError(
                    "another binx process is writing to this data set", path=str(self.folder)
                ) from None
            self._clear_away()
            yield

    def _clear_away(self) -> None:
        """Remove what a killed run left; what it has moved goes with its source's next transaction."""
        staging = self.folder / STAGING
        if not staging.is_dir():
            return
        with output_errors(self.folder):
            for folder in (self.folder / MANIFESTS, *self.folder.glob("schemas/*/*/")):
                remove_leftovers(folder)
            for begun in staging.iterdir():
                if self._manifest_path(begun.name).exists():
                    shutil.rmtree(begun)
            _remove_empty(staging)

    def manifest(self, source: str) -> dict[str, Any] | None:
        """A source's manifest, None where there is none.

        Raises:
            OutputError: it is there and cannot be read.
        """
        path = self._manifest_path(source)
        try:
            manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise OutputError(
                f"the manifest cannot be read: {error}; remove it to write anew", path=str(path)
            ) from error
        return manifest

    def manifests(self) -> Iterator[dict[str, Any]]:
        """All manifests, in the order of their sources' names."""
        for path in sorted((self.folder / MANIFESTS).glob("*.json")):
            manifest = self.manifest(path.name.removesuffix(".json"))
            if manifest is not None:
                yield manifest

    def begin(self, source: str) -> Transaction:
        """Begin to write a source's files."""
        return Transaction(self, source)

    def attempt(self, source: str, name: str) -> Transaction:
        """Begin to write a source's files in a process that shall not commit them.

        Several attempts may be written side by side; whoever began the source commits one of them.

        Args:
            source: a source that :meth:`begin` was called for.
            name: tells this attempt from all others.

        Raises:
            OutputError: the source is not begun, or is committed already.
        """
        return Transaction(self, source, name)

    def _manifest_path(self, source: str) -> Path:
        return self.folder / MANIFESTS / f"{source}.json"


class Transaction:
    """One source's files, written aside until :meth:`commit`.

    Attributes:
        committed: whether the manifest is written.
    """

    def __init__(self, dataset: DataSet, source: str, attempt: str | None = None) -> None:
        self.dataset = dataset
        self.source = source
        self.committed = False
        self._staging = dataset.folder / STAGING / source
        self._was_killed = self._staging.exists()
        with output_errors(self._staging):
            if attempt is None:
                shutil.rmtree(self._staging, ignore_errors=True)
                self._staging.mkdir(parents=True)
            else:
                self._staging /= attempt
                self._staging.mkdir()

    def path(self, name: str) -> Path:
        """Where to write a file; its folder is made."""
        path = self._staging / name
        with output_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def written(self, name: str) -> WrittenFile:
        """What to list in the manifest of a file that was written; its bytes are made durable."""
        path = self._staging / name
        with output_errors(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            return WrittenFile(name, os.fstat(file.fileno()).st_size, digest)

    def commit(
        self, manifest: dict[str, Any], files: Iterable[WrittenFile], attempt: str | None = None
    ) -> None:
        """Move the files to their places and write the manifest.

        Args:
            manifest: the document.
            files: what was written.
            attempt: the attempt that wrote them; None where this did itself.

        Raises:
            OutputError: something cannot be written; the source then has no manifest.
        """
        names = {file.path for file in files}
        folder, manifest_path = self.dataset.folder, self.dataset._manifest_path(self.source)
        old = self.dataset.manifest(self.source)
        written = self._staging if attempt is None else self._staging / attempt
        with output_errors(folder):
            if old is not None:
                manifest_path.unlink()
                _sync_folder(manifest_path.parent)
            for name in sorted(names):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (written / name).replace(target)
            for parent in {(folder / name).parent for name in names}:
                _sync_folder(parent)
            self._remove_stale(old, names)
            write_durably(manifest_path, _json(manifest))
            self.committed = True
            shutil.rmtree(self._staging)
            _remove_empty(folder / STAGING)

    def abandon(self) -> None:
        """Remove what was written; the data set is as before."""
        shutil.rmtree(self._staging, ignore_errors=True)
        _remove_empty(self.dataset.folder / STAGING)

    def _remove_stale(self, old: dict[str, Any] | None, names: set[str]) -> None:
        """Remove this source's files of before that the new manifest does not list."""
        folder = self.dataset.folder
        stale = {entry["path"] for entry in old["files"]} if old is not None else set()
        if self._was_killed:
            found = [
                *folder.glob(f"changes/*/*/{self.source}-*.parquet"),
                *folder.glob(f"*/{self.source}.parquet"),
            ]
            stale |= {path.relative_to(folder).as_posix() for path in found}
        for name in stale - names:
            if not name.startswith("schemas/"):
                (folder / name).unlink(missing_ok=True)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Say of an operating system's error what could not be written.

    Raises:
        OutputError: in its place.
    """
    try:
        yield
    except OSError as error:
        raise output_error(error, str(error.filename or path)) from error


def write_durably(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: aside, to the disk, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(str(path), binary=False) as stream:
        stream.write(data)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
