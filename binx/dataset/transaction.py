"""Commit a source's files to a data set: staged first, then moved into place, the manifest last.

A commit removes the source's old manifest, moves the files into place, and writes the new manifest last.
At any moment a manifest lists only complete files; a run killed in its commit leaves the source without one.

In a local folder, files are staged below ``_staging/`` and renamed. For other file systems, they are staged
in a local folder and uploaded; there, an object in ``_staging/`` marks a commit that has begun. Files that
other machines write are uploaded below ``_staging/attempts/`` and moved by the commit.
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
from binx.storage.output import synchronize
from binx.storage.output_errors import output_errors
from binx.storage.store import LocalStore, Store

if TYPE_CHECKING:
    from binx.rows.batches import TableChanges
    from binx.sql.dialect import SqlDialect

_NAME_BYTES = 16


class WrittenFile(NamedTuple):
    """One file of a data set."""

    path: str
    bytes: int
    sha256: str


class StagedFiles:
    """One source's files, staged until :meth:`commit`.

    Args:
        attempt: name of an attempt, for a process that does not commit the files. Several attempts may be
            written in parallel; the process that began the source commits one of them.

    Raises:
        OutputError: the staging folder cannot be created, or an attempt's source is not begun.
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
            # An existing folder is itself the mark.
            self._is_marked = folder.exists()
        elif attempt is None:
            self._is_marked = store.read(self._mark) is not None
        elif isinstance(store, LocalStore):
            self.folder = folder / attempt
        else:
            # Not in the source's own folder: the committing process may remove that during an attempt.
            self.folder = folder.with_name(f"{source}.{attempt}")
        if not isinstance(store, LocalStore):
            store.make_upload_folder()
        if attempt is None:
            shutil.rmtree(folder, ignore_errors=True)
        self._was_killed = self._is_marked
        with output_errors(self.folder):
            self.folder.mkdir(parents=attempt is None)
        self._inside = f"{self.folder}{os.sep}"
        self._shown_inside = f"{store.folder if isinstance(store, LocalStore) else self.folder}{os.sep}"

    def path(self, name: str) -> str:
        """Return the path to write a file to; all files are in one folder."""
        # A log may have thousands of files: joining strings is faster than pathlib.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_NAME_BYTES)
        return self._inside + digest.hexdigest()

    def shown(self, name: str) -> str:
        """Return the local path to show in error messages about a file."""
        return self._shown_inside + name

    def written(self, name: str, sha256: str) -> WrittenFile:
        """Return the manifest's facts about a file that was written.

        The commit syncs files to disk. An attempt's are synced here, as another machine may commit them.
        """
        path = self.path(name)
        if self._attempt is not None:
            synchronize([path])
        with output_errors(path):
            return WrittenFile(name, Path(path).stat().st_size, sha256)

    def put_records(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write small files to their final places before the commit; readers do not see them yet."""
        names = []
        for name, data in files:
            with output_errors(self.shown(name)):
                Path(self.path(name)).write_bytes(data)
            names.append(name)
        self._store.take((self.path(name), name) for name in names)

    def hand_in(self, files: Iterable[WrittenFile]) -> None:
        """Upload this attempt's files for the committing process; a local folder needs no upload."""
        if not isinstance(self._store, LocalStore):
            folder = f"{ATTEMPTS}/{self.source}/{self._attempt}"
            self._store.take((self.path(file.path), f"{folder}/{file.path}") for file in files)
            shutil.rmtree(self.folder, ignore_errors=True)

    def commit(
        self, manifest: dict[str, Any], files: Iterable[WrittenFile], attempt: str | None = None
    ) -> None:
        """Move the files into place and write the manifest.

        Args:
            attempt: the attempt that wrote the files; None for this transaction itself.

        Raises:
            OutputError: a file cannot be written; the source then has no manifest.
        """
        names = sorted({file.path for file in files})
        store, manifest_path = self._store, manifest_name(self.source)
        old = self.dataset.manifest(self.source)
        self._is_marked = True
        if not isinstance(store, LocalStore):
            store.put(self._mark, b"its commit has begun\n")
        if old is not None:
            store.remove(manifest_path)
        self._take(attempt, names)
        self._remove_stale(old, set(names))
        store.put(manifest_path, _json(manifest))
        self.committed = True
        self.dataset.clear_staged(self.source)
        self._is_marked = False

    def abandon(self) -> None:
        """Remove the staged files; unless a commit had begun, the data set is unchanged."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._attempt is None and self._is_marked and isinstance(self._store, LocalStore):
            # Tells the next run that there may be files that no manifest lists.
            with suppress(OSError):
                self.folder.mkdir()

    def _take(self, attempt: str | None, names: list[str]) -> None:
        """Move files into place, and remove other attempts' files."""
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
        """Remove this source's old files that the new manifest does not list."""
        stale = {entry["path"] for entry in old["files"]} if old is not None else set()
        if self._was_killed:
            for kind in ("changes", "transactions", "statements"):
                stale.update(self._find(kind))
        for name in sorted(stale - names):
            if not name.startswith("schemas/"):
                self._store.remove(name)

    def _find(self, kind: str) -> Iterator[str]:
        """Yield this source's files of a kind, listed in a manifest or not."""
        for name in self._store.find(kind):
            file_name = name.rpartition("/")[2]
            if file_name == f"{self.source}.parquet" or file_name.startswith(f"{self.source}-"):
                yield name


class SchemaRecord(NamedTuple):
    """The record of a table's schema version, as text.

    Attributes:
        path: relative to the data set, without suffix.
        valid_from: the first commit version it is valid for.
    """

    path: str
    valid_from: int
    text: str
    avro: str


def schema_path(db: str, table: str, version: str) -> str:
    """Return the path of a schema version's records, relative to the data set, without suffix."""
    return f"schemas/{escape_name(db)}/{escape_name(table)}/{version}"


def schema_record_of(changes: TableChanges, dialect: SqlDialect) -> SchemaRecord:
    """Return the schema record of a table."""
    # Imported here, as not all that use transactions decode rows.
    from binx.sql.create_table import statement_of_rows

    path = schema_path(changes.db, changes.name, changes.version)
    made = statement_of_rows(changes.resolved, dialect)
    return SchemaRecord(path, changes.valid_from, changes.schema_record(made), changes.avro_schema())


class Staged(NamedTuple):
    """A source that is written and not yet committed.

    Attributes:
        schemas: the schema records of its tables.
        tables: path and bytes of the records of tables known at its beginning and at its end.
    """

    manifest: dict[str, Any]
    files: Sequence[WrittenFile]
    schemas: Sequence[SchemaRecord]
    tables: Sequence[tuple[str, bytes]] = ()


def commit_staged(transaction: StagedFiles, staged: Staged, attempt: str | None = None) -> None:
    """Commit a written source.

    Raises:
        OutputError: a file cannot be written.
    """
    store = transaction.dataset.store
    records = list(_records_to_write(store, staged))
    try:
        transaction.put_records((name, data) for name, data, _ in records)
        transaction.commit(staged.manifest, staged.files, attempt)
    except BaseException:
        # Stop at the first error: if the store does not answer, each removal would wait for minutes.
        with suppress(OutputError):
            for name, _, is_new in records:
                if is_new and not transaction.committed:
                    store.remove(name)
        raise


def _records_to_write(store: Store, staged: Staged) -> Iterator[tuple[str, bytes, bool]]:
    """Yield names and bytes of records, and whether they are new; records valid from earlier are kept."""
    schemas, texts = [], []
    for record in staged.schemas:
        old = store.read(f"{record.path}.json")
        if record.valid_from < _valid_from(old):
            schemas.append((f"{record.path}.avsc", record.avro.encode("utf-8", "surrogatepass"), old is None))
            texts.append((f"{record.path}.json", record.text.encode("utf-8", "surrogatepass"), old is None))
    # Write schemas first: an existing record implies that its schema exists.
    yield from schemas + texts
    for name, data in dict(staged.tables).items():
        if store.read(name) is None:
            yield name, data, True


def _valid_from(record: bytes | None) -> float:
    """Return the first commit version a schema record is valid for; infinity without a readable record."""
    if record is None:
        return float("inf")
    try:
        document: dict[str, Any] = json.loads(record)
        return int(document["valid_from"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return float("inf")


def _json(document: dict[str, Any]) -> bytes:
    """Encode the document with one line per member and per list item, as lists may have thousands."""
    buffer = io.BytesIO()
    text = io.TextIOWrapper(buffer, "utf-8", "surrogatepass", newline="\n")
    encode = json.JSONEncoder(ensure_ascii=False).encode
    opening = "{\n"
    for name, value in document.items():
        text.write(f"{opening} {encode(name)}: ")
        opening = ",\n"
        if isinstance(value, list) and value:
            # Joining all lines would take as much memory again as the text.
            text.writelines(f"{',' if index else '['}\n  {encode(item)}" for index, item in enumerate(value))
            text.write("\n ]")
        else:
            text.write(encode(value))
    text.write("\n}\n")
    text.flush()
    return buffer.getvalue()
