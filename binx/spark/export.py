"""``to-parquet --engine spark``: the same data set, decoded by Spark's executors.

A task writes one log with the code that ``to-parquet`` has, into ``_staging/<source>/<attempt>``, and answers
with its manifest. The driver takes one answer a log, moves the files that it lists, and writes the manifest
last. Whatever else attempts have written, because they failed or ran twice, goes with the staging folder.

What a task must know of the logs before its own (tables that statements defined, the number of transactions)
comes from a pass of tasks before, over headers of events and statements alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from binx.errors import BinxError, RefusedError
from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet
from binx.export.parquet_files import ParquetOptions
from binx.export.source_export import SourceExport
from binx.export.staging import ChainState, SourceReport, Staged, commit_staged, source_name
from binx.export.where_rows import RowFilter, RowsSeen
from binx.export.workers import Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.index_use import IndexUse, attach_sidecars
from binx.log.on_damage import OnDamage
from binx.log.scan import Resumption
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.schema import DEFAULT_CONTEXT, Change, Provenance, StatementContext
from binx.source.keyring import KEY_FILE_VARIABLE, KEYRING_VARIABLE, Keys, given_keys
from binx.source.remote import is_uri
from binx.source.spooled import STANDARD_INPUT_NAME
from binx.spark.executors import check_executors
from binx.spark.log_place import LogPlace
from binx.spark.source.slices import packed, unpacked

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ERROR = re.compile(r"[\w.]*(Error|Exception|Exit|Interrupt)\b: ")
_LOGS_A_SLOT = 4
"""Logs of one job for each task that can run at once: what is staged before anything is committed."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

Definition = tuple[str, str, StatementContext]
"""A statement that defines tables: its text, its database, its session."""


@dataclass(frozen=True, slots=True)
class _Log:
    """A log to be opened by a task.

    Attributes:
        place: where it is.
        size: its bytes.
        resumption: of a relay log, where its first transaction begins; None for its beginning.
        keyrings: paths of keyring files; they must be the same everywhere.
        key_file: path of a file with a key.
    """

    place: LogPlace
    size: int
    resumption: Resumption | None
    keyrings: tuple[str, ...]
    key_file: str | None

    @classmethod
    def of(cls, file: BinlogFile) -> _Log:
        keyrings = [path for path in os.environ.get(KEYRING_VARIABLE, "").split(os.pathsep) if path]
        return cls(
            LogPlace.of(file),
            file.size,
            file.resumption,
            tuple(keyrings),
            os.environ.get(KEY_FILE_VARIABLE),
        )

    def keys(self) -> Keys | None:
        if not self.keyrings and self.key_file is None:
            return None
        return given_keys(self.keyrings, self.key_file)


@dataclass(frozen=True, slots=True)
class _Survey:
    """What the logs behind one must know of it.

    Attributes:
        transactions: how many it has.
        definitions: its statements that define tables.
        error: why it cannot be read to its end; None where it can.
    """

    transactions: int
    definitions: tuple[Definition, ...]
    error: BinxError | None


