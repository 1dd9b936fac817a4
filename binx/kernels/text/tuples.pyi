"""Split the rows of a dump into columns of text values."""

from collections.abc import Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.memory import Memory

class Encoding(IntEnum):
    """How a value stands in the text."""

    PLAIN = 0
    BASE64 = 1
    HEXADECIMAL = 2

Cut = tuple[Memory | None, int, Memory, Memory]
"""A column: its validity bitmap, how many values are null, 32-bit offsets, and the values' bytes."""

class TupleColumns:
    """Rows on their way from text to columns.

    Args:
        encodings: for each value of a row an :class:`Encoding`.

    Attributes:
        rows: how many were cut since the last :meth:`finish`.
        size: bytes that they take, about.
        ended: whether the last cut met the statement's end.
    """

    rows: int
    size: int
    ended: bool

    def __init__(self, encodings: Sequence[int]) -> None: ...
    def begin(self) -> None:
        """Get ready for the rows of another statement."""

    def cut(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        """Cut rows as they stand behind VALUES, up to so many rows and bytes.

        Returns:
            The position behind the last row that is whole, or behind the statement's end.

        Raises:
            DamagedError: something else than rows stands there; the offset is within the window.
            UnsupportedError: a column's values take 2 GiB.
            ValueError: the window has no such span.
        """

    def cut_lines(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        r"""The same of lines whose fields have tabs between, with ``\N`` for NULL."""

    def finish(self) -> tuple[int, list[Cut]]:
        """Hand over what was cut: how many rows, and their columns."""
