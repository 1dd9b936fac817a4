"""``to-parquet``: binary logs as a data set of Parquet files, one commit a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import BinxError, RefusedError
from binx.export.dataset import DataSet
from binx.export.parquet_files import ParquetOptions
from binx.export.sliced_export import SlicedExports
from binx.export.slices import Slice, SliceWriter, WrittenSlice, can_be_sliced
from binx.export.source_export import SourceExport
from binx.export.staging import ChainState, SourceReport
from binx.export.workers import Workers, usable_processors
from binx.log.file import BinlogFile
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog
from binx.source.spooled import STANDARD_INPUT_NAME

if TYPE_CHECKING:
    from binx.export.processes import Processes

PROCESSES = 2
"""How many processes decode large logs at most where nobody says: each takes memory of its own."""


def to_parquet(
    files: Sequence[BinlogFile],
    folder: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
    state: ChainState | None = None,
) -> Iterator[SourceReport]:
    """Write the sources one after another, in the order given, and commit each.

    Args:
        files: binary logs in the order of their chain, as DDL in one names the columns in the next.
        folder: the data set's folder, made where it is not there; or a URI that ``pyarrow.fs`` knows.
        selector: the search for the wanted transactions; it tells afterwards what was not found. All by
            default.
        catalog: tables known beforehand; it is moved on.
        options: how to write.
        progress: called with the bytes of all files that are done, now and then.
        state: where in the chain the first file stands, where others were before; it is moved on.

    Raises:
        RefusedError: a log comes from standard input, and so has no number.
        UsageError: the folder is a URI of a file system that is not known.
        OutputError: the data set cannot be written, or another process is writing to it.
        DamagedError, TruncatedError, UnsupportedError: a source cannot be read whole; sources before it
            are committed, it is not.
        AbsentError: rows were asked for by columns that no table has.
    """
    catalog = Catalog() if catalog is None else catalog
    options = options or ParquetOptions()
    selector = selector or Selector(Selection())
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError(
            "a log from standard input has no name, and the data set orders changes by the number in it;"
            " save the log under its own name first"
        )
    dataset = DataSet(folder)
    jobs = options.jobs or usable_processors()
    processes = _processes(dataset, files, selector.selection, options)
    if processes is not None:
        with processes, dataset.locked(), Workers(jobs, options.decoder.memory // 2) as workers:
            sliced = SlicedExports(dataset, selector, catalog, options, workers, state or ChainState())
            yield from sliced.run(files, processes, progress)
        return
    with dataset.locked(), Workers(jobs, options.decoder.memory // 2) as workers:
        exports = _Exports(dataset, selector, catalog, options, workers, state or ChainState())
        try:
            done = 0
            for file in files:
                yield from exports.add(file, _behind(done, progress))
                done += file.size
            yield from exports.finish()
            exports.check()
        except BinxError:
            # What was decoded before is whole, whatever happened behind it.
            yield from exports.finish()
            raise
        finally:
            exports.abandon()


def _processes(
    dataset: DataSet, files: Sequence[BinlogFile], selection: Selection, options: ParquetOptions
) -> Processes[[int, Slice], WrittenSlice] | None:
    """Processes that decode slices of the logs; None where one process does all."""
    count = options.jobs or min(PROCESSES, usable_processors())
    if count == 1 or not can_be_sliced(files, selection, options):
        return None
    # Here and not above: they take as long to load as all else that small logs need.
    from binx.export.processes import Processes, can_fork

    if not can_fork():
        return None
    return Processes(count, SliceWriter(dataset, files, selection, options))


def _behind(done: int, progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda position: progress(done + position)


class _Exports:
    """The sources of a data set, one decoded while the one before is still encoded."""

    def __init__(
        self,
        dataset: DataSet,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        workers: Workers,
        state: ChainState,
    ) -> None:
        self._dataset = dataset
        self._selector = selector
        self._catalog = catalog
        self._options = options
        self._workers = workers
        self._state = state
        if options.where is not None:
            from binx.export.where_rows import RowFilter

            self._state.row_filter = RowFilter(
                options.where, catalog.copy(), selector.takes_table, options.where_limit
            )
        self._begun: SourceExport | None = None

    def add(self, file: BinlogFile, progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Decode a source; gives the reports of those that are committed meanwhile."""
        export = SourceExport(
            self._dataset, file, self._selector, self._catalog, self._options, self._state, self._workers
        )
        if self._begun is not None and self._begun.source == export.source:
            yield from self.finish()
        export.begin(progress)
        before, self._begun = self._begun, export
        if before is not None:
            try:
                report = before.finish()
            except BaseException:
                self.abandon()
                raise
            yield report
        if self._workers.jobs == 1:
            yield from self.finish()

    def finish(self) -> Iterator[SourceReport]:
        """Commit what is decoded."""
        begun, self._begun = self._begun, None
        if begun is not None:
            yield begun.finish()

    def check(self) -> None:
        """Raise AbsentError where rows were asked for by columns that no table has."""
        if self._state.row_filter is not None:
            self._state.row_filter.check()

    def abandon(self) -> None:
        """Leave what is not committed out."""
        if self._begun is not None:
            self._begun.abandon()
            self._begun = None
