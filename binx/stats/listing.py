"""Transactions one by one, as ``ls`` shows them: in the order of the log, or sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from binx.errors import BinxError, UsageError
from binx.kernels.scan import Level
from binx.kernels.tally import Measure
from binx.log.chain import epochs
from binx.log.file import BinlogFile
from binx.log.selection import Selection, Selector, required_level
from binx.stats.ranking import Best, Sorted
from binx.stats.transaction import KIND_NAMES, ListedTransaction, Page, TableChanges


class Order(Enum):
    """What a listing is sorted by."""

    LOG = "log"
    """As the transactions stand in the logs."""
    BYTES = "bytes"
    ROWS = "rows"
    TIME = "time"
    """Commit time, the earliest first; all others begin with the largest."""
    DURATION = "duration"


_MEASURES = {
    Order.BYTES: Measure.MEASURE_BYTES,
    Order.ROWS: Measure.MEASURE_ROWS,
    Order.TIME: Measure.MEASURE_COMMIT_TIME,
    Order.DURATION: Measure.MEASURE_DURATION,
}


def list_transactions(
    files: Sequence[BinlogFile],
    *,
    selection: Selection | None = None,
    order: Order = Order.LOG,
    reverse: bool = False,
    limit: int | None = None,
    quick: bool = False,
    verify: bool = True,
) -> Iterator[ListedTransaction]:
    """The transactions of a chain of logs.

    With an order and a limit the memory is bounded; with an order alone it grows by some 200 bytes a
    transaction. Of equals, those that stand earlier in the logs come first.

    Args:
        files: the logs in their order, as :func:`binx.log.chain.order_files` gives it.
        selection: which transactions; its limit counts before the order does.
        order: what they are sorted by.
        reverse: begin with the smallest, or with the latest; cannot go with ``Order.LOG``.
        limit: how many at most.
        quick: read the index alone, so that rows and tables stay unknown.
        verify: whether checksums are compared.

    Raises:
        UsageError: the request contradicts itself.
        DamagedError, UnsupportedError: after all that could be read.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"expected a limit of at least 1 transaction, found {limit}")
    if order is Order.LOG and reverse:
        raise UsageError("expected an order to reverse, such as time or bytes, found none")
    if order is Order.ROWS and quick:
        raise UsageError("expected a full scan to sort by rows, found a quick one, which does not know them")
    level = Level.LEVEL_INDEX if quick else Level.LEVEL_TABLES
    pages = _pages(files, selection or Selection(), level, verify=verify)
    if order is Order.LOG:
        return _in_log_order(pages, limit)
    smallest = (order is Order.TIME) != reverse
    if limit is None:
        return _ranked(pages, Sorted(_MEASURES[order], smallest=smallest))
    return _ranked(pages, Best(_MEASURES[order], limit, smallest=smallest))


def _pages(
    files: Sequence[BinlogFile], selection: Selection, level: Level, *, verify: bool
) -> Iterator[Page]:
    selector = Selector(selection, [file.name for file in files])
    everything = selection.is_everything
    seqno = 1
    for file, epoch in zip(files, epochs(files), strict=True):
        scan = file.scan(max(level, required_level(selection)), verify=verify)
        for table in scan:
            mask = None if everything else selector.mask(file, scan, table)
            yield Page(file, scan, table, epoch, seqno, mask=mask)
            seqno += len(table)
            if not everything and selector.complete:
                return


def _in_log_order(pages: Iterator[Page], limit: int | None) -> Iterator[ListedTransaction]:
    left = limit
    for page in pages:
        for index in page.indexes():
            yield page.describe(index)
            if left is not None:
                left -= 1
                if left == 0:
                    return


def _ranked(pages: Iterator[Page], ranking: Best | Sorted) -> Iterator[ListedTransaction]:
    """Everything that could be read in its order, and only then what went wrong."""
    damage: BinxError | None = None
    try:
        for page in pages:
            ranking.take(page)
    except BinxError as error:
        damage = error
    yield from ranking.transactions
    if damage is not None:
        raise damage


__all__ = ["KIND_NAMES", "ListedTransaction", "Order", "TableChanges", "list_transactions"]
