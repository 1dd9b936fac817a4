"""Running sums over transaction records."""

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

Sums = tuple[int, int, int]
"""Transactions, their bytes, their rows."""

class Tally:
    """Sums of all transactions that were added, in bounded memory.

    Attributes:
        servers_forgotten: whether there were too many servers to remember all; those that are remembered may
            lack their first transactions.
        threads_forgotten: the same of connections.
        statements: statements of all transactions.
    """

    @property
    def servers_forgotten(self) -> bool: ...
    @property
    def threads_forgotten(self) -> bool: ...
    @property
    def statements(self) -> int: ...
    def add(self, table: TransactionTable, mask: Buffer | None = None) -> None:
        """Add a table's transactions.

        Args:
            table: the records.
            mask: one byte each, or None for all.
        """

    def take_tables(self) -> list[tuple[int, int, int, int, int]]:
        """Each table's sums since the last call, by the table numbers of the scan that gave the records.

        Transactions, inserts, updates, deletes, bytes of the rows events; to be called at the end of each
        scan.
        """

    @property
    def totals(self) -> Sums:
        """Of all."""

    @property
    def kinds(self) -> dict[int, Sums]:
        """Of each kind that there is."""

    @property
    def sizes(self) -> dict[int, Sums]:
        """By the number of bits that a transaction's bytes take."""

    @property
    def servers(self) -> list[tuple[int, int, int, int]]:
        """Server id and its sums, in the order of their first transactions."""

    @property
    def threads(self) -> list[tuple[int, int, int, int]]:
        """Server id << 32 | connection, and its sums, of those that are remembered."""

    @property
    def compressed(self) -> tuple[int, int, int, int]:
        """Sums of the compressed transactions, and the bytes of their payloads before."""

    @property
    def with_text(self) -> Sums:
        """Of those that hold statements as text and are no DDL."""

    @property
    def backward_steps(self) -> tuple[int, int]:
        """How often a commit time is over a second before the last one's, and the most µs of these."""

    @property
    def backward_event_steps(self) -> tuple[int, int]:
        """The same of transactions whose time is that of their last event."""

    @property
    def histogram(self) -> tuple[int, int, list[Sums]]:
        """Seconds of a bucket, the first bucket's time in seconds since 1970, the sums of each bucket."""
