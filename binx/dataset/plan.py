"""What a log must know of those before it in its chain: one quick pass over their statements tells.

Which columns a table has, and how many transactions there were before, follows from headers of events and
from statements; rows do not matter.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from binx.errors import BinxError
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.selection.selection import Selection, Selector, required_level
from binx.rows.columns.schema import DEFAULT_CONTEXT, Provenance, StatementContext
from binx.rows.ddl.catalog import Catalog, Followed
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements

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
        transactions: how many it has.
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
        if selector is None and isinstance(scan, Scan):
            scan.pass_rows()
        for table in scan:
            count += len(table)
            if selector is not None:
                passed += selector.mask(file, scan, table).count(1)
            follow_statements(decoder, table)
        count += scan.left_out
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
