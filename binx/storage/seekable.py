"""Write a binary log as seekable zstd: frames that end at given offsets, and a seek table.

``zstd -d`` and any other reader of zstd restore the identical bytes; a reader that knows the seek table reads
a part by decompressing only its frames. The same bytes with the same cuts give the same file.

Source: zstd's contrib/seekable_format/zstd_seekable_compression_format.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain

import zstandard

from binx.errors import OutputError
from binx.source import READ_BYTES, Source
from binx.source.compressed import SEEK_TABLE_FOOTER, SEEK_TABLE_HEADER, SEEK_TABLE_MAGIC, SEEKABLE_MAGIC
from binx.storage.output import Sink

LEVEL = 3
"""zstd's default compression level."""

FRAME_BYTES = 4 * 1024 * 1024
"""Bytes of a binary log after which a frame ends at the next cut."""

LARGEST_FRAME = 1024 * 1024 * 1024
"""``ZSTD_SEEKABLE_MAX_FRAME_DECOMPRESSED_SIZE``: a frame ends here even without a cut."""

MOST_FRAMES = 0x8000000
"""``ZSTD_SEEKABLE_MAXFRAMES``."""


def write_seekable(
    source: Source, cuts: Iterable[int], output: Sink, *, frame_bytes: int | None = None
) -> str:
    """Write a whole binary log as seekable zstd.

    Args:
        cuts: offsets at which a frame may end, ascending: the transactions' ends.
        frame_bytes: a frame ends at the first cut after that many bytes; None for :data:`FRAME_BYTES`.

    Returns:
        The SHA-256 of the log's bytes.
    """
    digest, compressor = hashlib.sha256(), zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    entries = bytearray()
    position = 0
    for cut in chain(_spaced(cuts, frame_bytes or FRAME_BYTES), (source.size,)):
        while position < cut:
            frame, start, written = compressor.compressobj(), position, 0
            end = min(cut, position + LARGEST_FRAME)
            while position < end:
                chunk = source.window(position, min(end, position + READ_BYTES))
                digest.update(chunk)
                written += _put(output, frame.compress(chunk))
                position += len(chunk)
            written += _put(output, frame.flush())
            entries += written.to_bytes(4, "little") + (position - start).to_bytes(4, "little")
            if len(entries) > 8 * MOST_FRAMES:
                raise OutputError(f"expected at most {MOST_FRAMES} frames; cut at fewer places")
    source.release(0, source.size)
    footer = SEEK_TABLE_FOOTER.pack(len(entries) // 8, 0, SEEKABLE_MAGIC)
    output.write(SEEK_TABLE_HEADER.pack(SEEK_TABLE_MAGIC, len(entries) + len(footer)) + entries + footer)
    return digest.hexdigest()


def _put(output: Sink, data: bytes) -> int:
    output.write(data)
    return len(data)


def _spaced(cuts: Iterable[int], frame_bytes: int) -> Iterable[int]:
    """Yield the cuts that are far enough apart."""
    start = 0
    for cut in cuts:
        if cut - start >= frame_bytes:
            yield cut
            start = cut
