"""Whether a column of bytes is UTF-8, value by value."""

from typing_extensions import Buffer

def are_utf8(bounds: Buffer, data: Buffer, rows: int) -> bool:
    """Whether each of so many values, which ascending 32-bit offsets part, is UTF-8.

    Raises:
        ValueError: the offsets do not fit the data.
    """
