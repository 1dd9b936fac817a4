"""Rows of a dump cut into the buffers of Arrow columns."""

from collections.abc import Sequence
from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.memory import Memory

class Codec(IntEnum):
    """How a value's text becomes a value of a buffer.

    TEXT keeps its bytes behind 32-bit offsets; INTEGER, UNSIGNED and BITS are 64-bit numbers, DECIMAL is
    128-bit without its point (18 digits at most); DATE is days and DATETIME microseconds since 1970, TIME
    microseconds, all in 64 bits; GEOMETRY keeps bytes as TEXT does, and apart from them the 32-bit number of
    its reference system.
    """

    TEXT = 0
    INTEGER = 1
    UNSIGNED = 2
    DECIMAL = 3
    DATE = 4
    DATETIME = 5
    TIME = 6
    BITS = 7
    GEOMETRY = 8

class Encoding(IntEnum):
    """What a value's text is before its codec reads it."""

    PLAIN = 0
    BASE64 = 1
    HEXADECIMAL = 2

Cut = tuple[Memory | None, int, Memory, Memory | None, Memory | None]
"""A column: its validity bitmap, how many values are null, values or offsets, data, reference systems."""

class TupleColumns:
    """Rows on their way from text to columns.

    Args:
        codecs: for each value of a row a :class:`Codec`.
        encodings: for each an :class:`Encoding`.
        scales: for each the digits behind the point of a DECIMAL.

    Attributes:
        rows: how many were cut since the last :meth:`finish`.
        size: bytes that they take, about.
        ended: whether the last cut met the statement's end.
    """

    rows: int
    size: int
    ended: bool

    def __init__(self, codecs: Sequence[int], encodings: Sequence[int], scales: Sequence[int]) -> None: ...
    def begin(self) -> None:
        """Get ready for the rows of another statement."""

    def cut(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        """Cut rows as they stand behind VALUES, up to so many rows and bytes.

        Returns:
            The position behind the last row that is whole, or behind the statement's end.

        Raises:
            DamagedError: something else than rows stands there, or a value is not of its column's type; the
                offset is within the window.
            UnsupportedError: a column's values take 2 GiB.
            ValueError: the window has no such span.
        """

    def cut_lines(self, window: Buffer, start: int, stop: int, most_rows: int, most_size: int) -> int:
        r"""The same of lines whose fields have tabs between, with ``\N`` for NULL."""

    def finish(self) -> tuple[int, list[Cut], list[tuple[int, int, str]]]:
        """Hand over what was cut.

        Returns:
            How many rows, their columns, and the texts that their columns cannot hold, each with its row and
            column, which are null.
        """
