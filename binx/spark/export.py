"""``to-parquet --engine spark``: the same data set, decoded by Spark's executors.

A task writes one log and answers with its manifest. The driver takes one answer a log, moves the files that
it lists, and writes the manifest last.

What a task must know of the logs before its own (tables that statements defined, the number of transactions)
comes from a pass of tasks before, over headers of events and statements alone. Damage that is salvaged may
make it something else: then the logs behind are written again, from where the damaged one's task says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from binx.dataset.chain import (
    ChainState,
    Place,
    SourceReport,
    Surveyed,
    check_log_numbers,
    commit_staged,
    packed,
    source_name,
)
from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import ExportedLog, Request
from binx.errors import BinxError, RefusedError
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection, Selector
from binx.rows.ddl.catalog import Catalog
from binx.source.plain import STANDARD_INPUT_NAME
from binx.source.remote import is_uri
from binx.spark.executors import check_executors
from binx.spark.export_tasks import Answer, Share, Survey, TaskLog, survey_logs, write_share
from binx.spark.log_place import LogPlace

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ERROR = re.compile(r"[\w.]*(Error|Exception|Exit|Interrupt)\b: ")
_LOGS_A_SLOT = 4
"""Logs of one job for each task that can run at once: what is staged before anything is committed."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def to_parquet_on_spark(
    spark: SparkSession | SparkContext,
    files: Sequence[BinlogFile],
    place: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
    state: ChainState | None = None,
) -> Iterator[SourceReport]:
    """As :func:`binx.dataset.parquet.to_parquet`, with Spark's executors; the files are the same.

    Raises:
        RefusedError: something is asked for that takes one pass over all logs in order.
        BinxError: as ``to_parquet``; or executors lack something.
    """
    selector = selector or Selector(Selection(), in_parts=True)
    options = options or ParquetOptions()
    _refuse(files, options)
    output = os.fspath(place) if is_uri(os.fspath(place)) else str(Path(place).absolute())
    dataset = DataSet(output)
    check_log_numbers(files, dataset.store)
    with dataset.locked():
        context = _context_of(spark)
        export = _Export(
            context, dataset, output, selector, catalog or Catalog(), options, state or ChainState()
        )
        check_executors(context, _local_paths(files), dataset.store, output)
        yield from export.run(files, progress)


def _context_of(spark: SparkSession | SparkContext) -> SparkContext:
    from pyspark.sql import SparkSession

    return spark.sparkContext if isinstance(spark, SparkSession) else spark


def _refuse(files: Sequence[BinlogFile], options: ParquetOptions) -> None:
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError("executors cannot read standard input; save the log to a file first")
    if options.where_limit is not None:
        raise RefusedError(
            "--where with --limit has to count matching rows of all logs in order: use --engine native"
        )


def _local_paths(files: Sequence[BinlogFile]) -> list[str]:
    places = [LogPlace.of(file) for file in files]
    return [path for place in places for path in (place.path, *place.others) if not is_uri(path)]


class _Export:
    """The logs of a chain on their way into a data set."""

    def __init__(
        self,
        context: SparkContext,
        dataset: DataSet,
        output: str,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
    ) -> None:
        self._context = context
        self._dataset = dataset
        self._output = output
        self._selector = selector
        self._options = options
        self._place = Place(packed(catalog), state.epoch, state.seqno, 0)
        self._row_filter = Request(selector.selection, (), options).row_filter(self._place)

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
        """Look through the logs, then write them, as far as they are known, until all are written."""
        selection = self._selector.selection
        has_positions = selection.start is not None or selection.stop is not None
        request = Request(selection, tuple(names) if has_positions else (), self._options)
        logs = [TaskLog.of(file) for file in files]
        found = self._each([Survey(log, selection, request.names) for log in logs], survey_logs)
        begun = 0
        while begun < len(files):
            shares = self._shares(files[begun:], logs[begun:], found[begun:], request)
            for report in self._written(files[begun : begun + len(shares)], shares):
                begun += 1
                yield report

    def _shares(
        self,
        files: Sequence[BinlogFile],
        logs: Sequence[TaskLog],
        found: Sequence[Surveyed],
        request: Request,
    ) -> list[Share]:
        """What tasks write next, up to where nothing is known of what comes."""
        shares = []
        for file, log, one in zip(files, logs, found, strict=True):
            shares.append(Share(log, self._output, request, self._place, is_doubtful=one.error is not None))
            if one.error is not None:
                # Its own task will tell; what is behind it cannot be known.
                break
            self._place = one.place_behind(self._place, file)
        return shares

    def _written(self, files: Sequence[BinlogFile], shares: Sequence[Share]) -> Iterator[SourceReport]:
        """Have logs written, and commit them, up to one behind which others stand elsewhere than was said."""
        transactions = [self._dataset.begin(source_name(file)) for file in files]
        try:
            answers = self._each(shares, write_share)
            for file, transaction, answer in zip(files, transactions, answers, strict=True):
                exported = _exported(answer)
                self._selector.take_found(exported.found)
                self._selector.notes.extend(exported.notes)
                if self._row_filter is not None:
                    self._row_filter.take_seen(answer.rows_seen)
                if exported.staged is not None:
                    commit_staged(transaction, exported.staged, answer.attempt)
                is_kept = exported.staged is None
                yield SourceReport(transaction.source, file.path, is_kept, exported.manifest)
                if answer.is_behind_known:
                    self._place = exported.behind
                    return
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
            raise BinxError(f"Spark failed: {_reason(str(error))}") from error


def _exported(answer: Answer) -> ExportedLog:
    """What a task has written; raises why it could not."""
    if answer.exported is None:
        raise answer.error or BinxError("a task of Spark did not answer")
    return answer.exported


def _reason(message: str) -> str:
    """The last error of Python or Java that Spark quotes."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return [*lines[:1], *errors][-1] if lines else "no reason given"


__all__ = ["to_parquet_on_spark"]
