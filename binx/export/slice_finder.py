"""Where the slices of a log begin: behind the slice before, which is walked over or decoded."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

from binx.export.finding import STEP_BYTES, resumed, slice_behind, slice_end, slice_from
from binx.export.slices import Slice, SliceWriter, WrittenSlice
from binx.export.staging import ChainState
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.scan import Resumption
from binx.rows.catalog import Catalog
from binx.rows.following import pass_over


class SliceFinder:
    """The slices of a log, one after another.

    Of the one at hand it is known where it begins, and the tables there. To go on to the next one it is
    walked over, if others decode it, or decoded here.

    Args:
        file: the log.
        catalog: the tables known at its beginning; it is moved on.
        state: where in the chain it stands; it is moved on.
        watch: is told of each window that is read.
    """

    def __init__(
        self, file: BinlogFile, catalog: Catalog, state: ChainState, watch: Callable[[int, memoryview], None]
    ) -> None:
        self._file = file
        self._catalog = catalog
        self._state = state
        self._watch = watch
        self._place: Resumption | None = slice_from(file.first_position, file.format, file.size)
        self._pickled: tuple[Catalog, bytes] | None = None

    @property
    def at_end(self) -> bool:
        """Whether there are no more slices."""
        return self._place is None

    @property
    def start(self) -> int:
        """Where in the log the slice at hand begins."""
        return self._at_hand().position

    @property
    def stop(self) -> int:
        """Where in the log the slice at hand ends, at the least."""
        place = self._at_hand()
        return self._file.size if place.stop is None else place.stop

    def slice(self) -> Slice:
        """The slice at hand, for whoever is to decode it."""
        place = self._at_hand()
        before = self._pickled
        if before is None or not self._catalog.is_as(before[0]):
            before = self._pickled = self._catalog.copy(), pickle.dumps(self._catalog)
        return Slice(
            place.position, place.stop, place.format, self._state.epoch, self._state.seqno, before[1]
        )

    def pass_over(self) -> None:
        """Go on to the next slice; only headers of events and statements of the one at hand are looked at.

        Raises:
            BinxError: the log cannot be read on; whoever decodes the slice may tell more.
        """
        file = self._file
        with resumed(file, self._at_hand()):
            scan = file.scan(Level.LEVEL_EVENTS, verify=False, on_damage=OnDamage.STOP)
            scan.watch = self._watch
            scan.step, scan.slice_end = STEP_BYTES, partial(slice_end, size=file.size)
            self._state.seqno += pass_over(scan, self._catalog)
            self._place = slice_behind(scan)

    def decode(self, writer: SliceWriter, number: int) -> WrittenSlice:
        """Go on to the next slice; the one at hand is decoded and written.

        Args:
            writer: what writes it.
            number: of the log, as the writer knows it.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        written, self._place = writer.write(number, self._at_hand(), self._catalog, self._state, self._watch)
        return written

    def _at_hand(self) -> Resumption:
        if self._place is None:
            raise ValueError("there are no more slices")
        return self._place


__all__ = ["SliceFinder"]