@dataclass(frozen=True, slots=True)
class Share:
    """What one task does: a log, and all that it must know of those before.

    Attributes:
        log: the log.
        folder: the data set's.
        options: how to write.
        selection: which transactions.
        names: of all logs in order, where the selection has positions.
        tables: the tables known at its beginning, packed.
        epoch: logs before it that began with a server's start.
        seqno: the number of its first transaction.
    """

    log: _Log
    folder: str
    options: ParquetOptions
    selection: Selection
    names: tuple[str, ...]
    tables: bytes
    epoch: int
    seqno: int


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
    """

    attempt: str
    staged: Staged | None = None
    kept: dict[str, Any] | None = None
    error: BinxError | None = None
    found: GtidSet = field(default_factory=GtidSet)
    notes: tuple[str, ...] = ()
    rows_seen: RowsSeen = field(default_factory=RowsSeen)


def to_parquet_on_spark(
    spark: SparkSession | SparkContext,
    files: Sequence[BinlogFile],
    folder: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
) -> Iterator[SourceReport]:
    """As :func:`binx.export.parquet.to_parquet`, with Spark's executors; the files are the same.

    Args:
        spark: the session, or its context, which is all that is used of it.
        files: binary logs in the order of their chain, which executors see at the same paths.
        folder: the data set's folder, which executors see at the same path.
        selector: the search for the wanted transactions.
        catalog: tables known beforehand.
        options: how to write; ``jobs`` are threads of a task, by default one.
        progress: called with the bytes of all files that are done.

    Raises:
        RefusedError: something is asked for that takes one pass over all logs in order.
        BinxError: as ``to_parquet``; or executors lack something.
    """
    selector = selector or Selector(Selection())
    options = options or ParquetOptions()
    _refuse(files, selector.selection, options)
    shared = Path(folder).absolute()
    dataset = DataSet(shared)
    with dataset.locked():
        context = _context_of(spark)
        export = _Export(context, dataset, selector, catalog or Catalog(), options)
        check_executors(context, _local_paths(files), shared)
        yield from export.run(files, progress)


def _context_of(spark: SparkSession | SparkContext) -> SparkContext:
    from pyspark.sql import SparkSession

    return spark.sparkContext if isinstance(spark, SparkSession) else spark


def _refuse(files: Sequence[BinlogFile], selection: Selection, options: ParquetOptions) -> None:
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError("executors cannot read the standard input of this process; save the log first")
    alone = {
        "--limit": selection.limit is not None or options.where_limit is not None,
        "--on-damage salvage": options.on_damage is OnDamage.SALVAGE,
    }
    for name, is_asked in alone.items():
        if is_asked:
            raise RefusedError(f"{name} takes one pass over all logs in order: use --engine native")


def _local_paths(files: Sequence[BinlogFile]) -> list[str]:
    places = [LogPlace.of(file) for file in files]
    return [path for place in places for path in (place.path, *place.others) if not is_uri(path)]


class _Export:
    """The logs of a chain on their way into a data set."""

    def __init__(
        self,
        context: SparkContext,
        dataset: DataSet,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
    ) -> None:
        self._context = context
        self._dataset = dataset
        self._selector = selector
        self._catalog = catalog.copy()
        self._options = options
        self._epoch = 0
        self._seqno = 1
        self._row_filter = (
            None
            if options.where is None
            else RowFilter(options.where, self._catalog.copy(), selector.takes_table)
        )

    def run(self, files: Sequence[BinlogFile], progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Write and commit the logs, some at a time."""
        count = max(1, self._context.defaultParallelism) * _LOGS_A_SLOT
        done = 0
        for first in range(0, len(files), count):
            group = files[first : first + count]
            names = [source_name(file) for file in group]
            # A log that is there twice replaces itself, as it does where logs are written one by one.
            pieces = [group] if len(set(names)) == len(names) else [[file] for file in group]
            for piece in pieces:
                yield from self._run(piece, [file.name for file in files])
                done += sum(file.size for file in piece)
                progress(done)
        if self._row_filter is not None:
            self._row_filter.check()

    def _run(self, files: Sequence[BinlogFile], names: Sequence[str]) -> Iterator[SourceReport]:
        logs = [_Log.of(file) for file in files]
        surveys = self._each(logs, survey)
        selection = self._selector.selection
        has_positions = selection.start is not None or selection.stop is not None
        shares: list[Share] = []
        for file, log, found in zip(files, logs, surveys, strict=True):
            shares.append(
                Share(
                    log=log,
                    folder=self._dataset.store.where,
                    options=self._options,
                    selection=selection,
                    names=tuple(names) if has_positions else (),
                    tables=packed(self._catalog),
                    epoch=self._epoch,
                    seqno=self._seqno,
                )
            )
            if found.error is not None:
                # Its own task will tell; what is behind it cannot be known.
                break
            self._epoch += file.format.at_startup
            self._seqno += found.transactions
            for sql, db, context in found.definitions:
                self._catalog.apply(sql, db, context)
        sources = [source_name(file) for file in files[: len(shares)]]
        transactions = [self._dataset.begin(source) for source in sources]
        try:
            answers = self._each(shares, write_share)
            for file, transaction, answer in zip(files, transactions, answers, strict=False):
                if answer.error is not None:
                    raise answer.error
                self._selector.take_found(answer.found)
                self._selector.notes.extend(answer.notes)
                if self._row_filter is not None:
                    self._row_filter.take_seen(answer.rows_seen)
                if answer.staged is not None:
                    commit_staged(transaction, answer.staged, answer.attempt)
                    manifest = answer.staged.manifest
                else:
                    manifest = answer.kept or {}
                yield SourceReport(transaction.source, file.path, answer.staged is None, manifest)
        finally:
            for transaction in transactions:
                transaction.abandon()

    def _each(
        self, items: Sequence[_Item], work: Callable[[Iterable[_Item]], Iterator[_Result]]
    ) -> list[_Result]:
        """Have a task done for each item; gives the results in order."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            return list(self._context.parallelize(items, len(items)).mapPartitions(work).collect())
        except (Py4JJavaError, PySparkException) as error:
            raise BinxError(f"Spark gave up: {_reason(str(error))}") from error


def _reason(message: str) -> str:
    """The last error of Python or Java that Spark quotes."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return [*lines[:1], *errors][-1] if lines else "it does not say why"


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


def survey(logs: Iterable[_Log]) -> Iterator[_Survey]:
    """What the logs behind each must know of it; runs in a task."""
    for log in logs:
        definitions = _Definitions()
        count = 0
        error: BinxError | None = None
        try:
            with log.place.opened(log.keys(), log.size) as file:
                file.resumption = log.resumption
                attach_sidecars([file], IndexUse())
                decoder = ChangeDecoder(file, definitions, lambda db, name: False)
                for table in file.transactions(Level.LEVEL_EVENTS, verify=False):
                    count += len(table)
                    marks = bytearray(len(table))
                    table.mark_statements(marks)
                    for _ in decoder.decode(table, marks):
                        pass
        except BinxError as found:
            error = found
        yield _Survey(count, tuple(definitions.found), error)


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
    dataset = DataSet(Path(share.folder))
    selector = Selector(share.selection, share.names)
    options = share.options
    rows = (
        None
        if options.where is None
        else RowFilter(options.where, unpacked(share.tables), selector.takes_table)
    )
    state = ChainState(share.epoch, share.seqno, rows)
    with Workers(options.jobs or 1, options.decoder.memory // 2) as workers:
        export = SourceExport(dataset, file, selector, unpacked(share.tables), options, state, workers)
        try:
            if export.find_kept():
                if share.selection.gtids is not None or share.names or rows is not None:
                    export.pass_over(lambda position: None)
                staged = None
            else:
                export.write(dataset.attempt(export.source, attempt), lambda position: None)
                staged = export.staged()
            return Answer(
                attempt,
                staged,
                export.kept,
                found=selector.found,
                notes=tuple(selector.notes),
                rows_seen=RowsSeen() if rows is None else rows.seen,
            )
        except BaseException:
            export.abandon()
            raise


__all__ = ["to_parquet_on_spark"]
