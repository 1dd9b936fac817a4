"""The sources of a data set, decoded slice by slice in processes side by side, and committed in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError
from binx.export.slices import Slice, WrittenSlice
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import SourceReport
from binx.log.file import BinlogFile

if TYPE_CHECKING:
    from concurrent.futures import Future

    from binx.export.processes import Processes

AHEAD = 2
"""How many slices are found ahead of those that are decoded."""


class _Begun(NamedTuple):
    """A slice that is decoded, or waits for it; or a source that was written before.

    Attributes:
        export: the source.
        before: bytes of the logs before it.
        stop: where in its log the slice ends, at the least.
        written: the slice, when it is done; None for a source that was written before.
    """

    export: SourceExport
    before: int
    stop: int
    written: Future[WrittenSlice] | None


class SlicedExports:
    """The sources of a data set, whose slices others decode.

    Args:
        context: the export; its threads put together what others have written.
    """

    def __init__(self, context: ExportContext) -> None:
        self._context = context
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
        before = 0
        for place, file in enumerate(files):
            export = SourceExport(self._context, file, is_sliced=True)
            self._open.append(export)
            if export.find_kept():
                export.pass_over(lambda position: None)
                yield _Begun(export, before, file.size, None)
            else:
                # With slices at hand nobody waits for the first ones of this log.
                awaited = 0 if self._begun else processes.count
                for part in export.slices(self._context.dataset.begin(export.source), awaited):
                    stop = file.size if part.stop is None else part.stop
                    yield _Begun(export, before, stop, processes.submit(place, part))
            before += file.size

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


def _is_done(begun: _Begun) -> bool:
    return begun.written is None or begun.written.done()


__all__ = ["SlicedExports"]
