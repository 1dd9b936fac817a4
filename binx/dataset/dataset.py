"""A data set in its store: folder names, manifests, locking, and cleanup after killed runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from binx.dataset.manifest import CONTRACT
from binx.errors import AbsentError, OutputError, RefusedError, SourceError
from binx.source.wording import listed
from binx.storage.locking import LockedError
from binx.storage.output_errors import output_errors
from binx.storage.store import LOCK, MANIFESTS, LocalStore, open_store

STAGING = "_staging"
ATTEMPTS = f"{STAGING}/attempts"

_PARTS = frozenset(
    {STAGING, MANIFESTS, LOCK, "changes", "transactions", "statements", "schemas", "views.sql"}
    | {"views.spark.sql", "lost+found"}
)
_SHOWN = 3
"""Names shown in a message."""

_NAME_BYTES = 200
"""Longest folder name for a table, in bytes; file systems allow 255."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*").fullmatch

_PLAIN_PUNCTUATION = frozenset("_-.$@+,")


def escape_name(name: str) -> str:
    """Return a folder name for a database or table, percent-escaped where a file system or Spark requires it.

    Letters and digits of any script are kept. ``_`` and ``.`` are escaped at the beginning, where Spark takes
    them for hidden files. All other characters except ``-$@+,`` are escaped as their UTF-8 bytes.
    """
    if _PLAIN_NAME(name) is not None and len(name) <= _NAME_BYTES:
        return name
    parts = []
    for index, character in enumerate(name):
        plain = character.isalnum() or (
            character in _PLAIN_PUNCTUATION and not (index == 0 and character in "_.")
        )
        encoded = character.encode("utf-8", "surrogatepass")
        parts.append(character if plain else "".join(f"%{byte:02X}" for byte in encoded))
    escaped = "".join(parts) or "%"
    if len(escaped.encode("utf-8", "surrogatepass")) > _NAME_BYTES:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        escaped = escaped[: _NAME_BYTES // 4] + "%" + digest
    return escaped


class DataSet:
    """A data set.

    Raises:
        UsageError: the file system of the URI is not supported.
        OutputError: the folder cannot be made.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.store = open_store(os.fspath(folder))
        self.store.prepare()
        self.staging = (
            self.store.folder / STAGING if isinstance(self.store, LocalStore) else self.store.upload_folder
        )
        """Where files are written before they are committed."""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the data set for one writer. The lock is released when the process ends, even if it is killed.

        Raises:
            OutputError: another process is writing to it.
            RefusedError: it is a folder of other things.
        """
        self._check_folder()
        with self.store.locked():
            try:
                self._clear_away()
                yield
            finally:
                # It is left if a commit of a source had begun.
                with suppress(OSError):
                    self.staging.rmdir()

    def _check_folder(self) -> None:
        """Refuse a folder that has no manifest, and what is no part of a data set."""
        if self.store.names(MANIFESTS):
            return
        is_local = isinstance(self.store, LocalStore)
        with output_errors(self.store.where):
            names = os.listdir(self.store.where) if is_local else self.store.names()
        others = sorted(name for name in names if name not in _PARTS and not name.startswith("."))
        if others:
            raise RefusedError(
                f"is no data set, and not empty: it has {listed(others, _SHOWN)}; choose a folder of its own",
                path=self.store.where,
            )

    def tidy(self) -> None:
        """Remove what a killed run left. If a writer holds the lock, do nothing: it cleans up itself.

        Raises:
            OutputError: it cannot be removed.
        """
        is_local = isinstance(self.store, LocalStore)
        if self.staging.is_dir() if is_local else self.store.find(STAGING):
            with suppress(LockedError), self.locked():
                pass

    def clear_staged(self, source: str) -> None:
        """Remove a committed source's staged files."""
        with output_errors(self.staging):
            shutil.rmtree(self.staging / source, ignore_errors=not isinstance(self.store, LocalStore))
        if not isinstance(self.store, LocalStore):
            self.store.remove(f"{STAGING}/{source}")

    def _clear_away(self) -> None:
        """Remove what a killed run left; files it moved are removed by the source's next transaction."""
        begun = self._begun()
        if not begun:
            return
        records = {name.rpartition("/")[0] for name in self.store.find("schemas")}
        self.store.prepare(sorted({MANIFESTS, *records}))
        committed = set(self.store.names(MANIFESTS))
        for source in begun:
            if f"{source}.json" in committed:
                self.clear_staged(source)

    def _begun(self) -> list[str]:
        """Return the sources that killed runs had begun."""
        if isinstance(self.store, LocalStore):
            with output_errors(self.staging):
                return sorted(os.listdir(self.staging)) if self.staging.is_dir() else []
        shutil.rmtree(self.staging, ignore_errors=True)
        sources = []
        for name in self.store.find(STAGING):
            if name.startswith(f"{ATTEMPTS}/"):
                self.store.remove(name)
            else:
                sources.append(name.removeprefix(f"{STAGING}/"))
        return sources

    def manifest(self, source: str) -> dict[str, Any] | None:
        """Return a source's manifest, or None.

        Raises:
            OutputError: the manifest cannot be read.
            UnsupportedError: a newer version of binx wrote it.
        """
        name = manifest_name(source)
        try:
            text = self.store.read(name)
            if text is None:
                return None
            document = json.loads(text)
            _check_members(document, {"contract": int}, "it")
            manifest = CONTRACT.migrated(document, self.store.path(name).partition("?")[0])
            _check_manifest(manifest)
        except SourceError as error:
            raise OutputError(f"the manifest {error.message}", path=error.path) from error
        except (ValueError, RecursionError) as error:
            raise OutputError(
                f"the manifest cannot be read: {error}; delete it to export the log again",
                path=self.store.path(name).partition("?")[0],
            ) from error
        return manifest

    def manifests(self) -> Iterator[dict[str, Any]]:
        """Yield all manifests, ordered by source name."""
        for name in self.store.names(MANIFESTS):
            if name.endswith(".json"):
                manifest = self.manifest(name.removesuffix(".json"))
                if manifest is not None:
                    yield manifest

    def forget(self, log: str) -> list[str]:
        """Remove logs from the data set, by log name or source name; return the source names.

        Raises:
            AbsentError: no such log.
            RefusedError: the export of the server's next log continues from it.
            OutputError: a file cannot be removed.
        """
        manifests = [item for item in self.manifests() if log in (item["source"]["name"], _source_of(item))]
        if not manifests:
            raise AbsentError(f"the data set has no {log}")
        for manifest in manifests:
            next_log = (manifest.get("behind") or {"next": None})["next"]
            prefix = f"{escape_name(next_log or '')}."
            if next_log and not any(name.startswith(prefix) for name in self.store.names(MANIFESTS)):
                raise RefusedError(f"{log} is the last log, and the export of {next_log} continues from it")
        for manifest in manifests:
            # From here on, no reader uses its files.
            self.store.remove(manifest_name(_source_of(manifest)))
            for entry in manifest["files"]:
                if entry["kind"] != "schema":
                    self.store.remove(entry["path"])
        return [_source_of(manifest) for manifest in manifests]


_MEMBERS: dict[str, type] = {
    "source": dict, "request": dict, "gtid_set": str, "files": list,
    "damage": list, "losses": list, "warnings": list,
}  # fmt: skip
_OF_SOURCE: dict[str, type] = {"name": str, "identity": str, "sha256": str, "flavour": str}
_OF_FILE: dict[str, type] = {"path": str, "kind": str}


def _check_manifest(document: Any) -> None:
    """Raise ValueError if a document lacks members that other code reads from a manifest unchecked."""
    _check_members(document, _MEMBERS, "it")
    _check_members(document["source"], _OF_SOURCE, "its source")
    for entry in document["files"]:
        _check_members(entry, _OF_FILE, "a file")
        if entry["kind"] != "schema":
            _check_members(entry, {"rows": int}, "a file")


def _check_members(document: Any, members: Mapping[str, type], whose: str) -> None:
    for name, kind in members.items():
        if not isinstance(document, dict) or not isinstance(document.get(name), kind):
            raise ValueError(f"{whose} has no {name}")


def manifest_name(source: str) -> str:
    """Return the path of a source's manifest, relative to the data set."""
    return f"{MANIFESTS}/{source}.json"


def _source_of(manifest: dict[str, Any]) -> str:
    return f"{escape_name(manifest['source']['name'])}.{manifest['source']['identity']}"
