"""``to-parquet --engine spark``: the same data set, decoded by Spark's executors.

Each task writes one log with the code of ``to-parquet``, into a staging folder of its own, and returns the
log's manifest. The driver accepts one answer per log, moves the files it lists, and writes the manifest last.
Files of failed or duplicate attempts are removed with the staging folder.

The facts that a task needs about earlier logs (tables defined by statements, the number of transactions) come
from a survey: a first round of tasks that reads only event headers and statements. Salvaging a damaged log
can change these facts. Then the logs after it are written again, starting from the state that the damaged
log's task returned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from binx.dataset.continuation import ChainState, place_of
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import ExportedLog, ExportRequest, export_log
from binx.dataset.personal.unmatched_rules import check_rules, check_tables
from binx.dataset.predecessors import (
    ChainPlace,
    SourceReport,
    Surveyed,
    check_log_numbers,
    packed,
    source_name,
    survey,
)
from binx.dataset.transaction import StagedFiles, commit_staged
from binx.errors import BinxError, RefusedError
from binx.log.binlog_file import BinlogFile
from binx.log.index.lookup import IndexUse, attach_indexes
from binx.log.selection.selection import Selection, Selector
from binx.rows.ddl.catalog import Catalog
from binx.source.plain import STANDARD_INPUT_NAME
from binx.source.remote import is_uri
from binx.spark.log_place import TaskLog
from binx.spark.session import check_executors, reason_of
from binx.where.matching_transactions import RowsSeen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGS_A_SLOT = 4
"""Logs per job and task slot; limits how much is staged before it is committed."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def to_parquet_on_spark(
    spark: SparkSession,
    files: Sequence[BinlogFile],
    place: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
    state: ChainState | None = None,
) -> Iterator[SourceReport]:
    """Export like :func:`binx.dataset.parquet.to_parquet`, on Spark's executors; the files are the same.

    Raises:
        RefusedError: an option needs a single pass over all logs in order.
        BinxError: as in ``to_parquet``, or the executors lack something.
    """
    options = options or ParquetOptions()
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError("executors cannot read standard input; save the log to a file first")
    if options.where_limit is not None:
        raise RefusedError(
            "--where with --limit has to count matching rows of all logs in order: use --engine native"
        )
    output = os.fspath(place) if is_uri(os.fspath(place)) else str(Path(place).absolute())
    dataset = DataSet(output)
    check_log_numbers(files, dataset.store)
    check_tables(dataset, files, catalog, options)
    with dataset.locked():
        logs = [TaskLog.of(file).place for file in files]
        paths = [path for log in logs for path in (log.path, *log.others) if not is_uri(path)]
        check_executors(spark, paths, output)
        selector = selector or Selector(Selection(), in_parts=True)
        export = _Export(spark, output, selector, catalog or Catalog(), options, state or ChainState())
        yield from export.run(files, progress)


@dataclass(frozen=True, slots=True)
class Share:
    """A task's input: one log, and the facts about earlier logs that it needs."""

    log: TaskLog
    output: str
    request: ExportRequest
    place: ChainPlace
    is_doubtful: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A task's result."""

    attempt: str
    exported: ExportedLog | None = None
    error: BinxError | None = None
    rows_seen: RowsSeen = field(default_factory=RowsSeen)
    is_behind_known: bool = False


