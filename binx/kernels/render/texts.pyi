"""Whole columns of values made columns of text: what writers of SQL and JSON do most.

A column of text is what Arrow's ``large_binary`` is: 64-bit offsets, one more than there are texts, and the
bytes that they point into. What comes from here begins at offset 0 and has no nulls; a null's text is
whatever stands in its place.
"""

from collections.abc import Sequence

from typing_extensions import Buffer

from binx.kernels.memory import Memory

class Texts:
    """A column of text that kernels have written.

    Attributes:
        offsets: 64-bit integers, one more than there are texts.
        data: the bytes.
    """

    @property
    def offsets(self) -> Memory: ...
    @property
    def data(self) -> Memory: ...

def joined_texts(parts: Sequence[bytes | tuple[Buffer, Buffer]], rows: int) -> Texts:
    """Texts put behind one another, row by row.

    Args:
        parts: a list: ``bytes`` that stand in all rows, or offsets and data of a column.
        rows: how many.

    Raises:
        ValueError: a column is shorter, or its offsets do not fit its data.
    """

def quoted_texts(offsets: Buffer, data: Buffer, rows: int, escapes: bool = False) -> Texts:
    """Texts in UTF-8 as string literals of SQL.

    Quotes are doubled; where a backslash or a control character is, the literal is ``_utf8mb4 x'…'``.

    Args:
        offsets: of the texts in their bytes, 64-bit integers.
        data: the bytes.
        rows: how many there are.
        escapes: write backslashes, ends of lines, tabs and zeros with backslashes, for a session without
            NO_BACKSLASH_ESCAPES; without, literals mean the same in every mode.

    Raises:
        ValueError: the offsets do not fit the data.
    """

def real_texts(offsets: Buffer, data: Buffer, rows: int) -> Texts:
    """Floating-point numbers, given in decimal, as Python's ``repr`` lays them out.

    They always have a point or an exponent. What is no number (``nan``) stands as it is.

    Raises:
        ValueError: the offsets do not fit the data.
    """
