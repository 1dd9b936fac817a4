"""A table of transaction records, and the queries that need no Arrow."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final

from typing_extensions import Buffer

class Kind(IntEnum):
    """What a transaction is, by the event that ended it."""

    KIND_OTHER = 0
    KIND_DML = 1
    KIND_DDL = 2
    KIND_XA_PREPARE = 3
    KIND_XA_COMMIT = 4
    KIND_XA_ROLLBACK = 5
    KIND_ROLLBACK = 6
    KIND_EMPTY = 7
    KIND_INCIDENT = 8

class GtidKind(IntEnum):
    """What kind of identifier a transaction has."""

    GTID_NONE = 0
    GTID_MYSQL = 1
    GTID_MARIADB = 2
    GTID_ANONYMOUS = 3

FIELDS: Final[dict[str, int]]
"""The fields of a record by name, and ``bytes`` from start to end; all come out as 64-bit integers."""

FLAG_HAS_XID: Final = 1
FLAG_HAS_THREAD: Final = 2
FLAG_HAS_CLOCK: Final = 4
FLAG_HAS_COUNTS: Final = 8
FLAG_BY_LENGTH: Final = 16
FLAG_COMMIT_TIME_FROM_GTID: Final = 32
FLAG_COMPRESSED: Final = 64
FLAG_LENGTH_WRONG: Final = 128

class TransactionTable:
    """Transactions in the order of the file.

    A mask is a selection of records: one byte each, 1 for marked and 0 for not. All ``keep_`` methods
    change the mask in place, and raise ValueError for one of another length.
    """

    format: Any
    """The format description that rules the transactions' events."""

    def __len__(self) -> int: ...
    @property
    def bytes_held(self) -> int:
        """Bytes of memory that the records and their counts take."""

    def value(self, field: str, index: int) -> int:
        """One field of one record."""

    def column(self, field: str) -> bytes:
        """One field of all records: 8 bytes each, signed, native byte order."""

    def gtid(self, index: int) -> str | None:
        """A record's GTID as the server writes it, or None."""

    def gtids(self) -> tuple[bytes, bytes]:
        """All GTIDs as parts of an Arrow column: 32-bit offsets and UTF-8 text; empty where there is none."""

    def all_have_gtids(self) -> bool:
        """Whether every record has a GTID."""

    def source_key(self, index: int) -> bytes | None:
        """The source of a record's GTID: UUID and tag (16 bytes or more), domain and server (8), or None."""

    def counts_of(self, index: int) -> list[tuple[int, int, int, int, int]]:
        """Per table of one transaction: table number, inserts, updates, deletes, bytes of its rows events."""

    def count_column(self, which: int) -> bytes:
        """All per-table counts: 0 table number, 1 inserts, 2 updates, 3 deletes, 4 bytes; 8 bytes each."""

    def mask(self) -> bytearray:
        """A mask in which every record is marked."""

    def keep_range(self, mask: Buffer, field: str, first: int, last: int) -> None:
        """Unmark the records whose field is not in ``[first, last]``."""

    def keep_overlap(self, mask: Buffer, start: int, stop: int) -> None:
        """Unmark the records that have no byte in ``[start, stop)``."""

    def keep_values(self, mask: Buffer, field: str, values: Iterable[int], flag: int = 0) -> None:
        """Unmark the records whose field is not one of the values, or that lack the flag."""

    def keep_gtids(self, mask: Buffer, intervals: dict[bytes, bytes], inside: bool) -> None:
        """Unmark the records whose GTID is not in a set (``inside``), or is (not ``inside``).

        Args:
            mask: the selection.
            intervals: by source's key, pairs of unsigned 64-bit integers, first and last, ascending.
            inside: which of the two.
        """

    def gtid_runs(self, mask: Buffer) -> list[tuple[bytes, int, int]]:
        """The GTIDs of the marked records as intervals: (source's key, first, last), not sorted."""

    def keep_tables(self, mask: Buffer, wanted: Buffer) -> None:
        """Unmark the records that changed no wanted table; ``wanted`` has a byte for each table number."""

    def mark_work(self, mask: bytearray) -> None:
        """Turn a selection into marks of what is to be done with each transaction.

        1 stays for rows and statements; 2 is for one that was not selected and has statements, which may
        define tables; 3 for a selected one that was rolled back: its statements are wanted, its rows were
        undone.
        """

    def mark_statements(self, mask: bytearray) -> None:
        """Mark with 2 what is unmarked and has statements, which may define tables."""

    def sum_counts(self, mask: Buffer) -> list[tuple[int, int, int, int, int]]:
        """Row changes of the transactions by mark: (mark, table number, inserts, updates, deletes).

        Raises:
            ValueError: a mark is larger than 7.
        """

    def extents(self, mask: Buffer) -> tuple[int, int, int, int] | None:
        """Starts of the first and the last marked record, least and greatest commit time (µs).

        None where none is marked.
        """

    def undoing(self, mask: Buffer) -> list[int]:
        """The indexes of the records with mark 1 in which a ROLLBACK TO SAVEPOINT undoes a part."""

    def marked(self, mask: Buffer) -> list[int]:
        """The indexes of the marked records."""
