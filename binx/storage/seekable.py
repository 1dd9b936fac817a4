"""A binary log written as seekable zstd: frames that end where the caller says, and a table of them.

``zstd -d`` gives back the identical bytes, and so does any other reader of zstd; one that knows the table
reads a part by decompressing the frames that hold it. The same bytes with the same cuts give the same file.

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
"""zstd's own level of compression."""

FRAME_BYTES = 4 * 1024 * 1024
"""Bytes of a binary log after which a frame ends at the next place where it may."""

LARGEST_FRAME = 1024 * 1024 * 1024
"""``ZSTD_SEEKABLE_MAX_FRAME_DECOMPRESSED_SIZE``: a frame ends here even where the caller says of no place."""

MOST_FRAMES = 0x8000000
"""``ZSTD_SEEKABLE_MAXFRAMES``."""


def write_seekable(
    source: Source, cuts: Iterable[int], output: Sink, *, frame_bytes: int | None = None
) -> str:
    """Write all bytes of a binary log as seekable zstd.

    Args:
        cuts: offsets at which a frame may end, ascending: the transactions' ends.
        frame_bytes: a frame ends at the first cut behind so many bytes; None for :data:`FRAME_BYTES`.

    Returns:
        The SHA-256 of the log's bytes.
    """
    digest, compressor = hashlib.sha256(), zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    entries = bytearray()
    position = 0
    for cut in chain(_spaced(cuts, frame_bytes or FRAME_BYTES), (source.size,)):
        while position < cut:
            frame, begun, written = compressor.compressobj(), position, 0
            end = min(cut, position + LARGEST_FRAME)
            while position < end:
                part = source.window(position, min(end, position + READ_BYTES))
                digest.update(part)
                written += _put(output, frame.compress(part))
                position += len(part)
            written += _put(output, frame.flush())
            entries += written.to_bytes(4, "little") + (position - begun).to_bytes(4, "little")
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
    """The cuts that are far enough from each other."""
    begun = 0
    for cut in cuts:
        if cut - begun >= frame_bytes:
            yield cut
            begun = cut
