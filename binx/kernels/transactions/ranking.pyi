"""What transactions are ranked by, and those of them that have most of it."""

from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

class Measure(IntEnum):
    """What transactions are ranked by.

    A duration is in seconds by the clock, from the start of the first statement, which is logged in whole
    seconds, to the commit on the server that made the change first; -1 where the clock went back.
    """

    MEASURE_BYTES = 0
    MEASURE_ROWS = 1
    MEASURE_DURATION = 2
    MEASURE_COMMIT_TIME = 3

def measures(table: TransactionTable, mask: Buffer | None, measure: int) -> bytes:
    """A measure of the marked records: 8 bytes each, native byte order.

    Args:
        table: the records.
        mask: one byte each, or None for all.
        measure: one of :class:`Measure`.
    """

def rank(
    table: TransactionTable,
    mask: Buffer | None,
    measure: int,
    smallest: bool,
    limit: int,
    floor: int | None = None,
) -> list[tuple[int, int]]:
    """The marked records that have most (or least) of a measure.

    Args:
        table: the records.
        mask: one byte each, or None for all.
        measure: one of :class:`Measure`.
        smallest: look for the least.
        limit: how many at most.
        floor: take only what goes beyond this value.

    Returns:
        Pairs of value and index, best first; of equals the earlier ones.
    """
