"""One source's files on their way into a data set: staged, then moved to their places, the manifest last.

At the commit the source's old manifest goes, the files are moved to their places, and the new manifest is
written last. At any moment a manifest lists only whole files, and a run that was killed leaves none.

A folder's own are staged below its ``_staging/``, from where they are renamed. Those for another file system
are in a folder of this machine, from where they are put; an object in ``_staging/`` there says that a
commit has begun. What other machines write for it is put below ``_staging/attempts/`` there, and moved at
the commit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.dataset import ATTEMPTS, STAGING, DataSet, escape_name, manifest_name
from binx.errors import OutputError
from binx.storage.output import output_errors, synchronize
from binx.storage.store import LocalStore, Store

if TYPE_CHECKING:
    from binx.rows.batches import TableChanges

_NAME_BYTES = 16


class WrittenFile(NamedTuple):
    """One file of a data set."""

    path: str
    bytes: int
    sha256: str


class Transaction:
    """One source's files, staged until :meth:`commit`.

    Args:
        attempt: of a process that shall not commit the files. Several attempts may be written side by side;
            whoever began the source commits one of them.

    Raises:
        OutputError: the folder for them cannot be made; an attempt's source is not begun.
    """

    def __init__(self, dataset: DataSet, source: str, attempt: str | None = None) -> None:
        self.dataset = dataset
        self.source = source
        self.committed = False
        self._store = store = dataset.store
        self._attempt = attempt
        self._mark = f"{STAGING}/{source}"
        self.folder = folder = dataset.staging / source
        self._is_marked = False
        if attempt is None and isinstance(store, LocalStore):
            # A folder that is there says so by itself.
            self._is_marked = folder.exists()
        elif attempt is None:
            self._is_marked = store.read(self._mark) is not None
        elif isinstance(store, LocalStore):
            self.folder = folder / attempt
        else:
            # Beside the source's own folder, which whoever commits may remove while others write.
            self.folder = folder.with_name(f"{source}.{attempt}")
        if not isinstance(store, LocalStore):
            store.make_on_its_way()
        if attempt is None:
            shutil.rmtree(folder, ignore_errors=True)
        self._was_killed = self._is_marked
        with output_errors(self.folder):
            self.folder.mkdir(parents=attempt is None)
        self._inside = f"{self.folder}{os.sep}"
        self._shown_inside = f"{store.folder if isinstance(store, LocalStore) else self.folder}{os.sep}"

    def path(self, name: str) -> str:
        """Where to write a file: all are in one folder, whatever folders their names have."""
        # A log has thousands of files: paths are put together as texts.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES)
        return self._inside + digest.hexdigest()

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
            return WrittenFile(name, Path(path).stat().st_size, sha256)

    def place(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small files to their places before the commit, where no reader looks."""
        names = []
        for name, data in files:
            with output_errors(self.shown(name)):
                Path(self.path(name)).write_bytes(data)
            names.append(name)
        self._store.take((self.path(name), name) for name in names)

    def hand_in(self, files: Iterable[WrittenFile]) -> None:
        """Leave what this attempt wrote to whoever commits it; the folder of a local one all see."""
        if not isinstance(self._store, LocalStore):
            handed = f"{ATTEMPTS}/{self.source}/{self._attempt}"
            self._store.take((self.path(file.path), f"{handed}/{file.path}") for file in files)
            shutil.rmtree(self.folder, ignore_errors=True)

    def commit(
        self, manifest: dict[str, Any], files: Iterable[WrittenFile], attempt: str | None = None
    ) -> None:
        """Move the files to their places and write the manifest.

        Args:
            attempt: whose files these are; None for those that were written here.

        Raises:
            OutputError: something cannot be written; the source then has no manifest.
        """
        names = sorted({file.path for file in files})
        store, own = self._store, manifest_name(self.source)
        old = self.dataset.manifest(self.source)
        self._is_marked = True
        if not isinstance(store, LocalStore):
            store.put(self._mark, b"its commit has begun\n")
        if old is not None:
            store.remove(own)
        self._take(attempt, names)
        self._remove_stale(old, set(names))
        store.put(own, _json(manifest))
        self.committed = True
        self.dataset.clear_staged(self.source)
        self._is_marked = False
        self.dataset.close_staging()

    def abandon(self) -> None:
        """Remove what was written; the data set is as before, where no commit had begun."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._attempt is None:
            if self._is_marked and isinstance(self._store, LocalStore):
                # The next run must know that there may be files that no manifest lists.
                with suppress(OSError):
                    self.folder.mkdir()
            self.dataset.close_staging()

    def _take(self, attempt: str | None, names: list[str]) -> None:
        """Move files to their places; what else attempts handed in goes."""
        store = self._store
        if attempt is None:
            store.take((self.path(name), name) for name in names)
        elif isinstance(store, LocalStore):
            inside = f"{self.folder / attempt}{os.sep}"
            store.take((inside + self.path(name).removeprefix(self._inside), name) for name in names)
        else:
            for name in names:
                store.move(f"{ATTEMPTS}/{self.source}/{attempt}/{name}", name)
            for name in store.find(f"{ATTEMPTS}/{self.source}"):
                store.remove(name)

    def _remove_stale(self, old: dict[str, Any] | None, names: set[str]) -> None:
        """Remove this source's files of before that the new manifest does not list."""
        stale = {entry["path"] for entry in old["files"]} if old is not None else set()
        if self._was_killed:
            for kind in ("changes", "transactions", "statements"):
                stale.update(self._find(kind))
        for name in sorted(stale - names):
            if not name.startswith("schemas/"):
                self._store.remove(name)

    def _find(self, kind: str) -> Iterator[str]:
        """This source's files of a kind, listed or not."""
        for name in self._store.find(kind):
            own = name.rpartition("/")[2]
            if own == f"{self.source}.parquet" or own.startswith(f"{self.source}-"):
                yield name


