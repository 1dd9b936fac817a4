"""Add the hashes of a column's values to the hashes of rows; null adds nothing.

Buffers are those of an Arrow array. A row's hash is the sum, modulo 2**64, of the hashes of its values.
"""

from typing_extensions import Buffer

def add_fixed(
    hashes: Buffer, values: Buffer, width: int, validity: Buffer | None, first: int, seed: int
) -> None:
    """Add values of ``width`` bytes each.

    Args:
        hashes: uint64, one for each row.
        values: the values of these rows, and of ``first`` before them.
        width: bytes of a value.
        validity: a bitmap of the same values; None if none is null.
        first: the place of the first row in the buffers.
        seed: the column's.

    Raises:
        DamagedError, ValueError: a buffer is shorter than the rows.
    """

def add_sized(
    hashes: Buffer, offsets: Buffer, data: Buffer, width: int, validity: Buffer | None, first: int, seed: int
) -> None:
    """Add texts, binary strings or lists, which lie between 32-bit ``offsets`` of ``width`` bytes each.

    Otherwise like :func:`add_fixed`.
    """
