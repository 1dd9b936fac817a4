"""A log's transactions on their way to be decoded: found, chosen, named, numbered and counted.

Finding them takes about as long as decoding their rows, and needs nothing that decoding finds out. So where
there are threads it goes on some tables of transactions ahead of the decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.gtid_set import GtidSet
from binx.event.payload import KeptPayloads
from binx.export.index_rows import GROUP_ROWS, IndexGroup, index_group
from binx.export.salvaging import Salvaging
from binx.export.source_sums import Counted
from binx.export.staging import ChainState
from binx.export.workers import Lane
from binx.kernels.index_columns import IndexColumns, extents
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.gtid_keys import marked_gtids
from binx.log.identifiers import transaction_ids
from binx.log.scan import Resumption, Scan
from binx.log.selection import Selector

STEP_BYTES = 4 * 1024 * 1024
"""How far the scan walks before what it found is decoded, so that it is still in the processor's cache."""

AHEAD = 2
"""How many tables are found ahead of the one that is decoded, at most."""

SLICE_BYTES = 64 * 1024 * 1024
"""A slice has the transactions that begin between two multiples of so many bytes; it has whole steps."""

LAST_SLICE_BYTES = 16 * 1024 * 1024
"""The same of slices near the end of a log of several, so that processes come to it at the same time."""


def slice_end(position: int, size: int) -> int:
    """Where the slice ends that has a place of a log.

    Args:
        position: the place.
        size: the log's bytes.
    """
    whole = size // SLICE_BYTES
    is_near_end = whole > 1 and position >= (whole - 1) * SLICE_BYTES
    each = LAST_SLICE_BYTES if is_near_end else SLICE_BYTES
    return position - position % each + each


def slice_from(position: int, description: FormatDescription, size: int) -> Resumption:
    """The slice that begins at a place of a log.

    Args:
        position: the place; no transaction is open there.
        description: the format description in force there.
        size: the log's bytes.
    """
    stop = slice_end(position, size)
    return Resumption(position, description, stop if stop < size else None)


def slice_behind(scan: Scan) -> Resumption | None:
    """The slice behind the one that a scan has walked; None at the log's end."""
    return None if scan.ending is not None else slice_from(scan.position, scan.format, scan.file.size)


@contextmanager
def resumed(file: BinlogFile, resumption: Resumption) -> Iterator[None]:
    """While this lasts, scans over a file read a part of it."""
    before, file.resumption = file.resumption, resumption
    try:
        yield
    finally:
        file.resumption = before


class Found(NamedTuple):
    """Some transactions.

    Attributes:
        table: where they are.
        marks: what is to be done with each, as the decoder takes it.
        ids: their ids, as :func:`~binx.log.identifiers.transaction_ids` gives them.
        ended: where a slice begins with them, the last row group of the slice before; None where that has no
            more.
        begins_slice: whether one does.
        group: a row group of those that were chosen so far of the slice; None while it is gathered.
        span: of those, first and last commit version, earliest and latest commit time; None without any.
        counts: their row changes.
        position: how far the scan has come.
        payloads: the events of the compressed ones.
    """

    table: TransactionTable
    marks: bytearray
    ids: tuple[bytes, bytes]
    ended: IndexGroup | None
    begins_slice: bool
    group: IndexGroup | None
    span: tuple[int, int, int, int] | None
    counts: list[Counted]
    position: int
    payloads: KeptPayloads


class _StoppedError(Exception):
    """Nobody wants what would be found."""


