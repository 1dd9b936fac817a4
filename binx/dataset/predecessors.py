"""The place of each log in the chain, and what a log needs from the logs before it.

Table definitions and transaction numbers follow from event headers and statements; rows are not needed.
"""

from __future__ import annotations

import pickle
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from binx.dataset.dataset import escape_name
from binx.errors import BinxError, OutputError, RefusedError, SourceError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.log.selection.selection import Selection, Selector, required_level
from binx.rows.columns.schema import DEFAULT_CONTEXT, Provenance, StatementContext
from binx.rows.ddl.catalog import Catalog, Followed
from binx.rows.reading import Reading, no_table
from binx.source.log_names import number_of
from binx.source.plain import STANDARD_INPUT_NAME
from binx.source.wording import counted
from binx.storage.store import MANIFESTS, Store

Definition = tuple[str, str, StatementContext]
"""A statement that defines tables: text, default database, session context."""


class ChainPlace(NamedTuple):
    """The position of a log in the chain.

    Attributes:
        tables: the tables known at its beginning, from :func:`packed`.
        epoch: number of earlier logs that began with a server start.
        seqno: the number of its first transaction.
        passed: number of selected transactions before it, if the selection has a limit.
        is_given: whether tables were given for it.
    """

    tables: bytes
    epoch: int
    seqno: int
    passed: int
    is_given: bool = False


class Surveyed(NamedTuple):
    """What the logs after a log need from it.

    Attributes:
        passed: number of selected transactions, if the selection has a limit.
        definitions: its statements that define tables.
        error: why it cannot be read to its end, or None.
    """

    transactions: int
    passed: int
    definitions: tuple[Definition, ...]
    error: BinxError | None

    def place_after(self, place: ChainPlace, file: BinlogFile) -> ChainPlace:
        """Return the place of the next log."""
        tables = place.tables
        if self.definitions:
            catalog = unpacked(tables)
            for sql, db, context in self.definitions:
                catalog.apply(sql, db, context)
            tables = packed(catalog)
        return ChainPlace(
            tables,
            place.epoch + file.format.at_startup,
            place.seqno + self.transactions,
            place.passed + self.passed,
        )


class _Definitions(Catalog):
    """Collects the statements that would change a catalog."""

    def __init__(self) -> None:
        super().__init__()
        self.definitions: list[Definition] = []

    def follow(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> Followed:
        """Record a statement."""
        self.definitions.append((statement, default_db, context))
        return Followed(None, [])


def survey(file: BinlogFile, selection: Selection, names: Sequence[str]) -> Surveyed:
    """Scan a log for what the logs after it need."""
    counts = selection.limit is not None
    selector = Selector(selection._replace(limit=None), names, in_parts=True) if counts else None
    level = max(Level.LEVEL_EVENTS, required_level(selection)) if counts else Level.LEVEL_EVENTS
    definitions = _Definitions()
    count = passed = 0
    error: BinxError | None = None
    try:
        reading = Reading(definitions, no_table)
        scan = find_transactions(file, level, verify=False)
        for table in scan:
            count += len(table)
            if selector is not None:
                passed += selector.mask(file, scan, table).count(1)
            reading.follow(file, table)
    except BinxError as failure:
        error = failure
    return Surveyed(count, passed, tuple(definitions.definitions), error)


def packed(catalog: Catalog) -> bytes:
    """Pickle and compress a catalog, to send it with a plan."""
    return zlib.compress(pickle.dumps(catalog))


def unpacked(tables: bytes) -> Catalog:
    """Restore a catalog from :func:`packed`; empty bytes give an empty catalog."""
    if not tables:
        return Catalog()
    # Pickled by the driver of the same job.
    catalog: Catalog = pickle.loads(zlib.decompress(tables))
    return catalog


_SOURCE = re.compile(r"(?P<name>.+)\.[0-9a-f]{8}\.json")


class SourceReport(NamedTuple):
    """The result for one source.

    Attributes:
        source: its name in the data set.
        path: the log or backup as it was given.
        kept: the same request committed it earlier; nothing was written.
        manifest: its manifest, which docs/dataset.md describes.
    """

    source: str
    path: str
    kept: bool
    manifest: dict[str, Any]

    def __repr__(self) -> str:
        counts = f"{counted(self.transactions, 'transaction')}, {counted(self.rows, 'row')}"
        return f"<{type(self).__name__} {self.source}: {self.state}, {counts}>"

    @property
    def state(self) -> str:
        """``written`` or ``kept``."""
        return "kept" if self.kept else "written"

    @property
    def rows(self) -> int:
        """Number of rows in the files of row changes."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "changes")

    @property
    def transactions(self) -> int:
        """Number of exported transactions."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "transactions")

    @property
    def parquet_files(self) -> int:
        """Number of Parquet files."""
        return len(self.manifest["files"])

    @property
    def parquet_bytes(self) -> int:
        """Size of the Parquet files."""
        return sum(entry.get("bytes", 0) for entry in self.manifest["files"])

    @property
    def gtid_set(self) -> str:
        """GTIDs of the exported transactions."""
        return str(self.manifest["gtid_set"])

    @property
    def losses(self) -> list[str]:
        """What is missing from the output, in sentences."""
        return list(self.manifest["losses"])

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the output, in sentences."""
        return list(self.manifest["warnings"])


def source_name(file: BinlogFile) -> str:
    """Return the source name of a log in a data set."""
    return f"{escape_name(file.name)}.{file.identity}"


def check_log_numbers(files: Sequence[BinlogFile], store: Store) -> None:
    """Check that the logs' numbers identify and order the changes of all logs in a data set.

    A log whose name has no number counts as number 0 and must be the only log.

    Raises:
        RefusedError: a log comes from standard input, or has no number and is not the only log.
        OutputError: the data set cannot be read.
    """
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError(
            "a log from standard input has no name, and the data set orders changes by the number in it;"
            " save the log under its own name first"
        )
    try:
        existing = [match for name in store.names(MANIFESTS) if (match := _SOURCE.fullmatch(name))]
    except SourceError as error:
        raise OutputError(error.message, path=error.path) from error
    requested = {f"{source_name(file)}.json": file.name for file in files}
    names = requested | {match[0]: match["name"] for match in existing}
    unnumbered = next((name for name in names.values() if not number_of(name)), None)
    if unnumbered is not None and len(names) > 1:
        raise RefusedError(
            "expected a log's name to end in its number, such as mysql-bin.000042, by which the data set"
            f" orders the changes of several logs, found {unnumbered}; call it as its server did, or give it"
            " a data set of its own"
        )
