"""Bloom filters over keys: hashes of many values at once, the filter's bits, and the question."""

from typing import Final

from typing_extensions import Buffer

BASIS: Final[int]
"""The hash of a key without columns."""

def hash_column(hashes: Buffer, offsets: Buffer, text: Buffer) -> None:
    """Take one more column into the hashes of keys.

    Args:
        hashes: unsigned 64-bit integers, one a key, changed in place; BASIS before the first column.
        offsets: signed 32-bit integers, one more than the hashes.
        text: the bytes of each value lie between two offsets.

    Raises:
        ValueError: the offsets do not fit.
    """

def make_filter(hashes: Buffer, size: int, number: int) -> bytes:
    """A filter's bits.

    Args:
        hashes: unsigned 64-bit integers, one a key.
        size: bytes of the filter.
        number: bits set for each key.

    Raises:
        ValueError: a size or number below 1.
    """

def holds(bits: Buffer, number: int, columns: list[bytes]) -> bool:
    """Whether a filter may hold a key.

    Args:
        bits: the filter.
        number: bits set for each key.
        columns: the bytes of each of the key's columns, in the key's order.

    Returns:
        False where it certainly does not.
    """
