"""Where the files of a source are written before they are committed to a data set.

A folder's own are below its ``_staging/``, from where they are renamed. Those for another file system are in
a folder of this machine, from where they are put; an object in ``_staging/`` there says that a commit has
begun. What other machines write for it is put below ``_staging/attempts/`` there, and moved at the commit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from binx.storage.output import output_errors
from binx.storage.store import LocalStore, Store

if TYPE_CHECKING:
    from binx.storage.remote_store import RemoteStore

STAGING = "_staging"
_ATTEMPTS = f"{STAGING}/attempts"
_NAME_BYTES = 16


def staged_name(name: str) -> str:
    """What a file is called while it is staged: all are in one folder, whatever folders their names have."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES).hexdigest()


class LocalStagingArea:
    """Files below a data set's folder, by source: what is written, and not committed yet.

    What cannot be made, moved, written or removed raises OutputError.
    """

    def __init__(self, store: LocalStore) -> None:
        self._store = store
        self._staging = store.folder / STAGING
        self._marked: set[str] = set()

    def folder(self, source: str) -> Path:
        """Where a source's files are written."""
        return self._staging / source

    def is_empty(self) -> bool:
        """Whether no run is at work in the data set, and none was killed that left anything in it."""
        return not self._staging.is_dir()

    def begun(self) -> list[str] | None:
        """The sources that killed runs had begun; None where there is nothing of them."""
        if self.is_empty():
            return None
        with output_errors(self._staging):
            return sorted(entry.name for entry in self._staging.iterdir())

    def begin(self, source: str) -> bool:
        """Make a source's folder, empty; tells whether an earlier commit of it did not come to its end."""
        folder = self.folder(source)
        if was_begun := folder.exists():
            self._marked.add(source)
        with output_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return was_begun

    def attempt(self, source: str, name: str) -> Path:
        """Make a folder for an attempt at a source, which another process has begun and will commit."""
        folder = self.folder(source) / name
        with output_errors(folder):
            folder.mkdir()
        return folder

    def hand_in(self, source: str, attempt: str, files: Iterable[str]) -> None:
        """Leave files of an attempt to the process that will commit it: all see the folder."""

    def mark(self, source: str) -> None:
        """Have it known, until :meth:`clear`, that a source's commit has begun: its folder says so."""
        self._marked.add(source)

    def take(self, source: str, attempt: str | None, files: Iterable[str]) -> None:
        """Move files, by their names, to their places in the data set."""
        folder = self.folder(source) / (attempt or "")
        self._store.take(_staged_files(folder, files))

    def clear(self, source: str) -> None:
        """Remove all that there is of a source, as it is committed."""
        with output_errors(self._staging):
            shutil.rmtree(self.folder(source))
        self._marked.discard(source)

    def abandon(self, source: str) -> None:
        """Remove a source's files; its folder stays, where its commit had begun."""
        folder = self.folder(source)
        if source not in self._marked:
            shutil.rmtree(folder, ignore_errors=True)
            return
        with suppress(OSError):
            for entry in folder.iterdir():
                shutil.rmtree(entry, ignore_errors=True)

    def close(self) -> None:
        """Remove what is empty."""
        _remove_empty(self._staging)


class RemoteStagingArea:
    """The same on this machine, for a data set that is elsewhere."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        self._root = store.on_its_way

    def folder(self, source: str) -> Path:
        return self._root / source

    def is_empty(self) -> bool:
        """What is left on this machine is not looked at."""
        return not self._store.find(STAGING)

    def begun(self) -> list[str] | None:
        """What any source or attempt left on this machine is removed."""
        shutil.rmtree(self._root, ignore_errors=True)
        found = []
        for name in self._store.find(STAGING):
            if name.startswith(f"{_ATTEMPTS}/"):
                self._store.remove(name)
            else:
                found.append(name.removeprefix(f"{STAGING}/"))
        return found or None

    def begin(self, source: str) -> bool:
        was_begun = self._store.read(f"{STAGING}/{source}") is not None
        folder = self.folder(source)
        self._store.make_on_its_way()
        with output_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        return was_begun

    def attempt(self, source: str, name: str) -> Path:
        folder = self._written_to(source, name)
        self._store.make_on_its_way()
        with output_errors(folder):
            folder.mkdir()
        return folder

    def hand_in(self, source: str, attempt: str, files: Iterable[str]) -> None:
        folder = self._written_to(source, attempt)
        self._store.take(
            (path, _handed_in(source, attempt, name)) for path, name in _staged_files(folder, files)
        )
        shutil.rmtree(folder, ignore_errors=True)

    def mark(self, source: str) -> None:
        self._store.put(f"{STAGING}/{source}", b"its commit has begun\n")

    def take(self, source: str, attempt: str | None, files: Iterable[str]) -> None:
        if attempt is None:
            folder = self.folder(source)
            self._store.take(_staged_files(folder, files))
            return
        for name in files:
            self._store.move(_handed_in(source, attempt, name), name)
        for name in self._store.find(f"{_ATTEMPTS}/{source}"):
            self._store.remove(name)

    def clear(self, source: str) -> None:
        self.abandon(source)
        self._store.remove(f"{STAGING}/{source}")

    def abandon(self, source: str) -> None:
        shutil.rmtree(self.folder(source), ignore_errors=True)

    def close(self) -> None:
        _remove_empty(self._root)

    def _written_to(self, source: str, attempt: str) -> Path:
        # Beside the source's own folder, which whoever commits may remove while others write.
        return self._root / f"{source}.{attempt}"


def staging_area_of(store: Store) -> LocalStagingArea | RemoteStagingArea:
    """Where the files of a data set's sources are written."""
    if isinstance(store, LocalStore):
        return LocalStagingArea(store)
    from binx.storage.remote_store import RemoteStore

    assert isinstance(store, RemoteStore)
    return RemoteStagingArea(store)


def _staged_files(folder: Path, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Where staged files are, and their names."""
    inside = f"{folder}{os.sep}"
    return ((inside + staged_name(name), name) for name in files)


def _handed_in(source: str, attempt: str, name: str) -> str:
    return f"{_ATTEMPTS}/{source}/{attempt}/{name}"


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
