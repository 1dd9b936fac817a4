"""Columns of text made UTF-8: what is no UTF-8 is escaped, and character sets of one byte are decoded."""

from typing_extensions import Buffer

def are_utf8(bounds: Buffer, data: Buffer, rows: int) -> bool:
    """Whether each of so many values, which ascending 32-bit offsets part, is UTF-8.

    Raises:
        ValueError: the offsets do not fit the data.
    """

def are_ascii(bounds: Buffer, data: Buffer, rows: int) -> bool:
    """Whether each of so many values, which ascending 32-bit offsets part, is ASCII.

    Raises:
        ValueError: the offsets do not fit the data.
    """

def as_utf8(bounds: Buffer, data: Buffer, rows: int, table: bytes) -> tuple[Buffer, Buffer, int] | None:
    """The values as UTF-8.

    Args:
        bounds: ascending 32-bit offsets that part the values.
        data: their bytes.
        rows: how many values there are.
        table: 5 bytes for each byte: its UTF-8, padded to 4, and the size of that, plus 128 if it is no
            character.

    Returns:
        32-bit offsets, the text, and how many values have bytes that are no characters; None where the text
        is 2 GiB or more.

    Raises:
        ValueError: the offsets do not fit the data, or the table has not 256 entries.
    """
