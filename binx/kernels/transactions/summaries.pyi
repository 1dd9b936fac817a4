"""Selected transactions: byte ranges in a log, GTIDs, logical clock checks, rankings, running sums."""

from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

def merged_ranges(table: TransactionTable, mask: Buffer | None, lengths_change: bool) -> bytes:
    """Return the marked transactions as byte ranges; adjacent transactions are merged.

    A transaction whose GTID event cannot be patched in place (its length is wrong or will change, or the
    event is a tagged one, whose fields have no fixed width) gets its own range.

    Args:
        table: transactions of a file.
        mask: a byte for each, 1 for marked; None for all.
        lengths_change: whether the transaction length in GTID events will change.

    Returns:
        Three 64-bit integers per range, native byte order: start, end, and the number of transactions, which
        is -1 for a transaction that cannot be patched.
    """

def whole_transactions(
    table: TransactionTable,
    taken: Buffer,
    first: int,
    versions: Buffer,
    marks: Buffer,
    ends: Buffer,
    run: int,
    stop: int,
    usual: bool,
    mark: int,
    without_gtid: bool,
) -> int:
    """How many of the transactions that come next are whole in the runs of row changes that come next.

    They have row changes alone, and all of them stand in one run each.

    Args:
        table: the transactions.
        taken: the indexes of those that are wanted, int64.
        first: the place there of the one that comes next.
        versions: commit versions of runs, int64.
        marks: their marks, bytes.
        ends: where they end, int64.
        run: the run that comes next.
        stop: the run at which to stop.
        usual: whether only those count that a script of SQL runs between BEGIN and COMMIT, and that all have
            a GTID, or all have none.
        mark: of these, the mark that they must have.
        without_gtid: of these, whether they may be without a GTID.

    Raises:
        ValueError: the runs' columns are not alike in length.
    """

def clock_faults(table: TransactionTable, reached: int) -> tuple[int, int, int]:
    """Check the logical clock; return (number of violations, the first one's index or -1, the last number).

    A transaction's sequence_number must exceed that of the transaction before it in the file, and its own
    last_committed. Transactions without a logical clock have 0.

    Args:
        table: transactions in file order.
        reached: the sequence number of the transaction before them, 0 at the file's start.
    """

def flagged(table: TransactionTable, flag: int) -> tuple[int, int]:
    """Return (number of transactions with a flag ``FLAG_…``, the first one's index or -1)."""

class Measure(IntEnum):
    """The measure by which transactions are ranked.

    A duration is wall-clock seconds from the start of the first statement, which is logged in whole
    seconds, to the commit on the originating server; -1 if the clock went back.
    """

    MEASURE_BYTES = 0
    MEASURE_ROWS = 1
    MEASURE_DURATION = 2
    MEASURE_COMMIT_TIME = 3

def measures(table: TransactionTable, mask: Buffer | None, measure: int) -> bytes:
    """Return a measure of the marked records: 8 bytes each, native byte order.

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
    """Return the marked records with the largest (or smallest) values of a measure.

    Args:
        table: the records.
        mask: one byte each, or None for all.
        measure: one of :class:`Measure`.
        smallest: rank by the smallest values.
        limit: maximum number of records.
        floor: only values beyond this one.

    Returns:
        Pairs of value and index, best first; of equal values, the earlier records.
    """

def gtid_runs(table: TransactionTable, mask: Buffer) -> list[tuple[bytes, int, int]]:
    """Return the GTIDs of the marked transactions as unsorted intervals: (source's key, first, last).

    Raises:
        ValueError: the mask's length differs from the table's.
    """

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
