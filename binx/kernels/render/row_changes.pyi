"""Render row changes of several tables as one text in log order, directly from the columns' buffers."""

from collections.abc import Sequence
from enum import IntEnum

from typing_extensions import Buffer

class Spelling(IntEnum):
    r"""How a column's values are written.

    ``NOTHING`` has no column; ``TEXT`` stands as it is; ``SQL`` and ``JSON`` are strings of UTF-8 in quotes;
    ``REAL`` is text that gets an exponent where it has none; ``SIGNED`` to ``TIME`` are numbers of fixed
    width: DECIMAL unscaled, moments and spans in µs, days; ``ESCAPED`` is text with ``\xNN`` for what is no
    UTF-8. The last three have no column: ``EVENT`` is a text before the first row of a rows event,
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
        """Write more; return a :class:`~binx.kernels.render.row_changes.State`."""

    def taken(self) -> bytes:
        """Return the text written since the last call."""
