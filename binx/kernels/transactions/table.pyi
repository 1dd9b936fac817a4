"""A table of transaction records, and the queries that need no Arrow.

Build transaction tables from the columns of an index file.
"""

from array import array
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Final

from typing_extensions import Buffer

class Kind(IntEnum):
    """The kind of a transaction, by the event that ended it."""

    KIND_OTHER = 0
    KIND_DML = 1
    KIND_DDL = 2
    KIND_XA_PREPARE = 3
    KIND_XA_COMMIT = 4
    KIND_XA_ROLLBACK = 5
    KIND_ROLLBACK = 6
    KIND_EMPTY = 7
    KIND_INCIDENT = 8

class TextMatch(IntEnum):
    """Whether the text of one of a transaction's statements has what a walk searches."""

    TEXT_UNKNOWN = 0
    TEXT_ABSENT = 1
    TEXT_POSSIBLE = 2
    TEXT_FOUND = 3

class GtidKind(IntEnum):
    """The kind of a transaction's GTID."""

    GTID_NONE = 0
    GTID_MYSQL = 1
    GTID_MARIADB = 2
    GTID_ANONYMOUS = 3

FIELDS: Final[dict[str, int]]
"""The fields of a record by name, and ``bytes`` from start to end; all are returned as 64-bit integers."""

FLAG_HAS_XID: Final = 1
FLAG_HAS_THREAD: Final = 2
FLAG_HAS_CLOCK: Final = 4
FLAG_HAS_COUNTS: Final = 8
FLAG_BY_LENGTH: Final = 16
FLAG_COMMIT_TIME_FROM_GTID: Final = 32
FLAG_COMPRESSED: Final = 64
FLAG_LENGTH_WRONG: Final = 128

class TransactionTable:
    """Transactions in file order.

    A mask is a selection of records: one byte each, 1 for marked and 0 for not. All ``keep_`` methods
    change the mask in place, and raise ValueError if its length differs.
    """

    format: Any
    """The format description of the transactions' events."""

    def __len__(self) -> int: ...
    @property
    def bytes_held(self) -> int:
        """Bytes of memory used by the records and their counts."""

    def value(self, field: str, index: int) -> int:
        """Return one field of one record."""

    def column(self, field: str) -> bytes:
        """Return one field of all records: 8 bytes each, signed, native byte order."""

    def gtid(self, index: int) -> str | None:
        """Return a record's GTID in the server's notation, or None."""

    def gtids(self) -> tuple[bytes, bytes]:
        """Return all GTIDs as parts of an Arrow column: 32-bit offsets and UTF-8 text; empty without GTID."""

    def all_have_gtids(self) -> bool:
        """Whether every record has a GTID."""

    def source_key(self, index: int) -> bytes | None:
        """Return the source of a GTID: UUID and tag (16 bytes or more), domain and server (8), or None."""

    def counts_of(self, index: int) -> list[tuple[int, int, int, int, int]]:
        """Per table of one transaction: table number, inserts, updates, deletes, bytes of its rows events."""

    def count_column(self, which: int) -> bytes:
        """All per-table counts: 0 table number, 1 inserts, 2 updates, 3 deletes, 4 bytes; 8 bytes each."""

    def mask(self) -> bytearray:
        """Return a mask with every record marked."""

    def keep_range(self, mask: Buffer, field: str, first: int, last: int) -> None:
        """Unmark the records whose field is not in ``[first, last]``."""

    def keep_overlap(self, mask: Buffer, start: int, stop: int) -> None:
        """Unmark the records that have no byte in ``[start, stop)``."""

    def keep_values(self, mask: Buffer, field: str, values: Iterable[int], flag: int = 0) -> None:
        """Unmark the records whose field is not among the values, or that lack the flag."""

    def keep_gtids(self, mask: Buffer, intervals: dict[bytes, bytes], inside: bool) -> None:
        """Unmark the records whose GTID is not in a set (``inside``), or is (not ``inside``).

        Args:
            mask: the selection.
            intervals: by source's key, pairs of unsigned 64-bit integers, first and last, ascending.
            inside: whether to keep the GTIDs in the set.
        """

    def keep_tables(self, mask: Buffer, wanted: Buffer) -> None:
        """Unmark the records that changed no wanted table; ``wanted`` has a byte for each table number."""

    def mark_work(self, mask: bytearray) -> None:
        """Turn a selection into a decoder's marks.

        1 remains for rows and statements; 2 is for transactions that are not selected but have statements,
        which may be DDL; 3 is for selected transactions that were rolled back: only their statements are
        wanted.
        """

    def mark_statements(self, mask: bytearray) -> None:
        """Mark with 2 the unmarked transactions that have statements, which may be DDL."""

    def sum_counts(self, mask: Buffer) -> list[tuple[int, int, int, int, int]]:
        """Sum row changes by mark and table: (mark, table number, inserts, updates, deletes).

        Raises:
            ValueError: a mark is larger than 7.
        """

    def extents(self, mask: Buffer) -> tuple[int, int, int, int] | None:
        """Return first and last marked records' starts, and the least and greatest commit time (µs).

        None if none is marked.
        """

    def undoing(self, mask: Buffer) -> array[int]:
        """Return the indexes of records with mark 1 in which a ROLLBACK TO SAVEPOINT undoes changes."""

    def marked(self, mask: Buffer) -> array[int]:
        """Return the indexes of the marked records."""

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
