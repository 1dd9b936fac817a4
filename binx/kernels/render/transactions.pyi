"""Render transaction tables as text: lines, JSON, and the comments before changes in SQL."""

from collections.abc import Callable, Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

class TextColumn(IntEnum):
    """Fields of a transaction: the data set's columns in their order, and more for scripts.

    ``BEGIN_SECOND`` is the start of its first statement, in seconds since 1970, unless the transaction before
    began in the same second; the three after it are the parts of MariaDB's GTID,
    ``GTID_NEXT`` is MySQL's; ``NOTHING`` has no value.
    """

    COLUMN_COMMIT_VERSION = 0
    COLUMN_TRANSACTION = 1
    COLUMN_GTID = 2
    COLUMN_XID = 3
    COLUMN_SERVER_ID = 4
    COLUMN_EPOCH = 5
    COLUMN_SEQNO = 6
    COLUMN_KIND = 7
    COLUMN_HOW = 8
    COLUMN_FILE = 9
    COLUMN_START = 10
    COLUMN_END = 11
    COLUMN_BYTES = 12
    COLUMN_UNCOMPRESSED_BYTES = 13
    COLUMN_COMMIT_TIMESTAMP = 14
    COLUMN_COMMIT_TIME_SOURCE = 15
    COLUMN_ORIGINAL_COMMIT_TIMESTAMP = 16
    COLUMN_BEGIN_TIMESTAMP = 17
    COLUMN_LAST_COMMITTED = 18
    COLUMN_SEQUENCE_NUMBER = 19
    COLUMN_THREAD_ID = 20
    COLUMN_EVENTS = 21
    COLUMN_ROWS = 22
    COLUMN_STATEMENTS = 23
    COLUMN_TABLES = 24
    COLUMN_DURATION = 25
    COLUMN_BEGIN_SECOND = 26
    COLUMN_GTID_DOMAIN = 27
    COLUMN_GTID_SERVER = 28
    COLUMN_GTID_SEQUENCE = 29
    COLUMN_GTID_NEXT = 30
    COLUMN_NOTHING = 31

Field = tuple[bytes, int, bytes]
"""The text before a value, its :class:`TextColumn`, the text after it."""

class TransactionTexts:
    """Renders transactions as text.

    Attributes:
        second: start of the last rendered transaction, in seconds since 1970; -1 before the first.
    """

    second: int

    def __init__(
        self,
        fields: Sequence[Field],
        ending: bytes,
        json: bool,
        absent: bytes | None,
        zone: Callable[[int], tuple[int, bytes]] | None,
    ) -> None:
        """Set the format.

        Args:
            fields: the fields of a transaction's text.
            ending: text after each transaction.
            json: whether to quote texts and write tables as lists.
            absent: text for unknown values; None to omit such fields.
            zone: returns, for seconds since 1970, the UTC offset in seconds and the suffix of times, of at
                most 16 bytes; None for UTC.
        """

    def begin_file(
        self,
        file: bytes,
        base: int,
        epoch: int,
        name_of: Callable[[int], bytes],
        identify: Callable[[int], bytes],
        tell: Callable[[int, int], bytes] | None = None,
    ) -> None:
        """Begin the transactions of another scan.

        Args:
            file: the log's name in the output.
            base: the commit version of offset 0.
            epoch: the log's epoch.
            name_of: returns the text of a table's name by its number.
            identify: returns the ID of a transaction without GTID by its start.
            tell: returns a DDL statement's text by start and end, for plain fields; None for a hyphen.
        """

    def render(self, table: TransactionTable, taken: Buffer, first_seqno: int) -> tuple[bytes, bytes]:
        """Render some of a table's transactions.

        Args:
            table: the records.
            taken: indexes of records, int64.
            first_seqno: the first record's number in the chain; -1 if unknown.

        Returns:
            The texts, and the end of each: 8 bytes each, native byte order.

        Raises:
            ValueError: an index is not in the table.
        """
