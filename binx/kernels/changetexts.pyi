"""Row changes of several tables as one text in the log's order, straight from the columns' own memory."""

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import Buffer

Column = tuple[Buffer | None, int, Buffer | None, int, int, Buffer | None, Buffer | None, int, int, int]
"""Data, bytes of a value, offsets, bytes of an offset, bytes that it counts, validity, codes into the data's
values, bytes of a code, first value, values."""

KernelPart = tuple[
    int,
    Sequence[bytes],
    int,
    bool,
    Column | None,
    Buffer | None,
    tuple[Buffer, int] | None,
    Callable[[int], Iterator[bytes]] | None,
]
"""Spelling; texts before the part, around a value, for NULL, where the mask has no bit, around what is no
text; digits of the fraction, or scale; whether it is an item of a list; column; rows of it; mask and its
first bit; whom to ask."""

class ChangeTexts:
    """Row changes, to be written in the log's order.

    Attributes:
        last_version: the transaction of the change that was written last.
        long_texts: changes whose text is longer than a packet.
        longest: bytes of the longest text of a change.
        size: bytes that are to be taken.
    """

    last_version: int
    long_texts: int
    longest: int

    @property
    def size(self) -> int: ...
    def __init__(self, separator: bytes, limit: int, packet: int, last_version: int) -> None:
        """Begin without changes.

        Args:
            separator: stands between two changes of one transaction.
            limit: bytes at which a piece of the output is handed over.
            packet: bytes beyond which texts are counted as long.
            last_version: the transaction that was written before.
        """

    def add(
        self,
        versions: Buffer,
        numbers: Buffer,
        rows: Buffer | None,
        marks: Buffer | None,
        events: tuple[Buffer, Buffer | None] | None,
        count: int,
        parts: list[KernelPart],
    ) -> None:
        """Add changes that are written alike, in order.

        Args:
            versions: commit versions of a batch's rows, int64.
            numbers: the changes' numbers in their transactions, int64.
            rows: which rows of the batch, int64; None for the first ones.
            marks: a small number for each change; None where all are 0.
            events: for each row of the batch the place of its rows event, int64, and the low byte of the
                flags there, None where nothing asks for these; None where rows are not told apart by events.
            count: how many changes.
            parts: what their texts consist of.

        Raises:
            ValueError: some memory is shorter than it must be.
        """

    def merge(self, backwards: bool) -> tuple[bytes, bytes, bytes]:
        """Put all changes in order, those of a transaction backwards where so asked.

        Returns:
            The runs of changes of one transaction and one mark: versions (int64), marks (bytes), and where
            each ends (int64).

        Raises:
            ValueError: changes that were added together are not in order.
        """

    def begin(self, first: int, last: int, ordinal: int = 0) -> None:
        """Set out to write the changes from one place up to another.

        Args:
            first: the first of them.
            last: the one behind the last.
            ordinal: the first one's number in its rows event; the others count on from there.
        """

    def begin_framed(
        self,
        first_run: int,
        last_run: int,
        head_ends: Buffer,
        heads: Buffer,
        foot: bytes,
        head_events: Buffer | None = None,
    ) -> None:
        """Set out to write all changes of some runs, each of which is a whole transaction.

        Args:
            first_run: the first of them.
            last_run: the one behind the last.
            head_ends: where the text before each transaction ends, int64.
            heads: these texts.
            foot: the text behind each.
            head_events: where a text stands before the rows of each rows event and behind the last of each
                transaction, the place of the event, -1 behind the last, int64; None where a text stands
                before each transaction.

        Raises:
            ValueError: there are fewer texts than transactions, or fewer places than texts.
        """

    def step(self) -> int:
        """Write on; a :class:`~binx.kernels.rowparts.State`.

        Raises:
            DamagedError: rows are of another event than the text before them.
        """

    def taken(self) -> bytes:
        """The piece of text written since it was asked for last."""

    def asked(self) -> tuple[Callable[[int], Iterator[bytes]], int]:
        """Whom to ask for the value at hand, and the row in the column."""

    def go_on(self, size: int) -> None:
        """Go on behind the value that was asked for, of so many bytes."""
