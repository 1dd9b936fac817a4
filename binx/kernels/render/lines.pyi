"""Transactions as lines of text, a table at a time: JSON objects, or fields with tabs between."""

from collections.abc import Callable, Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

class LineColumn(IntEnum):
    """What a line can say of a transaction; the data set's columns in their order, and the duration."""

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

class TransactionLines:
    """What makes lines of transactions."""

    def __init__(
        self,
        columns: Sequence[int],
        leads: Sequence[bytes],
        json: bool,
        zone: Callable[[int], tuple[int, bytes]] | None,
        ending: bytes | None = None,
    ) -> None:
        """Say what lines look like.

        Args:
            columns: numbers of :class:`LineColumn`.
            leads: for each column the text before its value: a name in JSON, or a tab.
            json: JSON objects; else plain fields, a hyphen for what is not known.
            zone: gives for seconds since 1970 the offset in seconds and the suffix of times, of at most 16
                bytes; None for UTC.
            ending: stands behind each; None for what ends a line.
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
        """Go on with the transactions of another scan.

        Args:
            file: the log's name as the lines show it.
            base: the commit version of the offset 0.
            epoch: the log's epoch.
            name_of: gives for a table's number the text that shows its name.
            identify: gives for a start the id of a transaction without GTID.
            tell: gives for start and end of a schema statement its text, for plain fields; None: a hyphen.
        """

    def render(self, table: TransactionTable, mask: Buffer | None, first_seqno: int) -> tuple[bytes, bytes]:
        """The lines of a table's transactions.

        Args:
            table: the records.
            mask: one byte each, 1 for those that are wanted; None for all.
            first_seqno: the first record's number in the chain; 0 where it is not known.

        Returns:
            The lines, and where each ends: 8 bytes each, native byte order.
        """
