"""The sources of a data set, decoded slice by slice in processes side by side, and committed in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from binx.errors import BinxError
from binx.export.slice_finder import SliceFinder
from binx.export.slices import Slice, SliceWriter, WrittenSlice
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import SourceReport
from binx.log.file import BinlogFile

if TYPE_CHECKING:
    from binx.export.processes import Processes

BEGUN = 12
"""How many slices are begun at most that are not put together."""

QUEUED = 2.5
"""How many slices as long as the next one a process has before it, until this one decodes that itself.

Meanwhile the process is busy; at a log's end, where slices are small, not for longer than this one.
"""


class _Awaited(Protocol):
    """A slice that is written here or elsewhere."""

    def done(self) -> bool:
        """Whether it is written."""

    def result(self) -> WrittenSlice:
        """Wait for it; raises what there was instead of it."""


class _Here:
    """A slice that was written here, or the error instead of it."""

    def __init__(self, result: WrittenSlice | BinxError) -> None:
        self._result = result

    def done(self) -> bool:
        """As :class:`_Awaited` says."""
        return True

    def result(self) -> WrittenSlice:
        """As :class:`_Awaited` says."""
        if isinstance(self._result, BinxError):
            raise self._result
        return self._result


class _Begun(NamedTuple):
    """A slice that is decoded, or waits for it; or a source that was written before.

    Attributes:
        export: the source.
        before: bytes of the logs before it.
        start: where in its log the slice begins.
        stop: where it ends, at the least.
        written: the slice, when it is done; None for a source that was written before.
    """

    export: SourceExport
    before: int
    start: int
    stop: int
    written: _Awaited | None

    def done(self) -> bool:
        """Whether nobody needs to wait for it."""
        return self.written is None or self.written.done()


class SlicedExports:
    """The sources of a data set, whose slices this process and others decode.

    The others get slices as long as they have room for them; then this one decodes the next. So all of them
    are busy, though it also finds the slices and puts together what was written.

    Args:
        context: the export.
        writer: writes slices here.
        processes: write them elsewhere.
    """

    def __init__(
        self, context: ExportContext, writer: SliceWriter, processes: Processes[[int, Slice], WrittenSlice]
    ) -> None:
        self._context = context
        self._writer = writer
        self._processes = processes
        self._begun: deque[_Begun] = deque()
        self._open: list[SourceExport] = []

    def run(self, files: Sequence[BinlogFile], progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Write and commit the logs.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        failed: BinxError | None = None
        beginning = self._begin(files)
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
                while self._begun and (begun is None or len(self._begun) > BEGUN or self._begun[0].done()):
                    yield from self._end(self._begun.popleft(), progress)
            if failed is not None:
                raise failed
        except BaseException:
            # So that nobody writes any more to what is removed.
            self._processes.stop()
            for export in self._open:
                export.abandon()
            raise

    def _begin(self, files: Sequence[BinlogFile]) -> Iterator[_Begun]:
        """Decode slices, or have them decoded, as they are found."""
        before = 0
        for number, file in enumerate(files):
            export = SourceExport(self._context, file, is_sliced=True)
            self._open.append(export)
            if export.find_kept():
                export.pass_over(lambda position: None)
                yield _Begun(export, before, 0, file.size, None)
            else:
                finder = export.begin_slices(self._context.dataset.begin(export.source))
                while not finder.at_end:
                    yield from self._begin_slice(export, finder, number, before)
            before += file.size

    def _begin_slice(
        self, export: SourceExport, finder: SliceFinder, number: int, before: int
    ) -> Iterator[_Begun]:
        start, stop = finder.start, finder.stop
        if self._queued() < QUEUED * self._processes.count * (stop - start):
            yield _Begun(export, before, start, stop, self._processes.submit(number, finder.slice()))
            # What takes its time is done when all have something to do.
            export.hash_later(self._processes.has_idle)
            finder.pass_over()
            export.hash_later(False)
            return
        try:
            written = finder.decode(self._writer, number)
        except BinxError as error:
            yield _Begun(export, before, start, stop, _Here(error))
            raise
        yield _Begun(export, before, start, stop, _Here(written))

    def _queued(self) -> int:
        """Bytes of the slices that are not written."""
        return sum(begun.stop - begun.start for begun in self._begun if not begun.done())

    def _end(self, begun: _Begun, progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Take in the next slice; gives the report of a source that is whole and committed."""
        export = begun.export
        if begun.written is not None:
            written = begun.written.result()
            export.take_slice(written)
            if written.ending is None:
                progress(begun.before + begun.stop)
                return
        progress(begun.before + export.file.size)
        report = export.finish()
        self._open.remove(export)
        yield report


__all__ = ["SlicedExports"]
