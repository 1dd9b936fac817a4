"""What Spark's tasks do for ``to-parquet``: look through a log, and write one.

A task writes with the code that ``to-parquet`` has, aside, in a folder of its own, hands that in, and answers
with the manifest. Whatever else attempts have written, because they failed or ran twice, goes with what
stands aside.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from binx.errors import BinxError
from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet
from binx.export.parquet_files import ParquetOptions
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import ChainState, Staged
from binx.export.where_rows import RowFilter
from binx.export.where_tables import RowsSeen
from binx.export.workers import Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.index_use import IndexUse, attach_sidecars
from binx.log.scan import Resumption
from binx.log.selection import Selection, Selector, required_level
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements
from binx.rows.schema import DEFAULT_CONTEXT, Change, Provenance, StatementContext
from binx.source.age_keys import IDENTITY_VARIABLE
from binx.source.keyring import KEY_FILE_VARIABLE, KEYRING_VARIABLE, Keys, given_keys
from binx.spark.log_place import LogPlace
from binx.spark.source.slices import packed, unpacked

Definition = tuple[str, str, StatementContext]
"""A statement that defines tables: its text, its database, its session."""


@dataclass(frozen=True, slots=True)
class TaskLog:
    """A log to be opened by a task.

    Attributes:
        place: where it is.
        size: its bytes.
        resumption: of a relay log, where its first transaction begins; None for its beginning.
        keyrings: paths of keyring files; they must be the same everywhere.
        key_file: path of a file with a key.
        identities: paths of files of age identities.
    """

    place: LogPlace
    size: int
    resumption: Resumption | None
    keyrings: tuple[str, ...]
    key_file: str | None
    identities: tuple[str, ...]

    @classmethod
    def of(cls, file: BinlogFile) -> TaskLog:
        """What a task needs to open a log that is open here."""
        return cls(
            LogPlace.of(file),
            file.size,
            file.resumption,
            _paths_in(KEYRING_VARIABLE),
            os.environ.get(KEY_FILE_VARIABLE),
            _paths_in(IDENTITY_VARIABLE),
        )

    def keys(self) -> Keys | None:
        """The keys of encrypted logs, from files; None where none were given."""
        if not self.keyrings and self.key_file is None and not self.identities:
            return None
        return given_keys(self.keyrings, self.key_file, self.identities)


def _paths_in(variable: str) -> tuple[str, ...]:
    """The paths that a variable of the environment names."""
    return tuple(path for path in os.environ.get(variable, "").split(os.pathsep) if path)


@dataclass(frozen=True, slots=True)
class Found:
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


@dataclass(frozen=True, slots=True)
class Survey:
    """A log to be looked through.

    Attributes:
        log: the log.
        selection: which transactions are counted, where their number is limited.
        names: of all logs in order, where the selection has positions.
    """

    log: TaskLog
    selection: Selection | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
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


@dataclass(frozen=True, slots=True)
class Share:
    """What one task does: a log, and all that it must know of those before.

    Attributes:
        log: the log.
        output: the data set's folder, or its URI.
        options: how to write.
        selection: which transactions.
        names: of all logs in order, where the selection has positions.
        place: where it stands.
        is_doubtful: whether it may be damaged, so that what comes behind it is known only when it is written.
    """

    log: TaskLog
    output: str
    options: ParquetOptions
    selection: Selection
    names: tuple[str, ...]
    place: Place
    is_doubtful: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task has done.

    Attributes:
        attempt: the folder that it wrote to, in the source's staging.
        staged: what it wrote; None where it wrote nothing.
        kept: the manifest of before, where that is by the same request.
        error: why the log cannot be written; the same would come of trying again.
        found: the GTIDs asked for that are in the log.
        notes: how positions were understood.
        rows_seen: which tables a condition was asked of.
        behind: where the next log stands, if damage in this one may have changed that; else None.
    """

    attempt: str
    staged: Staged | None = None
    kept: dict[str, Any] | None = None
    error: BinxError | None = None
    found: GtidSet = field(default_factory=GtidSet)
    notes: tuple[str, ...] = ()
    rows_seen: RowsSeen = field(default_factory=RowsSeen)
    behind: Place | None = None


