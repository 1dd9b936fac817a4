"""The sources of a data set, decoded by processes side by side, and committed in order by one of them."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from binx.errors import BinxError
from binx.export.dataset import Transaction
from binx.export.digest import LogDigest
from binx.export.log_writer import WrittenLog
from binx.export.look_ahead import LookAhead
from binx.export.part_writer import Part, PartWriter, Written
from binx.export.sharing import Place
from binx.export.slice_finder import SliceFinder
from binx.export.slices import WrittenSlice
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import SourceReport, commit_staged, source_name
from binx.log.file import BinlogFile

if TYPE_CHECKING:
    from binx.export.processes import Processes

MOST_BEGUN = 12
"""How many slices are begun at most that are not put together."""

QUEUED = 2.5
"""How many slices as long as the next one a process has before it, until this one decodes that itself.

Meanwhile the process is busy; at a log's end, where slices are small, not for longer than this one.
"""


class _Awaited(Protocol):
    """A log or a slice that is written here or elsewhere."""

    def done(self) -> bool:
        """Whether it is written."""

    def result(self) -> Written:
        """Wait for it; raises what there was instead of it."""


class _Here:
    """What was written here, or the error instead of it."""

    def __init__(self, result: Written | BinxError) -> None:
        self._result = result

    def done(self) -> bool:
        """As :class:`_Awaited` says."""
        return True

    def result(self) -> Written:
        """As :class:`_Awaited` says."""
        if isinstance(self._result, BinxError):
            raise self._result
        return self._result


class _BegunPart:
    """A log or a slice that is decoded, or waits for it; or a log that was written before.

    Attributes:
        number: of the log, from 0.
        start: where in its log the slice begins.
        stop: where it ends, at the least.
        export: what puts the slices of the log together; None for a whole log.
        written: what is decoded, when it is done; None for a log that was written before, or before this
            process is done with it.
        is_here: whether this process decodes it.
    """

    def __init__(self, number: int, start: int, stop: int, export: SourceExport | None = None) -> None:
        self.number = number
        self.start = start
        self.stop = stop
        self.export = export
        self.written: _Awaited | None = None
        self.is_here = False

    def done(self) -> bool:
        """Whether nobody needs to wait for it."""
        return not self.is_here if self.written is None else self.written.done()


class SharedExports:
    """The sources of a data set, whose logs and slices this process and others decode.

    Each process gets whole logs, as somebody looks ahead who knows where the next one stands. Of logs that
    are left the others get slices as long as they have room for them; then this one decodes the next. So all
    of them are busy, though it also finds the slices and puts together what was written.

    Args:
        context: the export; its catalog and its state are moved on.
        writer: decodes and writes here.
        processes: do it elsewhere.
        ahead: looks ahead.
    """

    def __init__(
        self,
        context: ExportContext,
        writer: PartWriter,
        processes: Processes[[int, Part], Written],
        ahead: LookAhead,
    ) -> None:
        self._context = context
        self._writer = writer
        self._processes = processes
        self._ahead = ahead
        self._begun: deque[_BegunPart] = deque()
        self._open: list[SourceExport] = []
        self._transactions: dict[int, Transaction] = {}
        self._files: Sequence[BinlogFile] = ()
        self._next_log = 0
        self._known_place: Place | None = None

    def run(self, files: Sequence[BinlogFile], progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Write and commit the logs.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        failed: BinxError | None = None
        self._files = files
        beginning = self._begin_parts(progress)
        all_begun = False
        try:
            while not all_begun or self._begun:
                try:
                    all_begun = all_begun or next(beginning, True)
                except BinxError as error:
                    # What stands before is decoded first, and may tell more.
                    all_begun, failed = True, error
                if all_begun:
                    self._processes.end()
                while self._begun and (all_begun or len(self._begun) > MOST_BEGUN or self._begun[0].done()):
                    yield from self._take_in(self._begun.popleft(), progress)
            if failed is not None:
                raise failed
        except BaseException:
            # So that nobody writes any more to what is removed.
            self._processes.stop()
            for export in self._open:
                export.abandon()
            for transaction in self._transactions.values():
                transaction.abandon()
            raise

    def _begin_parts(self, progress: Callable[[int], None]) -> Iterator[bool]:
        """Decode logs and slices, or have them decoded, as they are found; gives False after each."""
        yield from self._share_logs(progress)
        for number in range(self._ahead.whole, len(self._files)):
            yield from self._share_slices(number)

    def _share_logs(self, progress: Callable[[int], None]) -> Iterator[bool]:
        """Decode whole logs, or have them decoded."""
        whole = self._ahead.whole
        if not whole:
            return
        context, state = self._context, self._context.state
        self._known_place = Place(state.epoch, state.seqno, pickle.dumps(context.catalog))
        while self._next_log < whole:
            self._hand_out_logs()
            yield False
            if self._next_log < whole:
                yield from self._decode_log(progress)
        if whole < len(self._files):
            self._move_on(self._next_place())

    def _share_slices(self, number: int) -> Iterator[bool]:
        """Decode the slices of a log, or have them decoded."""
        file = self._files[number]
        export = SourceExport(self._context, file, is_sliced=True)
        self._open.append(export)
        if export.find_kept():
            export.pass_over(lambda position: None)
            self._begun.append(_BegunPart(number, 0, file.size, export))
            yield False
            return
        finder = export.begin_slices(self._context.dataset.begin(export.source))
        while not finder.at_end:
            self._begin_slice(export, finder, number)
            if finder.at_end:
                export.saw_end()
            yield False

    def _hand_out_logs(self) -> None:
        """Have processes that are idle decode the next logs."""
        while self._next_log < self._ahead.whole and self._knows_place() and self._processes.has_idle:
            begun, place = self._begin_log()
            begun.written = self._processes.submit(begun.number, place)

    def _decode_log(self, progress: Callable[[int], None]) -> Iterator[bool]:
        """Decode the next log; until it is known where it stands, it is hashed."""
        digest = LogDigest(self._files[self._next_log], None)
        while not self._knows_place() and digest.read_on():
            pass

        def go_on() -> None:
            self._hand_out_logs()
            progress(int(self._writer.done))

        begun, place = self._begin_log()
        begun.is_here = True
        try:
            begun.written = _Here(self._writer.logs.write(begun.number, place, go_on, digest))
        except BinxError as error:
            begun.written = _Here(error)
            raise
        yield False

    def _begin_log(self) -> tuple[_BegunPart, Place]:
        """Begin the next log; gives where it stands, too."""
        place, number = self._next_place(), self._next_log
        file = self._files[number]
        self._transactions[number] = self._context.dataset.begin(source_name(file))
        begun = _BegunPart(number, 0, file.size)
        self._begun.append(begun)
        self._next_log += 1
        return begun, place

    def _knows_place(self) -> bool:
        """Whether it is known where the next log stands."""
        return self._known_place is not None or self._ahead.is_ready()

    def _next_place(self) -> Place:
        """Where the next log stands; waits until that is known."""
        place, self._known_place = self._known_place or self._ahead.take(), None
        return place

    def _begin_slice(self, export: SourceExport, finder: SliceFinder, number: int) -> None:
        """Have others decode the slice at hand, or do it here; the next one is at hand then."""
        start, stop = finder.start, finder.stop
        begun = _BegunPart(number, start, stop, export)
        if self._others_have_room(stop - start):
            begun.written = self._processes.submit(number, finder.slice())
            self._begun.append(begun)
            # What takes its time is done when all have something to do.
            export.hash_later(self._processes.has_idle)
            finder.pass_over()
            export.hash_later(False)
            return
        self._begun.append(begun)
        try:
            begun.written = _Here(finder.decode(self._writer.slices, number))
        except BinxError as error:
            begun.written = _Here(error)
            raise

    def _others_have_room(self, size: int) -> bool:
        """Whether other processes are to have a slice of so many bytes."""
        waiting = [begun for begun in self._begun if not begun.done()]
        if any(begun.export is None for begun in waiting):
            # One that has a whole log is busy for long.
            return self._processes.has_idle
        return sum(begun.stop - begun.start for begun in waiting) < QUEUED * self._processes.count * size

    def _take_in(self, begun: _BegunPart, progress: Callable[[int], None]) -> Iterator[SourceReport]:
        """Take in what comes next; gives the report of a source that is whole and committed."""
        export, file = begun.export, self._files[begun.number]
        written = None if begun.written is None else begun.written.result()
        self._writer.done.reach(begun.number, begun.stop)
        if isinstance(written, WrittenSlice) and export is not None:
            export.take_slice(written)
            if written.ending is None:
                progress(int(self._writer.done))
                return
        self._writer.done.reach(begun.number, file.size)
        progress(int(self._writer.done))
        if isinstance(written, WrittenLog):
            yield self._commit_log(begun.number, written)
        elif export is not None:
            report = export.finish()
            self._open.remove(export)
            yield report

    def _commit_log(self, number: int, written: WrittenLog) -> SourceReport:
        """Commit a log that was decoded whole, or was written before."""
        file, transaction = self._files[number], self._transactions[number]
        self._context.selector.take_found(written.found)
        self._context.selector.notes.extend(written.notes)
        if written.behind is not None:
            self._move_on(written.behind)
        if written.staged is None:
            transaction.abandon()
        else:
            commit_staged(transaction, written.staged)
        del self._transactions[number]
        return SourceReport(source_name(file), file.path, written.staged is None, written.manifest)

    def _move_on(self, place: Place) -> None:
        """Have catalog and state be those of a place."""
        state = self._context.state
        state.epoch, state.seqno = place.epoch, place.seqno
        self._context.catalog.become(pickle.loads(place.tables))


__all__ = ["SharedExports"]
