"""Logs one after another: where in the chain each stands, and what it must know of those before it.

Which columns a table has, and how many transactions there were before, follows from headers of events and
from statements; rows do not matter.
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
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection, Selector, required_level
from binx.rows.columns.schema import DEFAULT_CONTEXT, Provenance, StatementContext
from binx.rows.ddl.catalog import Catalog, Followed
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements
from binx.source.names import number_of
from binx.source.plain import STANDARD_INPUT_NAME
from binx.storage.store import MANIFESTS, Store

Definition = tuple[str, str, StatementContext]
"""A statement that defines tables: its text, its database, its session."""


class Place(NamedTuple):
    """Where in the chain a log stands.

    Attributes:
        tables: the tables known at its beginning, packed.
        epoch: logs before it that began with a server's start.
        seqno: the number of its first transaction.
        passed: selected transactions before it, where their number is limited.
    """

    tables: bytes
    epoch: int
    seqno: int
    passed: int


class Surveyed(NamedTuple):
    """What the logs behind one must know of it.

    Attributes:
        passed: how many of them are selected, where that is limited.
        definitions: its statements that define tables.
        error: why it cannot be read to its end; None where it can.
    """

    transactions: int
    passed: int
    definitions: tuple[Definition, ...]
    error: BinxError | None

    def place_behind(self, place: Place, file: BinlogFile) -> Place:
        """Where the next log stands."""
        tables = place.tables
        if self.definitions:
            catalog = unpacked(tables)
            for sql, db, context in self.definitions:
                catalog.apply(sql, db, context)
            tables = packed(catalog)
        return Place(
            tables,
            place.epoch + file.format.at_startup,
            place.seqno + self.transactions,
            place.passed + self.passed,
        )


class _Definitions(Catalog):
    """Collects the statements that a catalog is moved on by."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Definition] = []

    def follow(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> Followed:
        """Keep a statement."""
        self.found.append((statement, default_db, context))
        return Followed(None, [])


def survey(file: BinlogFile, selection: Selection, names: Sequence[str]) -> Surveyed:
    """Find out what the logs behind one must know of it."""
    counts = selection.limit is not None
    selector = Selector(selection._replace(limit=None), names, in_parts=True) if counts else None
    level = max(Level.LEVEL_EVENTS, required_level(selection)) if counts else Level.LEVEL_EVENTS
    definitions = _Definitions()
    count = passed = 0
    error: BinxError | None = None
    try:
        decoder = ChangeDecoder(file, definitions, lambda db, name: False)
        scan = file.transactions(level, verify=False)
        for table in scan:
            count += len(table)
            if selector is not None:
                passed += selector.mask(file, scan, table).count(1)
            follow_statements(decoder, table)
    except BinxError as found:
        error = found
    return Surveyed(count, passed, tuple(definitions.found), error)


def packed(catalog: Catalog) -> bytes:
    """A catalog as few bytes, which are sent with a plan."""
    return zlib.compress(pickle.dumps(catalog))


def unpacked(tables: bytes) -> Catalog:
    """The catalog that :func:`packed` was given; an empty one of no bytes."""
    if not tables:
        return Catalog()
    # The driver of the same job has made it.
    catalog: Catalog = pickle.loads(zlib.decompress(tables))
    return catalog


_SOURCE = re.compile(r"(?P<name>.+)\.[0-9a-f]{8}\.json")


class SourceReport(NamedTuple):
    """What became of one source.

    Attributes:
        kept: it had been committed before, by the same request; nothing was written.
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


def source_name(file: BinlogFile) -> str:
    """What a log is called in a data set."""
    return f"{escape_name(file.name)}.{file.identity}"


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
