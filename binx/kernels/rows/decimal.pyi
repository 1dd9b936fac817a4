"""MySQL's binary DECIMAL (``decimal2bin``, strings/decimal.cc)."""

from typing_extensions import Buffer

def decimal_bytes(precision: int, scale: int) -> int:
    """Count the bytes that a DECIMAL(precision, scale) takes in a row image.

    Raises:
        DamagedError: no DECIMAL has this precision and scale.
    """

def decimal_text(data: Buffer, precision: int, scale: int) -> str:
    """Give the number as the server prints it, with ``scale`` digits of fraction, such as ``-12.3400``.

    Raises:
        DamagedError: too few bytes, digits that are none, an impossible precision or scale.
    """

def decimal_unscaled(data: Buffer, precision: int, scale: int) -> bytes:
    """Give the number times 10^scale as Arrow's decimal128 holds it.

    Args:
        data: the bytes of the row image.
        precision: all digits, 38 at most.
        scale: digits of the fraction.

    Returns:
        16 bytes, little-endian, two's complement.

    Raises:
        DamagedError: too few bytes, digits that are none, an impossible precision or scale.
    """
