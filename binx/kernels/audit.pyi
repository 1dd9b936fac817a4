"""Checks of all transactions of a table against each other."""

from binx.kernels.transactions import TransactionTable

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
