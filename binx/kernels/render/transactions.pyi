"""Render transaction tables as text: lines, JSON, and the comments before changes in SQL.

Render row changes of several tables as one text in log order, directly from the columns' buffers.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.transactions.table import TransactionTable

class Spelling(IntEnum):
    r"""How a column's values are written.

    ``NOTHING`` has no column; ``TEXT`` stands as it is; ``SQL`` and ``JSON`` are strings of UTF-8 in quotes;
    ``REAL`` is text that gets an exponent where it has none; ``SIGNED`` to ``TIME`` are numbers of fixed
    width: DECIMAL unscaled in 16 bytes, moments and spans in µs, days; ``ESCAPED`` is text with ``\xNN`` for
    what is no UTF-8. The last three have no column: ``EVENT`` is a text before the first row of a rows event,
    ``BETWEEN`` before each other row; ``ORDINAL`` the row's number in its event.
    """

    SPELL_NOTHING = 0
    SPELL_TEXT = 1
    SPELL_SQL = 2
    SPELL_JSON = 3
    SPELL_HEXADECIMAL = 4
    SPELL_BASE64 = 5
    SPELL_REAL = 6
    SPELL_SIGNED = 7
    SPELL_UNSIGNED = 8
    SPELL_DECIMAL = 9
    SPELL_MOMENT = 10
    SPELL_INSTANT = 11
    SPELL_DATE = 12
    SPELL_TIME = 13
    SPELL_ESCAPED = 14
    SPELL_EVENT = 15
    SPELL_ORDINAL = 16
    SPELL_BETWEEN = 17

class State(IntEnum):
    """Why the writing stopped."""

    STATE_DONE = 0
    STATE_FULL = 1

Column = tuple[Buffer | None, int, Buffer | None, int, int, Buffer | None, Buffer | None, int, int, int]
"""Data, bytes of a value, offsets, bytes of an offset (4 or 8), bytes that it counts, validity, codes into
the data's values, bytes of a code (1 or 4), first value, values."""

KernelPart = tuple[
    int,
    Sequence[bytes],
    int,
    bool,
    Column | None,
    Buffer | None,
    tuple[Buffer, int] | None,
]
"""Spelling; texts before the part, around a value, for NULL, if the mask's bit is clear, around invalid text;
fractional digits or scale; whether it is a list item; column; its rows; mask and first bit of that."""

class ChangeTexts:
    """Row changes, to be written in log order.

    Attributes:
        last_version: commit version of the change that was written last.
        long_texts: number of changes whose text is longer than a packet.
        longest: bytes of the longest text of a change.
        size: bytes ready to be taken.
    """

    last_version: int
    long_texts: int
    longest: int

    @property
    def size(self) -> int: ...
    def __init__(
        self, separator: bytes, limit: int, packet: int, last_version: int, statement_bytes: int = 0
    ) -> None:
        """Begin without changes.

        Args:
            separator: text between two changes of one transaction.
            limit: bytes at which a piece of the output is returned.
            packet: bytes beyond which texts count as long.
            last_version: commit version of the transaction that was written before.
            statement_bytes: maximum bytes of a statement that combines several changes.
        """

    def add(
        self,
        versions: Buffer,
        numbers: Buffer,
        rows: Buffer | None,
        marks: Buffer | None,
        count: int,
        parts: list[KernelPart],
        statement: tuple[bytes, bytes, bytes] | None = None,
    ) -> None:
        """Add changes of the same format, in order.

        Args:
            versions: commit versions of a batch's rows, int64.
            numbers: the changes' numbers in their transactions, int64.
            rows: indexes of rows in the batch, int64; None for the first ``count`` rows.
            marks: a small number for each change; None if all are 0.
            count: number of changes.
            parts: the parts of their texts.
            statement: texts before the first and after the last of the changes that one statement
                combines, and the text after their number, which is written only if this text is not empty;
                None if each change is a statement of its own.

        Raises:
            ValueError: a buffer is too short.
        """

    def merge(self, backwards: bool) -> tuple[bytes, bytes, bytes]:
        """Sort all changes into log order; if ``backwards``, reverse those of each run.

        Returns:
            The runs of changes of one transaction and one mark: versions (int64), marks (bytes), and ends
            (int64).

        Raises:
            ValueError: changes that were added together are not in order.
        """

    def begin(self, first: int, last: int, ordinal: int = 0) -> None:
        """Begin to write a range of changes.

        Args:
            first: the first change.
            last: the one after the last.
            ordinal: the first change's number in its rows event; the others are numbered from there.
        """

    def begin_framed(
        self, first_run: int, last_run: int, head_ends: Buffer, heads: Buffer, foot: bytes
    ) -> None:
        """Begin writing all changes of a range of runs, each of which is a whole transaction.

        Args:
            first_run: the first run.
            last_run: the one after the last.
            head_ends: ends of the texts before each transaction, int64.
            heads: these texts.
            foot: the text after each transaction.

        Raises:
            ValueError: there are fewer texts than transactions.
        """

    def number_at(self, at: int) -> int:
        """Return the number in its transaction of the change at an index in output order.

        Raises:
            ValueError: there are fewer changes.
        """

    def step(self) -> int:
        """Write more; return a :class:`~State`."""

    def taken(self) -> bytes:
        """Return the text written since the last call."""

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
