"""The sources of a data set, decoded slice by slice in processes side by side, and committed in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError
from binx.export.dataset import DataSet
from binx.export.parquet_files import ParquetOptions
from binx.export.slices import Slice, WrittenSlice
from binx.export.source_export import SourceExport
from binx.export.staging import ChainState, SourceReport
from binx.export.workers import Workers
from binx.log.file import BinlogFile
from binx.log.selection import Selector
from binx.rows.catalog import Catalog

if TYPE_CHECKING:
    from concurrent.futures import Future

    from binx.export.processes import Processes

AHEAD = 2
"""How many slices are found ahead of those that are decoded."""


class _Begun(NamedTuple):
    """A slice that is decoded, or waits for it; or a source that was written before.

    Attributes:
        export: the source.
        done: bytes of all logs up to the slice's end.
        written: the slice, when it is done; None for a source that was written before.
        is_last: whether the source ends with it.
    """

    export: SourceExport
    done: int
    written: Future[WrittenSlice] | None
    is_last: bool


class SlicedExports:
    """The sources of a data set, whose slices others decode.

    Args:
        dataset: where to.
        selector: the search; it tells afterwards what was not found.
        catalog: tables known beforehand; it is moved on.
        options: how to write.
        workers: threads that put together what others have written.
        state: where in the chain the first source stands; it is moved on.
    """

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
        self._begun: deque[_Begun] = deque()
        self._open: list[SourceExport] = []

    def run(
        self,
        files: Sequence[BinlogFile],
        processes: Processes[[int, Slice], WrittenSlice],
        progress: Callable[[int], None],
    ) -> Iterator[SourceReport]:
        """Write and commit the logs.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        failed: BinxError | None = None
        beginning = self._begin(files, processes)
        try:
            while True:
                try:
                    begun = next(beginning, None)
                except BinxError as error:
                    # What stands before is decoded first, and may tell more.
                    begun, failed = None, error
                if begun is not None:
                    self._begun.append(begun)
                elif not self._begun:
                    break
                while self._begun and (
                    begun is None or len(self._begun) > processes.count + AHEAD or _is_done(self._begun[0])
                ):
                    yield from self._end(self._begun.popleft(), progress)
            if failed is not None:
                raise failed
        except BaseException:
            # So that nobody writes any more to what is removed.
            processes.stop()
            for export in self._open:
                export.abandon()
            raise

    def _begin(
        self,
        files: Sequence[BinlogFile],
        processes: Processes[[int, Slice], WrittenSlice],
    ) -> Iterator[_Begun]:
        """Have slices decoded as they are found."""
        done = 0
        for place, file in enumerate(files):
            export = SourceExport(
                self._dataset, file, self._selector, self._catalog, self._options, self._state, self._workers
            )
            self._open.append(export)
            if export.find_kept():
                export.pass_over(lambda position: None)
                yield _Begun(export, done + file.size, None, is_last=True)
            else:
                # With slices at hand nobody waits for the first ones of this log.
                awaited = 0 if self._begun else processes.count
                for part in export.slices(self._dataset.begin(export.source), awaited):
                    stop = file.size if part.stop is None else part.stop
                    written = processes.submit(place, part)
                    yield _Begun(export, done + stop, written, is_last=part.stop is None)
            done += file.size

    def _end(self, begun: _Begun, progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Take in the next slice; gives the report of a source that is whole and committed."""
        if begun.written is not None:
            begun.export.take_slice(begun.written.result())
        progress(begun.done)
        if begun.is_last:
            report = begun.export.finish()
            self._open.remove(begun.export)
            yield report


def _is_done(begun: _Begun) -> bool:
    return begun.written is None or begun.written.done()


__all__ = ["SlicedExports"]
