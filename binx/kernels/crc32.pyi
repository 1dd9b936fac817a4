"""The CRC32 that ends every event of a binary log."""

from typing_extensions import Buffer

def checksum(data: Buffer, seed: int = 0) -> int:
    """Sum some bytes as zlib does, where the sum of a part is the seed of the rest.

    MySQL appends it to each event as four little-endian bytes over header and
    body (``binlog_checksum=CRC32``; WL#2540, libs/mysql/binlog/event).

    Args:
        data: any contiguous buffer of bytes.
        seed: the checksum of what came before, 0 at the start.
    """

def backend() -> str:
    """The implementation in use: ``vpclmul``, ``pclmul``, ``armv8`` or ``tables``."""

def backends() -> tuple[str, ...]:
    """Every implementation that this processor can run, fastest first."""

def checksum_by(backend: str, data: Buffer, seed: int = 0) -> int:
    """Give the same as :func:`checksum` by an implementation of :func:`backends`.

    Raises:
        ValueError: this processor has no such implementation.
    """
