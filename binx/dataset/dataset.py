"""The data set where it is kept: where its files stand, and the commit of one source's part of it.

A source's files are staged; at the commit its old manifest goes, the files are moved to their places,
and the new manifest is written last. At any moment a manifest lists only whole files, and a run that was
killed leaves none.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from binx.dataset.staging_area import staged_name, staging_area_of
from binx.errors import AbsentError, OutputError, RefusedError, SourceError
from binx.storage.output import output_errors, synchronize
from binx.storage.store import MANIFESTS, LocalStore, LockedError, open_store

_NAME_BYTES = 200
"""Longest folder name made from a table's; file systems take 255 bytes."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*").fullmatch

_PLAIN_PUNCTUATION = frozenset("_-.$@+,")


def escape_name(name: str) -> str:
    """A database's or table's name as a folder's, percent-escaped where a file system or Spark needs it.

    Letters and digits of any script stay. ``_`` and ``.`` are escaped at the beginning, where Spark takes
    them for hidden files; all other characters but ``-$@+,`` are, as the bytes of their UTF-8.
    """
    if _PLAIN_NAME(name) is not None and len(name) <= _NAME_BYTES:
        return name
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


class WrittenFile(NamedTuple):
    """One file of a data set."""

    path: str
    bytes: int
    sha256: str


class DataSet:
    """A data set.

    Raises:
        UsageError: a file system that is not known.
        OutputError: the folder cannot be made.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.store = open_store(os.fspath(place))
        self.store.prepare()
        self._staging = staging_area_of(self.store)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the data set for one writer; the lock goes with the process, however it ends.

        Raises:
            OutputError: another process is writing to it.
        """
        with self.store.locked():
            self._clear_away()
            yield

    def tidy(self) -> None:
        """Remove what a killed run left, as writers do; where one is at work, it does.

        Raises:
            OutputError: it cannot be removed.
        """
        if self._staging.is_empty():
            return
        with suppress(LockedError), self.locked():
            pass

    def _clear_away(self) -> None:
        """Remove what a killed run left; what it has moved goes with its source's next transaction."""
        begun = self._staging.begun()
        if begun is None:
            return
        records = {name.rpartition("/")[0] for name in self.store.find("schemas")}
        self.store.prepare(sorted({MANIFESTS, *records}))
        committed = set(self.store.names(MANIFESTS))
        for source in begun:
            if f"{source}.json" in committed:
                self._staging.clear(source)
        self._staging.close()

    def manifest(self, source: str) -> dict[str, Any] | None:
        """A source's manifest, None where there is none.

        Raises:
            OutputError: it is there and cannot be read.
        """
        name = manifest_name(source)
        try:
            text = self.store.read(name)
            if text is None:
                return None
            manifest: dict[str, Any] = json.loads(text)
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
        """All manifests, in the order of their sources' names."""
        for name in self.store.names(MANIFESTS):
            if name.endswith(".json"):
                manifest = self.manifest(name.removesuffix(".json"))
                if manifest is not None:
                    yield manifest

    def forget(self, log: str) -> list[str]:
        """Remove logs from the data set, by their name or that of a source; gives the sources' names.

        Raises:
            AbsentError: there is none.
            RefusedError: the next log of the server continues from it.
            OutputError: something cannot be removed.
        """
        found = [one for one in self.manifests() if log in (one["source"]["name"], _source_of(one))]
        if not found:
            raise AbsentError(f"the data set has no {log}")
        for manifest in found:
            behind = (manifest.get("behind") or {"next": None})["next"]
            next_one = f"{escape_name(behind or '')}."
            if behind and not any(one.startswith(next_one) for one in self.store.names(MANIFESTS)):
                raise RefusedError(f"{log} is the last log, and the export of {behind} continues from it")
        for manifest in found:
            # From here on no reader believes its files.
            self.store.remove(manifest_name(_source_of(manifest)))
            for entry in manifest["files"]:
                if entry["kind"] != "schema":
                    self.store.remove(entry["path"])
        return [_source_of(manifest) for manifest in found]

    def begin(self, source: str) -> Transaction:
        """Begin to write a source's files."""
        return Transaction(self, source)

    def attempt(self, source: str, name: str) -> Transaction:
        """Begin to write a source's files in a process that shall not commit them.

        Several attempts may be written side by side; whoever began the source commits one of them.

        Raises:
            OutputError: the source is not begun, or is committed already.
        """
        return Transaction(self, source, name)


_MEMBERS: dict[str, type] = {
    "contract": int, "source": dict, "request": dict, "gtid_set": str, "files": list,
    "damage": list, "losses": list, "warnings": list,
}  # fmt: skip
_OF_SOURCE: dict[str, type] = {"name": str, "identity": str, "sha256": str, "flavour": str}
_OF_FILE: dict[str, type] = {"path": str, "kind": str}


