"""Split the rows of a dump into columns of text values."""

from collections.abc import Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.memory import Memory

class Encoding(IntEnum):
    """How a value is encoded in the text."""

    PLAIN = 0
    BASE64 = 1
    HEXADECIMAL = 2

Cut = tuple[Memory | None, int, Memory, Memory]
"""A column: validity bitmap, number of nulls, 32-bit offsets, and the values' bytes."""

class TupleColumns:
    """Buffers of columns that rows are split into.

    Args:
        encodings: an :class:`Encoding` for each value of a row.

    Attributes:
        rows: rows since the last :meth:`finish`.
        size: approximate bytes that they take.
        ended: whether the last call reached the statement's end.
    """

    rows: int
    size: int
    ended: bool

    def __init__(self, encodings: Sequence[int]) -> None: ...
    def begin(self) -> None:
        """Begin the rows of another statement."""

    def cut(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        """Split the rows after VALUES, up to a number of rows and bytes.

        Returns:
            The position after the last whole row, or after the statement's end.

        Raises:
            DamagedError: the text is not rows; the offset is relative to the window.
            UnsupportedError: a column's values take 2 GiB.
            ValueError: the range is not in the window.
        """

    def cut_lines(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        r"""Split lines of tab-separated fields, with ``\N`` for NULL; otherwise like :meth:`cut`."""

    def finish(self) -> tuple[int, list[Cut]]:
        """Return the number of rows and their columns, and start over."""
