"""Selected transactions: the ranges of a log's bytes that they are, and whether they fit each other."""

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

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

def clock_faults(table: TransactionTable, reached: int) -> tuple[int, int, int]:
    """Hold the logical clock: (transactions that break it, the first one's index or -1, the last number).

    A transaction's sequence number is more than that of the one before it in the file, and than the number of
    the one that it had to wait for. Transactions that take no part in the clock have 0.

    Args:
        table: transactions in the order of the file.
        reached: the sequence number of the transaction before them, 0 at the file's beginning.
    """

def flagged(table: TransactionTable, flag: int) -> tuple[int, int]:
    """Transactions that have a flag, one of ``FLAG_…``: (how many, the first one's index or -1)."""