class _Export:
    """An export of a chain of logs."""

    def __init__(
        self,
        spark: SparkSession,
        output: str,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
    ) -> None:
        self._context = spark.sparkContext
        self._dataset = DataSet(output)
        self._output = output
        self._selector = selector
        self._options = options
        self._place = ChainPlace(packed(catalog), state.epoch, state.seqno, 0, state.is_given)
        self._is_given = state.is_given
        self._row_filter = ExportRequest(selector.selection, (), options).row_filter(self._place)

    def run(self, files: Sequence[BinlogFile], progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Write and commit the logs in groups."""
        count = max(1, self._context.defaultParallelism) * _LOGS_A_SLOT
        done = 0
        for first in range(0, len(files), count):
            group = files[first : first + count]
            names = [source_name(file) for file in group]
            # A log that is given twice replaces itself, as it does when logs are written one by one.
            batches = [group] if len(set(names)) == len(names) else [[file] for file in group]
            for batch in batches:
                yield from self._run(batch, [file.name for file in files])
                done += sum(file.size for file in batch)
                progress(done)
        if self._row_filter is not None:
            self._row_filter.check()

    def _run(self, files: Sequence[BinlogFile], names: Sequence[str]) -> Iterator[SourceReport]:
        """Survey the logs and write those whose start state is known, until all are written."""
        selection = self._selector.selection
        has_positions = selection.start is not None or selection.stop is not None
        request = ExportRequest(selection, tuple(names) if has_positions else (), self._options)
        logs = [TaskLog.of(file) for file in files]
        surveys = self._each([(log, selection, request.names) for log in logs], _survey_logs)
        begun = 0
        while begun < len(files):
            shares = []
            for file, log, log_survey in zip(files[begun:], logs[begun:], surveys[begun:], strict=True):
                if not self._is_given:
                    store, rules = self._dataset.store, self._options.personal
                    self._place = place_of(store, file, self._place, rules)
                doubtful = log_survey.error is not None
                shares.append(Share(log, self._output, request, self._place, is_doubtful=doubtful))
                if doubtful:
                    # Its own task reports the damage; the state of the logs after it is not known yet.
                    break
                self._place = log_survey.place_after(self._place, file)
            for report in self._written(files[begun : begun + len(shares)], shares):
                begun += 1
                yield report

    def _written(self, files: Sequence[BinlogFile], shares: Sequence[Share]) -> Iterator[SourceReport]:
        """Have logs written and commit them, up to one that ends in another state than surveyed."""
        transactions = [StagedFiles(self._dataset, source_name(file)) for file in files]
        try:
            answers = self._each(shares, write_share)
            for file, transaction, answer in zip(files, transactions, answers, strict=True):
                exported = answer.exported
                if exported is None:
                    raise answer.error or BinxError("a task of Spark did not answer")
                self._selector.take_found(exported.found_gtids)
                self._selector.note(*exported.notes)
                if self._row_filter is not None:
                    self._row_filter.take_seen(answer.rows_seen)
                if exported.staged is not None:
                    check_rules(self._dataset, self._options, exported.manifest, file.path)
                    commit_staged(transaction, exported.staged, answer.attempt)
                is_kept = exported.staged is None
                yield SourceReport(transaction.source, file.path, is_kept, exported.manifest)
                if answer.is_behind_known:
                    self._place = exported.next_place
                    return
        finally:
            for transaction in transactions:
                transaction.abandon()

    def _each(
        self, items: Sequence[_Item], work: Callable[[Iterable[_Item]], Iterator[_Result]]
    ) -> list[_Result]:
        """Run a task per item and return the results in order."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            return list(self._context.parallelize(items, len(items)).mapPartitions(work).collect())
        except (Py4JJavaError, PySparkException) as error:
            raise BinxError(f"Spark failed: {reason_of(error)}") from error


def _survey_logs(items: Iterable[tuple[TaskLog, Selection, tuple[str, ...]]]) -> Iterator[Surveyed]:
    """Survey logs; runs in a task."""
    for log, selection, names in items:
        try:
            with log.opened() as file:
                attach_indexes([file], IndexUse())
                yield survey(file, selection, names)
        except BinxError as error:
            yield Surveyed(0, 0, (), error)


def write_share(shares: Iterable[Share]) -> Iterator[Answer]:
    """Write logs into a folder of this attempt; runs in a task.

    Errors about a log are returned, so that Spark does not retry; all others are left to Spark.
    """
    for share in shares:
        attempt = uuid4().hex
        try:
            with share.log.opened() as file:
                yield _exported(share, file, attempt)
        except BinxError as error:
            yield Answer(attempt, error=error)


def _exported(share: Share, file: BinlogFile, attempt: str) -> Answer:
    dataset = DataSet(share.output)
    rows = share.request.row_filter(share.place)
    begun: list[StagedFiles] = []

    def begin() -> StagedFiles:
        begun.append(StagedFiles(dataset, source_name(file), attempt))
        return begun[0]

    try:
        exported = export_log(
            dataset, share.request, file, share.place, begin, lambda position: None,
            row_filter=rows, needs_next_place=share.is_doubtful,
        )  # fmt: skip
        if exported.staged is not None:
            begun[0].hand_in(exported.staged.files)
    except BaseException:
        for transaction in begun:
            transaction.abandon()
        raise
    return Answer(
        attempt,
        exported,
        rows_seen=RowsSeen() if rows is None else rows.seen,
        is_behind_known=share.is_doubtful or bool(exported.manifest["damage"]),
    )
