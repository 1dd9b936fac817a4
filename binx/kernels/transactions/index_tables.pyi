"""Build transaction tables from the columns of an index file."""

from collections.abc import Sequence
from typing import Final

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

COLUMN_NAMES: Final[tuple[str, ...]]
"""The fields of a transaction's record that its columns hold, in their order."""

COUNT_COLUMNS: Final[int]
"""Table number, inserts, updates, deletes and bytes, of each table that a transaction changed."""

def join(table: TransactionTable, more: TransactionTable) -> None:
    """Append to a table the transactions of the next one of the same scan.

    Raises:
        ValueError: they are of different scans.
    """

def sources_of(table: TransactionTable) -> list[bytes]:
    """Return the keys of all GTID sources that the scan has numbered, by number."""

class IndexedTables:
    """Builds transaction tables that share the numbers of sources and tables.

    Args:
        sources: the keys of the GTID sources, by number.
        tables: number of tables in the counts.

    Raises:
        DamagedError: a source is listed twice.
    """

    def __init__(self, sources: list[bytes], tables: int) -> None: ...
    def table(
        self, columns: Sequence[Buffer], counts: Sequence[Buffer], first: int, end: int
    ) -> TransactionTable:
        """Build a table of transactions from columns of numbers.

        Args:
            columns: for each of ``COLUMN_NAMES``, a 64-bit integer per transaction.
            counts: for the tables of all transactions, in order: table numbers, inserts, updates, deletes,
                bytes of rows events.
            first: offset in the log before which no transaction may begin.
            end: offset in the log after which none may end.

        Raises:
            DamagedError: a number is impossible in a log.
            ValueError: the columns have different lengths.
        """
