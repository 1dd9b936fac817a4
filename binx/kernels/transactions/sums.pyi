"""Running sums over transaction records."""

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

Sums = tuple[int, int, int]
"""Transactions, their bytes, their rows."""

class Tally:
    """Sums over all added transactions, in bounded memory.

    Attributes:
        servers_forgotten: whether there were too many servers to keep all; the sums of those kept may
            lack their first transactions.
        threads_forgotten: the same for connections.
        statements: number of statements of all transactions.
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
        """Return each table's sums since the last call, in the order of the scan's table numbers.

        The sums are transactions, inserts, updates, deletes, bytes of the rows events. Call it at the end of
        each scan.
        """

    @property
    def totals(self) -> Sums:
        """Sums of all transactions."""

    @property
    def kinds(self) -> dict[int, Sums]:
        """Sums by kind of transaction."""

    @property
    def sizes(self) -> dict[int, Sums]:
        """Sums by the bit length of a transaction's size in bytes."""

    @property
    def servers(self) -> list[tuple[int, int, int, int]]:
        """Server IDs with their sums, in the order of their first transactions."""

    @property
    def threads(self) -> list[tuple[int, int, int, int]]:
        """Server ID << 32 | connection ID with their sums, for the connections kept."""

    @property
    def compressed(self) -> tuple[int, int, int, int]:
        """Sums of the compressed transactions, and the uncompressed bytes of their payloads."""

    @property
    def with_text(self) -> Sums:
        """Sums of the transactions with statements as text, other than DDL."""

    @property
    def backward_steps(self) -> tuple[int, int]:
        """How often a commit time is more than a second before the last one, and the largest step in µs."""

    @property
    def backward_event_steps(self) -> tuple[int, int]:
        """The same for transactions whose time is that of their last event."""

    @property
    def histogram(self) -> tuple[int, int, list[Sums]]:
        """Seconds per bucket, the first bucket's time in seconds since 1970, the sums of each bucket."""
