"""MariaDB's compressed parts of events (log_bin_compress): queries and row images.

A head byte holds 0x80, the algorithm and the number of bytes that follow it with
the uncompressed size, big-endian; then comes a zlib stream.

Source: MariaDB's sql/log_event.cc (``binlog_buf_compress``, ``binlog_buf_uncompress``).
"""

from __future__ import annotations

import zlib

from binx.event.header import LARGEST_EVENT
from binx.event.reader import Reader

_COMPRESSED = 0x80
_ALGORITHM = 0x70
_SIZE_BYTES = 0x07
_MAX_SIZE_BYTES = 4
_MAX_RATIO = 1032
"""The most that deflate's format can expand: 258 bytes for two bits."""
_SLACK = 64


def uncompress(reader: Reader) -> bytes:
    """Uncompress all that is left of the reader's bytes.

    The size that the event claims is checked against what its bytes can hold before memory is taken.

    Raises:
        DamagedError: the bytes are no such stream, or of another size than they claim.
    """
    head = reader.u8()
    size_bytes = head & _SIZE_BYTES
    if not head & _COMPRESSED or not 1 <= size_bytes <= _MAX_SIZE_BYTES:
        raise reader.damaged(f"expected the head of a compressed part, found the byte 0x{head:02x}")
    if head & _ALGORITHM:
        raise reader.damaged(f"expected the compression algorithm 0 (zlib), found {(head & _ALGORITHM) >> 4}")
    size = int.from_bytes(reader.take(size_bytes), "big")
    stream = reader.rest()
    most = min(len(stream) * _MAX_RATIO + _SLACK, LARGEST_EVENT)
    if size > most:
        raise reader.damaged(
            f"expected at most {most} bytes from {len(stream)} compressed ones, found {size}"
        )
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(stream, size + 1)
    except zlib.error as error:
        raise reader.damaged(f"expected a zlib stream, found something else: {error}") from None
    if len(data) != size or not decompressor.eof:
        raise reader.damaged(f"expected {size} bytes after decompression, found {len(data)}")
    return data