def _check_manifest(document: Any) -> None:
    """Raise ValueError where a document lacks what is taken from a manifest without another look."""
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


class Transaction:
    """One source's files, staged until :meth:`commit`."""

    def __init__(self, dataset: DataSet, source: str, attempt: str | None = None) -> None:
        self.dataset = dataset
        self.source = source
        self.committed = False
        self._staging = dataset._staging
        self._attempt = attempt
        self._was_killed = False
        if attempt is None:
            self._was_killed = self._staging.begin(source)
            self.folder = self._staging.folder(source)
        else:
            self.folder = self._staging.attempt(source, attempt)
        self._inside = f"{self.folder}{os.sep}"
        store = dataset.store
        self._shown_inside = f"{store.folder if isinstance(store, LocalStore) else self.folder}{os.sep}"

    def path(self, name: str) -> str:
        """Where to write a file."""
        # A log has thousands of files: paths are put together as texts.
        return self._inside + staged_name(name)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file."""
        with output_errors(self.shown(name)), open(self.path(name), "wb") as file:
            file.write(data)

    def place(self, names: Iterable[str]) -> None:
        """Move files to their places before the commit, which is of no effect on what readers see."""
        self._staging.take(self.source, None, names)

    def shown(self, name: str) -> str:
        """What messages about the writing of a file call it: a path on this machine."""
        return self._shown_inside + name

    def written(self, name: str, sha256: str) -> WrittenFile:
        """What to list in the manifest of a file that was written.

        The commit makes its bytes durable, those of an attempt are so at once: another machine may commit it.
        """
        path = self.path(name)
        if self._attempt is not None:
            synchronize([path])
        with output_errors(path):
            return WrittenFile(name, os.stat(path).st_size, sha256)

    def hand_in(self, files: Iterable[WrittenFile]) -> None:
        """Leave what this attempt wrote to whoever commits it.

        Raises:
            ValueError: this is no attempt.
        """
        if self._attempt is None:
            raise ValueError(f"{self.source} is committed by who began it")
        self._staging.hand_in(self.source, self._attempt, (file.path for file in files))

    def commit(
        self, manifest: dict[str, Any], files: Iterable[WrittenFile], attempt: str | None = None
    ) -> None:
        """Move the files to their places and write the manifest.

        Raises:
            OutputError: something cannot be written; the source then has no manifest.
        """
        names = sorted({file.path for file in files})
        store, own = self.dataset.store, manifest_name(self.source)
        old = self.dataset.manifest(self.source)
        self._staging.mark(self.source)
        if old is not None:
            store.remove(own)
        self._staging.take(self.source, attempt, names)
        self._remove_stale(old, set(names))
        store.put(own, _json(manifest))
        self.committed = True
        self._staging.clear(self.source)
        self._staging.close()

    def abandon(self) -> None:
        """Remove what was written; the data set is as before, where no commit had begun."""
        if self._attempt is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            self._staging.abandon(self.source)
            self._staging.close()

    def _remove_stale(self, old: dict[str, Any] | None, names: set[str]) -> None:
        """Remove this source's files of before that the new manifest does not list."""
        stale = {entry["path"] for entry in old["files"]} if old is not None else set()
        if self._was_killed:
            found = [name for kind in ("changes", "transactions", "statements") for name in self._find(kind)]
            stale.update(found)
        for name in sorted(stale - names):
            if not name.startswith("schemas/"):
                self.dataset.store.remove(name)

    def _find(self, kind: str) -> Iterator[str]:
        """This source's files of a kind, listed or not."""
        for name in self.dataset.store.find(kind):
            own = name.rpartition("/")[2]
            if own == f"{self.source}.parquet" or own.startswith(f"{self.source}-"):
                yield name


def manifest_name(source: str) -> str:
    """The name of a source's manifest below the data set's place."""
    return f"{MANIFESTS}/{source}.json"


def _source_of(manifest: dict[str, Any]) -> str:
    return f"{escape_name(manifest['source']['name'])}.{manifest['source']['identity']}"


def _json(document: dict[str, Any]) -> bytes:
    """The document, a member a line, and of lists an item a line: there are thousands of them."""
    buffer = io.BytesIO()
    text = io.TextIOWrapper(buffer, "utf-8", "surrogatepass", newline="\n")
    encode = json.JSONEncoder(ensure_ascii=False).encode
    opening = "{\n"
    for name, value in document.items():
        text.write(f"{opening} {encode(name)}: ")
        opening = ",\n"
        if isinstance(value, list) and value:
            # The lines of all at once would take as much as the text does.
            text.writelines(f"{',' if place else '['}\n  {encode(item)}" for place, item in enumerate(value))
            text.write("\n ]")
        else:
            text.write(encode(value))
    text.write("\n}\n")
    text.flush()
    return buffer.getvalue()
