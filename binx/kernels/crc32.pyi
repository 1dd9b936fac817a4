"""The CRC32 checksum of binary log events."""

from typing_extensions import Buffer

def checksum(data: Buffer, seed: int = 0) -> int:
    """Compute the CRC32 of bytes as zlib does; the checksum of a part is the seed of the rest.

    MySQL appends it to each event as four little-endian bytes over header and
    body (``binlog_checksum=CRC32``; WL#2540, libs/mysql/binlog/event).

    Args:
        data: any contiguous buffer of bytes.
        seed: the checksum of the bytes before, 0 at the start.
    """

def checksum_by_tables(data: Buffer, seed: int = 0) -> int:
    """Like :func:`checksum`, with the implementation that runs on any processor."""

def backend() -> str:
    """The implementation in use: ``pclmul`` or ``tables``."""
