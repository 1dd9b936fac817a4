"""Row changes of several tables as they are told before they are written, put in the log's order."""

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

class ChangeParts:
    """Row changes, told one kind after the other."""

    def __init__(self) -> None: ...
    def add(
        self,
        versions: Buffer,
        numbers: Buffer,
        rows: Buffer | None,
        marks: Buffer | None,
        events: tuple[Buffer, Buffer | None] | None,
        count: int,
        parts: list[KernelPart],
        statement: tuple[bytes, bytes, bytes] | None = None,
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
            statement: what stands before the first and behind the last of the changes that one statement
                takes together, and behind their number, which is written if this is not empty; None where
                each stands for itself.

        Raises:
            ValueError: some memory is shorter than it must be.
        """

    def merge(self, backwards: bool) -> tuple[bytes, bytes, bytes]:
        """Put all changes in order, those of a run, of one transaction and mark, backwards where so asked.

        Returns:
            The runs of changes of one transaction and one mark: versions (int64), marks (bytes), and where
            each ends (int64).

        Raises:
            ValueError: changes that were added together are not in order.
        """
