"""Where the files of a source are written before they are committed to a data set.

A folder's own are below its ``_staging/``, from where they are renamed. Those for another file system are in
a folder of this machine, from where they are put; an object in ``_staging/`` there says that a commit has
begun.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from binx.export.output import output_errors
from binx.export.remote_store import RemoteStore
from binx.export.store import LocalStore, Store

STAGING = "_staging"


class Aside(Protocol):
    """What is written, and not committed yet, by source."""

    def folder(self, source: str) -> Path:
        """Where a source's files are written."""

    def begun(self) -> list[str] | None:
        """The sources that killed runs had begun; None where there is nothing of them."""

    def begin(self, source: str) -> bool:
        """Make a source's folder, empty; tells whether an earlier commit of it did not come to its end.

        Raises:
            OutputError: it cannot be made.
        """

    def mark(self, source: str) -> None:
        """Have it known, from now until :meth:`clear`, that a source's commit has begun.

        Raises:
            OutputError: that cannot be written.
        """

    def clear(self, source: str) -> None:
        """Remove all that there is of a source, as it is committed.

        Raises:
            OutputError: it cannot be removed.
        """

    def abandon(self, source: str) -> None:
        """Remove a source's files; that its commit had begun stays known."""

    def close(self) -> None:
        """Remove what is empty."""


class LocalAside:
    """Files below a data set's folder.

    Args:
        folder: the data set's.
    """

    def __init__(self, folder: Path) -> None:
        self._staging = folder / STAGING
        self._marked: set[str] = set()

    def folder(self, source: str) -> Path:
        """As :class:`Aside` says."""
        return self._staging / source

    def begun(self) -> list[str] | None:
        """As :class:`Aside` says."""
        if not self._staging.is_dir():
            return None
        with output_errors(self._staging):
            return sorted(entry.name for entry in self._staging.iterdir())

    def begin(self, source: str) -> bool:
        """As :class:`Aside` says."""
        folder = self.folder(source)
        if was_begun := folder.exists():
            self._marked.add(source)
        with output_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        return was_begun

    def mark(self, source: str) -> None:
        """As :class:`Aside` says: its folder is there, and says so."""
        self._marked.add(source)

    def clear(self, source: str) -> None:
        """As :class:`Aside` says."""
        with output_errors(self._staging):
            shutil.rmtree(self.folder(source))
        self._marked.discard(source)

    def abandon(self, source: str) -> None:
        """As :class:`Aside` says: its folder stays, where its commit had begun."""
        folder = self.folder(source)
        if source not in self._marked:
            shutil.rmtree(folder, ignore_errors=True)
            return
        with suppress(OSError):
            for entry in folder.iterdir():
                shutil.rmtree(entry, ignore_errors=True)

    def close(self) -> None:
        """As :class:`Aside` says."""
        _remove_empty(self._staging)


class RemoteAside:
    """Files on this machine, for a data set that is elsewhere.

    Args:
        store: the data set's.
    """

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        self._root = store.on_its_way

    def folder(self, source: str) -> Path:
        """As :class:`Aside` says."""
        return self._root / source

    def begun(self) -> list[str] | None:
        """As :class:`Aside` says; what is left on this machine of any source is removed."""
        shutil.rmtree(self._root, ignore_errors=True)
        return self._store.names(STAGING) or None

    def begin(self, source: str) -> bool:
        """As :class:`Aside` says."""
        was_begun = self._store.read(f"{STAGING}/{source}") is not None
        folder = self.folder(source)
        self._store.make_on_its_way()
        with output_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        return was_begun

    def mark(self, source: str) -> None:
        """As :class:`Aside` says."""
        self._store.put(f"{STAGING}/{source}", b"its commit has begun\n")

    def clear(self, source: str) -> None:
        """As :class:`Aside` says."""
        self.abandon(source)
        self._store.remove(f"{STAGING}/{source}")

    def abandon(self, source: str) -> None:
        """As :class:`Aside` says."""
        shutil.rmtree(self.folder(source), ignore_errors=True)

    def close(self) -> None:
        """As :class:`Aside` says."""
        _remove_empty(self._root)


def aside_of(store: Store) -> Aside:
    """Where the files of a data set's sources are written.

    Raises:
        TypeError: there is no such place for stores of that kind.
    """
    if isinstance(store, LocalStore):
        return LocalAside(store.folder)
    if isinstance(store, RemoteStore):
        return RemoteAside(store)
    raise TypeError(f"{type(store).__name__} has no place for files on their way to it")


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


__all__ = ["STAGING", "Aside", "aside_of"]
