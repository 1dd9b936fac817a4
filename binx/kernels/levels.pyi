"""Definition and repetition levels of nested columns, out of Arrow's bitmaps and offsets."""

from typing_extensions import Buffer

class Levels:
    """The way from a row to the values of one leaf, told part by part from the top.

    Attributes:
        rows: how many.
        entries: how many levels there are.
        depth: the highest definition level.
        repeats: whether a list is on the way.
    """

    @property
    def rows(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def repeats(self) -> bool: ...
    def __init__(self, rows: int) -> None: ...
    @classmethod
    def of_nulls(cls, rows: int, depth: int, repeats: bool) -> Levels:
        """The levels of a leaf of a column that is null in all rows.

        Args:
            rows: how many.
            depth: the leaf's highest definition level.
            repeats: whether a list is on the way to it.
        """

    def optional(self, validity: Buffer | None, first: int) -> None:
        """A part that may be null.

        Args:
            validity: its bitmap; None where all values are there.
            first: the place in it of the part's first value.
        """

    def repeated(self, offsets: Buffer, first: int) -> None:
        """A list.

        Args:
            offsets: where the elements of each list begin, and the last ones end, as 32-bit integers.
            first: the place in them of the first list.

        Raises:
            ValueError: it is within a list.
        """