class Finder:
    """Finds the transactions of a log. Iterate it once.

    Args:
        scan: a scan of the log at ``LEVEL_TABLES``; while the iteration lasts, it is nobody else's.
        selector: the search; it is moved on.
        state: where in the chain the log stands; it is moved on.
        salvaging: what sorts out those that cannot be decoded.
        lane: where they are found ahead; None: each is found when the one before is decoded.
        payload_bytes: how much of compressed transactions is kept, so that they are decompressed once.

    Attributes:
        gtids: of the chosen transactions found so far.
    """

    def __init__(
        self,
        scan: Scan,
        selector: Selector,
        state: ChainState,
        salvaging: Salvaging,
        lane: Lane | None,
        payload_bytes: int,
    ) -> None:
        self.gtids = GtidSet()
        self._scan = scan
        self._selector = selector
        self._state = state
        self._salvaging = salvaging
        self._lane = lane
        self._payload_bytes = payload_bytes
        self._is_stopped = False
        self._gathered = IndexColumns()
        self._slice_end = partial(slice_end, size=scan.file.size)
        scan.step, scan.slice_end = STEP_BYTES, self._slice_end
        self._slice_stop = self._slice_end(scan.position)
        if lane is not None:
            scan.watch = self._unless_stopped(scan.watch)

    @property
    def walked(self) -> int:
        """How many bytes the scan walks, at most, from where a table begins until that table is decoded."""
        return STEP_BYTES if self._lane is None else (AHEAD + 2) * STEP_BYTES

    def __iter__(self) -> Iterator[Found]:
        """Yield the transactions, in the file's order.

        Raises:
            BinxError: as the scan and the search do; what was found before is yielded first.
        """
        return self._each() if self._lane is None else self._ahead(self._lane)

    def rest(self) -> IndexGroup | None:
        """The last row group, once all transactions are found; None where there is nothing more."""
        return self._group() if len(self._gathered) else None

    def stop(self) -> None:
        """Look for no more, and wait until nobody does."""
        self._is_stopped = True
        if self._lane is not None:
            self._lane.drop()

    def _each(self) -> Iterator[Found]:
        self._scan.payloads = KeptPayloads(self._payload_bytes)
        for table in self._tables():
            found = self._found(table, self._scan.payloads)
            yield found
            found.payloads.clear()

    def _ahead(self, lane: Lane) -> Iterator[Found]:
        results: SimpleQueue[Found | BaseException | None] = SimpleQueue()
        tables = self._tables()

        def find() -> None:
            try:
                payloads = self._scan.payloads = KeptPayloads(self._payload_bytes)
                table = next(tables, None)
                results.put(None if table is None else self._found(table, payloads))
            except BaseException as error:
                results.put(error)

        waiting = 0
        wanted = AHEAD
        while True:
            while waiting < wanted:
                lane.submit(find)
                waiting += 1
            found = results.get()
            waiting -= 1
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            # Of compressed transactions two tables' events are enough to hold.
            wanted = 1 if found.payloads.held else AHEAD
            yield found
            found.payloads.clear()

    def _tables(self) -> Iterator[TransactionTable]:
        return (table for table in self._scan if len(table))

    def _unless_stopped(
        self, watch: Callable[[int, memoryview], None] | None
    ) -> Callable[[int, memoryview], None]:
        def watched(start: int, window: memoryview) -> None:
            if self._is_stopped:
                raise _StoppedError
            if watch is not None:
                watch(start, window)

        return watched

    def _found(self, table: TransactionTable, payloads: KeptPayloads) -> Found:
        scan, file, state = self._scan, self._scan.file, self._state
        mask = self._selector.mask(file, scan, table)
        lost = self._salvaging.unmark_lost(table, mask)
        if state.row_filter is not None:
            state.row_filter.keep(file, table, mask, lost)
        self.gtids |= GtidSet(marked_gtids(table, mask))
        ids = transaction_ids(file, table)
        span = extents(table, mask)
        # The last transaction stands behind all others.
        file.commit_version(table.value("start", len(table) - 1))
        first = table.value("start", 0)
        begins_slice = first >= self._slice_stop
        ended = self.rest() if begins_slice else None
        if begins_slice:
            self._slice_stop = self._slice_end(first)
        self._gathered.add(table, mask, ids, file.commit_version(0), state.seqno, state.epoch)
        group = self._group() if len(self._gathered) >= GROUP_ROWS else None
        state.seqno += len(table)
        if span is not None:
            span = (file.commit_version(span[0]), file.commit_version(span[1]), *span[2:])
        counts = self._counted(table, mask, lost)
        return Found(table, mask, ids, ended, begins_slice, group, span, counts, scan.position, payloads)

    def _group(self) -> IndexGroup:
        return index_group(self._scan.file, self._scan, self._gathered)

    def _counted(self, table: TransactionTable, mask: bytearray, lost: dict[int, int]) -> list[Counted]:
        """Count row changes, and mark what is looked at only for DDL, or not for its rows."""
        table.mark_work(mask)
        for index, mark in lost.items():
            mask[index] = mark
        counts = [
            Counted(self._scan.table_name(number), mark, *changes)
            for mark, number, *changes in table.sum_counts(mask)
        ]
        for index in lost:
            mask[index] = 0
        return counts


__all__ = ["Finder", "Found", "resumed", "slice_behind", "slice_end", "slice_from"]
