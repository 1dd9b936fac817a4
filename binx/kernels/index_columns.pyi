"""The columns of the transaction index, made of a table's records in one go."""

from collections.abc import Sequence

from binx.kernels.transactions import TransactionTable

def index_columns(
    table: TransactionTable, base: int, first_seqno: int, epoch: int
) -> dict[str, tuple[bytes | None, int, bytes]]:
    """The values of all columns, and what is null in those that may have nulls.

    Args:
        table: the transactions.
        base: what is added to a transaction's start to make its commit version.
        first_seqno: the number of the first transaction; the others count on.
        epoch: that of all of them.

    Returns:
        By the column's name what its Arrow array is made of: validity bits (None where nothing is null), the
        number of nulls, the values. ``kind``, ``how`` and ``commit_time_source`` are numbers of one byte,
        ``epoch`` has four, ``tables`` is the offsets of lists (four bytes, one more than there are records),
        all others have eight; ``gtid`` has none, its text is that of the transactions' ids.
    """

def count_columns(
    table: TransactionTable, databases: Sequence[int], names: Sequence[int]
) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """What all transactions did to tables, one after another, as the lists of ``tables`` have it.

    Args:
        table: the transactions.
        databases: by table number, the number that its database goes by.
        names: by table number, the number that its name goes by.

    Returns:
        The numbers of databases and of names (four bytes each), inserts, updates and deletes (eight each).

    Raises:
        IndexError: a count is of a table that the numbers do not reach.
    """

def extents(table: TransactionTable, mask: bytearray) -> tuple[int, int, int, int] | None:
    """Where the first and the last marked transaction start, their least and greatest commit time in µs.

    None where none is marked.

    Raises:
        ValueError: the mask is not as long as the table.
    """
