"""Where an export begins; sources that are decoded and wait for their commit; reports of them afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.continuation import TablesRecord, find_behind
from binx.dataset.dataset import Transaction, WrittenFile, escape_name
from binx.dataset.schema_records import SchemaRecord, SchemaWriter
from binx.errors import OutputError, RefusedError, SourceError
from binx.log.file import BinlogFile
from binx.source.names import number_of
from binx.source.plain import STANDARD_INPUT_NAME
from binx.storage.store import MANIFESTS, Store, open_store

if TYPE_CHECKING:
    from binx.rows.ddl.catalog import Catalog
    from binx.where.rows import RowFilter


_SOURCE = re.compile(r"(?P<name>.+)\.[0-9a-f]{8}\.json")


class SourceReport(NamedTuple):
    """What became of one source.

    Attributes:
        source: its name in the data set.
        path: its path as given.
        kept: it had been committed before, by the same request; nothing was written.
        manifest: the manifest that is committed.
    """

    source: str
    path: str
    kept: bool
    manifest: dict[str, Any]

    @property
    def rows(self) -> int:
        """Rows in the changes' files."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "changes")

    @property
    def transactions(self) -> int:
        """Transactions taken."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "transactions")


class Staged(NamedTuple):
    """A source that is written, and not committed yet.

    Attributes:
        manifest: its manifest.
        files: what is to be moved to its place.
        schemas: the records of its tables, to be taken once.
        tables: what is known at its end, for the log that comes next; None where nothing is.
    """

    manifest: dict[str, Any]
    files: tuple[WrittenFile, ...]
    schemas: Iterable[SchemaRecord]
    tables: TablesRecord | None = None


def commit_staged(transaction: Transaction, staged: Staged, attempt: str | None = None) -> None:
    """Commit a source that is written.

    Raises:
        OutputError: something cannot be written.
    """
    schemas = SchemaWriter(transaction)
    try:
        schemas.write(staged.schemas)
        if staged.tables is not None:
            schemas.write_tables(staged.tables)
        transaction.commit(staged.manifest, staged.files, attempt)
    except BaseException:
        if not transaction.committed:
            schemas.take_back()
        raise


def source_name(file: BinlogFile) -> str:
    """What a log is called in a data set."""
    return f"{escape_name(file.name)}.{file.identity}"


class ChainState:
    """Where in the chain of the sources given the next transaction stands.

    Attributes:
        epoch: logs so far that a server began at its start.
        seqno: number of the next transaction, from 1.
        row_filter: takes out transactions and row changes by what the rows hold; None for nothing.
    """

    def __init__(self, epoch: int = 0, seqno: int = 1, row_filter: RowFilter | None = None) -> None:
        self.epoch = epoch
        self.seqno = seqno
        self.row_filter = row_filter


class Beginning(NamedTuple):
    """What an export begins with."""

    catalog: Catalog | None
    state: ChainState
    behind: str | None = None


def find_beginning(folder: str, files: Sequence[BinlogFile], catalog: Catalog | None) -> Beginning:
    """Find where an export begins: with the given tables, or after the previous log if the data set has it.

    Raises:
        UsageError: the folder is a URI of an unknown file system.
        OutputError: the record of the previous log cannot be read.
        SourceError: the data set cannot be read.
    """
    behind = find_behind(open_store(folder), files[0]) if catalog is None and files else None
    if behind is None:
        return Beginning(catalog, ChainState())
    return Beginning(behind.catalog, ChainState(behind.epoch, behind.seqno), behind.log)


def check_log_numbers(files: Sequence[BinlogFile], store: Store) -> None:
    """See to it that the changes of all logs in a data set can be told apart and ordered.

    A log whose name has no number counts as number 0: that may be one alone.

    Raises:
        RefusedError: a log comes from standard input; or it has no number, and is not alone in the data set.
        OutputError: the data set cannot be read.
    """
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError(
            "a log from standard input has no name, and the data set orders changes by the number in it;"
            " save the log under its own name first"
        )
    try:
        there = [found for name in store.names(MANIFESTS) if (found := _SOURCE.fullmatch(name))]
    except SourceError as error:
        raise OutputError(error.message, path=error.path) from error
    given = {f"{source_name(file)}.json": file.name for file in files}
    names = given | {found[0]: found["name"] for found in there}
    unnumbered = next((name for name in names.values() if not number_of(name)), None)
    if unnumbered is not None and len(names) > 1:
        raise RefusedError(
            "expected a log's name to end in its number, such as mysql-bin.000042, by which the data set"
            f" orders the changes of several logs, found {unnumbered}; call it as its server did, or give it"
            " a data set of its own"
        )
