"""Whole logs of a chain, decoded and written by several processes; one of them commits."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet
from binx.export.digest import LogDigest
from binx.export.parquet_files import ParquetOptions
from binx.export.sharing import Place
from binx.export.source_export import ExportContext, SourceExport
from binx.export.staging import ChainState, Staged
from binx.export.workers import Workers
from binx.log.file import BinlogFile
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog

_NUMBER_BYTES = 8


class DoneBytes:
    """How many bytes of each log are done, told by whichever process: the memory is shared with copies.

    Args:
        count: how many logs there are.
    """

    def __init__(self, count: int) -> None:
        import mmap

        self._numbers = memoryview(mmap.mmap(-1, count * _NUMBER_BYTES)).cast("q")

    def reach(self, log: int, done: int) -> None:
        """Tell how many bytes of a log are done."""
        self._numbers[log] = done

    def __int__(self) -> int:
        """How many are done of all logs."""
        return sum(self._numbers)


class WrittenLog(NamedTuple):
    """A log that is decoded and written, or was before.

    Attributes:
        staged: what is to be committed; None where it was written before.
        kept: the manifest of before, where it is by the same request.
        found: the GTIDs asked for that are in it.
        notes: how positions were understood.
        behind: of the last log, where one behind it would stand; else None.
    """

    staged: Staged | None
    kept: dict[str, Any] | None
    found: GtidSet
    notes: list[str]
    behind: Place | None

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest that is to be committed, or was before."""
        return (self.kept or {}) if self.staged is None else self.staged.manifest


class LogWriter:
    """Decodes and writes whole logs, in whichever process.

    Args:
        dataset: where to.
        files: the logs.
        selection: which transactions.
        options: how to write.
        done: is told how far it is.
    """

    def __init__(
        self,
        dataset: DataSet,
        files: Sequence[BinlogFile],
        selection: Selection,
        options: ParquetOptions,
        done: DoneBytes,
    ) -> None:
        self._dataset = dataset
        self._files = files
        self._selection = selection
        self._options = options
        self._done = done

    def write(
        self,
        log: int,
        place: Place,
        progress: Callable[[], None] = lambda: None,
        digest: LogDigest | None = None,
    ) -> WrittenLog:
        """Decode and write a log, which whoever commits it has begun.

        Args:
            log: its number, from 0.
            place: where it stands.
            progress: called now and then.
            digest: of the log, where that was begun.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        is_last = log + 1 == len(self._files)
        selector = Selector(self._selection, [one.name for one in self._files], in_parts=True)
        catalog: Catalog = pickle.loads(place.tables)
        state = ChainState(place.epoch, place.seqno)

        def reach(position: int) -> None:
            self._done.reach(log, position)
            progress()

        with Workers(1, 0) as workers:
            context = ExportContext(self._dataset, selector, catalog, self._options, state, workers)
            export = SourceExport(context, self._files[log], digest=digest)
            try:
                staged = self._staged(export, is_last, reach)
            except BaseException:
                export.abandon()
                raise
        behind = Place(state.epoch, state.seqno, pickle.dumps(catalog)) if is_last else None
        return WrittenLog(staged, export.kept, selector.found, selector.notes, behind)

    def _staged(self, export: SourceExport, is_last: bool, reach: Callable[[int], None]) -> Staged | None:
        if export.find_kept():
            if is_last or not self._selection.is_everything:
                export.pass_over(reach)
            return None
        export.write(self._dataset.begun(export.source), reach)
        staged = export.staged()
        # Who commits them is another process.
        return staged._replace(schemas=tuple(staged.schemas))


__all__ = ["DoneBytes", "LogWriter", "WrittenLog"]