class _Definitions(Catalog):
    """Collects the statements that a catalog is moved on by."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Definition] = []

    def apply(
        self,
        statement: str,
        default_db: str,
        context: StatementContext = DEFAULT_CONTEXT,
        provenance: Provenance = Provenance.DDL,
    ) -> list[Change]:
        """Keep a statement."""
        self.found.append((statement, default_db, context))
        return []


def survey(surveys: Iterable[Survey]) -> Iterator[Found]:
    """What the logs behind each must know of it; runs in a task."""
    for one in surveys:
        definitions = _Definitions()
        count = passed = 0
        error: BinxError | None = None
        log = one.log
        selector = (
            None
            if one.selection is None
            else Selector(one.selection._replace(limit=None), one.names, in_parts=True)
        )
        level = Level.LEVEL_EVENTS
        if one.selection is not None:
            level = max(level, required_level(one.selection))
        try:
            with log.place.opened(log.keys(), log.size) as file:
                file.resumption = log.resumption
                attach_sidecars([file], IndexUse())
                decoder = ChangeDecoder(file, definitions, lambda db, name: False)
                scan = file.transactions(level, verify=False)
                for table in scan:
                    count += len(table)
                    if selector is not None:
                        passed += selector.mask(file, scan, table).count(1)
                    follow_statements(decoder, table)
        except BinxError as found:
            error = found
        yield Found(count, passed, tuple(definitions.found), error)


def write_share(shares: Iterable[Share]) -> Iterator[Answer]:
    """Write logs to where no other attempt writes; runs in a task.

    What is wrong with a log is an answer, so that it is not tried again; all else is left to Spark.
    """
    for share in shares:
        attempt = uuid4().hex
        try:
            with share.log.place.opened(share.log.keys(), share.log.size) as file:
                file.resumption = share.log.resumption
                yield _written(share, file, attempt)
        except BinxError as error:
            yield Answer(attempt, error=error)


def _written(share: Share, file: BinlogFile, attempt: str) -> Answer:
    dataset = DataSet(share.output)
    selector = Selector(share.selection, share.names, in_parts=True)
    selector.take_passed(share.place.passed)
    options = share.options
    catalog = unpacked(share.place.tables)
    rows = (
        None
        if options.where is None
        else RowFilter(options.where, unpacked(share.place.tables), selector.takes_table, in_parts=True)
    )
    state = ChainState(share.place.epoch, share.place.seqno, rows)
    with Workers(options.jobs or 1, options.decoder.memory // 2) as workers:
        export = SourceExport(ExportContext(dataset, selector, catalog, options, state, workers), file)
        try:
            if export.find_kept():
                was_damaged = bool(export.kept and export.kept["damage"])
                seeks = share.selection.gtids is not None or bool(share.names) or rows is not None
                if seeks or was_damaged or share.is_doubtful:
                    export.pass_over(lambda position: None)
                staged = None
            else:
                transaction = dataset.attempt(export.source, attempt)
                export.write(transaction, lambda position: None)
                staged = export.staged()
                staged = staged._replace(schemas=tuple(staged.schemas))
                transaction.hand_in(staged.files)
                was_damaged = bool(staged.manifest["damage"])
            behind = None
            if was_damaged or share.is_doubtful:
                behind = Place(packed(catalog), state.epoch, state.seqno, selector.passed)
            return Answer(
                attempt,
                staged,
                export.kept,
                found=selector.found,
                notes=tuple(selector.notes),
                rows_seen=RowsSeen() if rows is None else rows.seen,
                behind=behind,
            )
        except BaseException:
            export.abandon()
            raise