class SchemaRecord(NamedTuple):
    """The record of a table's schema version, as text.

    Attributes:
        path: below the data set's folder, without its suffix.
        valid_from: the commit version that it is valid from.
    """

    path: str
    valid_from: int
    text: str
    avro: str


def schema_path(db: str, table: str, version: str) -> str:
    """Where a schema version's records are below the data set's folder, without their suffixes."""
    return f"schemas/{escape_name(db)}/{escape_name(table)}/{version}"


def schema_record_of(changes: TableChanges) -> SchemaRecord:
    """The schema record of a table."""
    path = schema_path(changes.db, changes.name, changes.version)
    return SchemaRecord(path, changes.valid_from, changes.schema_record(), changes.avro_schema())


class Staged(NamedTuple):
    """A source that is written, and not committed yet.

    Attributes:
        schemas: the records of its tables.
        tables: path and bytes of what is known at its end, for the log that comes next; None for nothing.
    """

    manifest: dict[str, Any]
    files: Sequence[WrittenFile]
    schemas: Sequence[SchemaRecord]
    tables: tuple[str, bytes] | None = None


def commit_staged(transaction: Transaction, staged: Staged, attempt: str | None = None) -> None:
    """Commit a source that is written.

    Raises:
        OutputError: something cannot be written.
    """
    store = transaction.dataset.store
    records = list(_records_to_write(store, staged))
    try:
        transaction.place((name, data) for name, data, _ in records)
        transaction.commit(staged.manifest, staged.files, attempt)
    except BaseException:
        # A store that does not answer would let each removal wait for minutes.
        with suppress(OutputError):
            for name, _, is_new in records:
                if is_new and not transaction.committed:
                    store.remove(name)
        raise


def _records_to_write(store: Store, staged: Staged) -> Iterator[tuple[str, bytes, bool]]:
    """Names and bytes of records, and whether none is there; of a version one stays that began earlier."""
    schemas, texts = [], []
    for one in staged.schemas:
        there = store.read(f"{one.path}.json")
        if one.valid_from < _valid_from(there):
            schemas.append((f"{one.path}.avsc", one.avro.encode("utf-8", "surrogatepass"), there is None))
            texts.append((f"{one.path}.json", one.text.encode("utf-8", "surrogatepass"), there is None))
    # A record that is there tells that the schema is.
    yield from schemas + texts
    if staged.tables is not None and store.read(staged.tables[0]) is None:
        yield (*staged.tables, True)


def _valid_from(record: bytes | None) -> float:
    """The commit version that a schema record is valid from; infinite where there is none."""
    if record is None:
        return float("inf")
    try:
        found: dict[str, Any] = json.loads(record)
        return int(found["valid_from"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return float("inf")


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
