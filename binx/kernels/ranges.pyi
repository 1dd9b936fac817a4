"""Marked transactions as ranges of a log's bytes."""

from typing_extensions import Buffer

from binx.kernels.transactions import TransactionTable

def merged_ranges(table: TransactionTable, mask: Buffer | None, lengths_change: bool) -> bytes:
    """The marked transactions as byte ranges, those that follow each other in the file merged into one.

    A transaction whose GTID event cannot be patched in place (its length is wrong or will change, or the
    event is a tagged one, whose fields have no fixed width) stands apart.

    Args:
        table: transactions of a file.
        mask: a byte for each, 1 for marked; None for all.
        lengths_change: whether the length that a GTID event tells will change.

    Returns:
        Three 64-bit integers a range, native byte order: start, end, and the number of transactions, which is
        -1 for one that stands apart.
    """
