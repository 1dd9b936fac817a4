"""Records of transactions as an index file keeps them: packed column by column, and unpacked again."""

from typing import Final, TypeAlias

from typing_extensions import Buffer

from binx.kernels.transactions import TransactionTable

Extent: TypeAlias = tuple[int, int]
"""The least and the most of a field."""

RECORDS_MAXIMUM: Final[int]
"""Transactions of a block, at most."""

COUNTS_MAXIMUM: Final[int]
"""Per-table counts of a block, at most."""

def pack(table: TransactionTable) -> bytes:
    """A table's transactions as one block."""

def join(table: TransactionTable, more: TransactionTable) -> None:
    """Append to a table the transactions of the next one of the same scan.

    Raises:
        ValueError: the tables are not of one scan.
    """

def counts_of(table: TransactionTable) -> int:
    """How many per-table counts a table's transactions have."""

def sources_of(table: TransactionTable) -> list[bytes]:
    """The keys of all GTIDs' sources that the scan has numbered so far, by their numbers."""

def block_facts(
    table: TransactionTable,
) -> tuple[Extent | None, Extent | None, Extent | None, Extent | None, Extent | None, int]:
    """What can be said of all transactions of a block.

    Returns:
        The extents of commit times (microseconds), server ids, sizes (bytes), XIDs and thread ids, the last
        two of the transactions that have them, each None where none has; and how many transactions have
        statements, which may define tables, and how many are steps of XA transactions, added up.
    """

class StoredTables:
    """Gives the tables of packed blocks; the names of sources and tables are shared by all."""

    def __init__(self, sources: list[bytes], tables: int) -> None:
        """Take over the names.

        Args:
            sources: the keys of the GTIDs' sources, by their numbers.
            tables: how many tables the counts speak of.

        Raises:
            DamagedError: a source stands there twice.
        """

    def unpack(
        self, block: Buffer, records: int, counts: int, first: int, end: int, origin: int
    ) -> TransactionTable:
        """A block's transactions.

        Args:
            block: the block's bytes.
            records: how many transactions it holds.
            counts: how many per-table counts.
            first: offset in the log before which no transaction may begin.
            end: offset in the log behind which none may end.
            origin: offset of the block in its file, for messages.

        Raises:
            DamagedError: it holds anything else.
        """
