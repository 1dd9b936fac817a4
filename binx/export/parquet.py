"""``to-parquet``: binary logs as a data set of Parquet files, one commit a source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import BinxError
from binx.export.dataset import DataSet
from binx.export.log_numbers import check_log_numbers
from binx.export.look_ahead import LookAhead, begin_to_look_ahead, decoding_processes
from binx.export.parquet_files import ParquetOptions
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import ChainState, SourceReport, find_beginning
from binx.export.store import open_store
from binx.export.workers import Workers, usable_processors
from binx.log.file import BinlogFile
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog

if TYPE_CHECKING:
    from binx.export.part_writer import Part, PartWriter, Written
    from binx.export.processes import Processes


def to_parquet(
    files: Sequence[BinlogFile],
    folder: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
    state: ChainState | None = None,
    ahead: LookAhead | None = None,
) -> Iterator[SourceReport]:
    """Write the sources one after another, in the order given, and commit each.

    Args:
        files: binary logs in the order of their chain, as DDL in one names the columns in the next.
        folder: the data set's folder, made where it is not there; or a URI that ``pyarrow.fs`` knows.
        selector: the search for the wanted transactions; it tells afterwards what was not found. All by
            default.
        catalog: tables known beforehand; it is moved on. Where neither it nor a state is given, the export
            goes on from the log before the first one, if the data set has that.
        options: how to write.
        progress: called with the bytes of all files that are done, now and then.
        state: where in the chain the first file stands, where others were before; it is moved on.
        ahead: looks ahead over the files, where that was begun for these arguments; it is stopped.

    Raises:
        RefusedError: a log comes from standard input, or its name has no number and it is not alone.
        UsageError: the folder is a URI of a file system that is not known.
        OutputError: the data set cannot be written, or another process is writing to it.
        DamagedError, TruncatedError, UnsupportedError: a source cannot be read whole; sources before it
            are committed, it is not.
        AbsentError: rows were asked for by columns that no table has.
    """
    options = options or ParquetOptions()
    selector = selector or Selector(Selection(), in_parts=True)
    check_log_numbers(files, open_store(os.fspath(folder)))
    if state is None:
        catalog, state, _ = find_beginning(os.fspath(folder), files, catalog)
    catalog = Catalog() if catalog is None else catalog
    if ahead is None:
        ahead = begin_to_look_ahead(
            files,
            selector.selection,
            catalog,
            jobs=options.jobs,
            on_damage=options.on_damage,
            where=options.where,
            epoch=state.epoch,
            seqno=state.seqno,
        )
    if ahead is not None:
        # Here and not above: small logs, and one job, have no use for them.
        from binx.export.part_writer import PartWriter
        from binx.export.shared_export import SharedExports

        with ahead:
            dataset = DataSet(folder)
            writer = PartWriter(dataset, files, selector.selection, options)
            # Copies of this process are made before it has threads, and anything open.
            with _processes(options, writer) as processes, dataset.locked(), Workers(1, 0) as workers:
                context = ExportContext(dataset, selector, catalog, options, state, workers)
                yield from SharedExports(context, writer, processes, ahead).run(files, progress)
        return
    dataset = DataSet(folder)
    jobs = options.jobs or usable_processors()
    with dataset.locked(), Workers(jobs, options.decoder.memory // 2) as workers:
        context = ExportContext(dataset, selector, catalog, options, state, workers)
        yield from _Exports(context).run(files, progress)


def _processes(options: ParquetOptions, writer: PartWriter) -> Processes[[int, Part], Written]:
    """Processes that decode beside this one."""
    from binx.export.processes import Processes

    return Processes(decoding_processes(options.jobs) - 1, writer)


def _behind(done: int, progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda position: progress(done + position)


class _Exports:
    """The sources of a data set, one decoded while the one before is still encoded."""

    def __init__(self, context: ExportContext) -> None:
        self._context = context
        self._begun: SourceExport | None = None
        options = context.options
        if options.where is not None:
            from binx.export.where_rows import RowFilter

            context.state.row_filter = RowFilter(
                options.where,
                context.catalog.copy(),
                context.selector.takes_table,
                options.where_limit,
                in_parts=True,
            )

    def run(self, files: Sequence[BinlogFile], progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Write and commit the logs.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        try:
            done = 0
            for file in files:
                yield from self._add(file, _behind(done, progress))
                done += file.size
            yield from self._finish()
            if self._context.state.row_filter is not None:
                self._context.state.row_filter.check()
        except BinxError:
            # What was decoded before is whole, whatever happened behind it.
            yield from self._finish()
            raise
        finally:
            self._abandon()

    def _add(self, file: BinlogFile, progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Decode a source; gives the reports of those that are committed meanwhile."""
        export = SourceExport(self._context, file)
        if self._begun is not None and self._begun.source == export.source:
            yield from self._finish()
        export.begin(progress)
        before, self._begun = self._begun, export
        if before is not None:
            try:
                report = before.finish()
            except BaseException:
                self._abandon()
                raise
            yield report
        if self._context.workers.jobs == 1:
            yield from self._finish()

    def _finish(self) -> Iterator[SourceReport]:
        """Commit what is decoded."""
        begun, self._begun = self._begun, None
        if begun is not None:
            yield begun.finish()

    def _abandon(self) -> None:
        """Leave what is not committed out."""
        if self._begun is not None:
            self._begun.abandon()
            self._begun = None
