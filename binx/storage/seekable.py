"""A binary log written as seekable zstd: frames that end where the caller says, and a table of them.

``zstd -d`` gives back the identical bytes, and so does any other reader of zstd; one that knows the table
reads a part by decompressing the frames that hold it. The same bytes with the same cuts give the same file.

Source: zstd's contrib/seekable_format/zstd_seekable_compression_format.md.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import zstandard

from binx.errors import OutputError
from binx.source import READ_BYTES, Source
from binx.source.compressed import (
    SEEK_TABLE_FOOTER,
    SEEK_TABLE_HEADER,
    SEEK_TABLE_MAGIC,
    SEEKABLE_MAGIC,
)
from binx.storage.output import Sink

if TYPE_CHECKING:
    import zstandard

LEVEL = 3
"""zstd's own level of compression."""

FRAME_BYTES = 4 * 1024 * 1024
"""Bytes of a binary log after which a frame ends at the next place where it may."""

LARGEST_FRAME = 1024 * 1024 * 1024
"""``ZSTD_SEEKABLE_MAX_FRAME_DECOMPRESSED_SIZE``: a frame ends here even where the caller says of no place."""

MOST_FRAMES = 0x8000000
"""``ZSTD_SEEKABLE_MAXFRAMES``."""


@dataclass(frozen=True, slots=True)
class SeekableReport:
    """What was written."""

    frames: int
    bytes: int
    sha256: str


class SeekableWriter:
    """Compresses what is written to it, in frames."""

    def __init__(self, output: Sink, level: int = LEVEL) -> None:
        self._output = output
        self._compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
        self._frame: zstandard.ZstdCompressionObj | None = None
        self._sizes = array("L")
        self._compressed = self._size = 0
        self._written = 0

    def write(self, data: memoryview | bytes) -> None:
        """Add bytes to the frame.

        Raises:
            OSError: the output cannot be written.
        """
        while len(data):
            part = data[: LARGEST_FRAME - self._size]
            if self._frame is None:
                self._frame = self._compressor.compressobj()
            self._put(self._frame.compress(part))
            self._size += len(part)
            data = data[len(part) :]
            if self._size == LARGEST_FRAME:
                self.cut()

    def cut(self) -> None:
        """End the frame here; nothing happens where it is empty.

        Raises:
            OSError: the output cannot be written.
            OutputError: the table cannot hold so many frames.
        """
        if self._frame is None:
            return
        self._put(self._frame.flush())
        if len(self._sizes) == 2 * MOST_FRAMES:
            raise OutputError(f"expected at most {MOST_FRAMES} frames; cut at fewer places")
        self._sizes.extend((self._compressed, self._size))
        self._frame, self._compressed, self._size = None, 0, 0

    @property
    def frames(self) -> int:
        """How many frames were ended."""
        return len(self._sizes) // 2

    @property
    def pending(self) -> int:
        """Bytes that went into the frame that is not ended."""
        return self._size

    def finish(self) -> int:
        """End the last frame and write the table; returns the bytes of the compressed file.

        Raises:
            OSError: the output cannot be written.
        """
        self.cut()
        footer = SEEK_TABLE_FOOTER.pack(self.frames, 0, SEEKABLE_MAGIC)
        entries = b"".join(size.to_bytes(4, "little") for size in self._sizes)
        self._put(SEEK_TABLE_HEADER.pack(SEEK_TABLE_MAGIC, len(entries) + len(footer)) + entries + footer)
        return self._written

    def _put(self, data: bytes) -> None:
        self._output.write(data)
        self._compressed += len(data)
        self._written += len(data)


def write_seekable(
    source: Source,
    cuts: Iterable[int],
    output: Sink,
    *,
    level: int = LEVEL,
    frame_bytes: int = FRAME_BYTES,
) -> SeekableReport:
    """Write all bytes of a binary log as seekable zstd.

    Args:
        source: the log's bytes.
        cuts: offsets at which a frame may end, ascending: the transactions' ends.
        output: where the compressed bytes go.
        level: zstd's level of compression.
        frame_bytes: a frame ends at the first cut behind so many bytes.

    Raises:
        SourceError: the log cannot be read.
        OSError: the output cannot be written.
    """
    writer, digest = SeekableWriter(output, level), hashlib.sha256()
    position = 0
    for cut in chain(_spaced(cuts, frame_bytes), (source.size,)):
        while position < cut:
            part = source.window(position, min(cut, position + READ_BYTES))
            writer.write(part)
            digest.update(part)
            position += len(part)
        writer.cut()
    source.release(0, source.size)
    return SeekableReport(writer.frames, writer.finish(), digest.hexdigest())


def _spaced(cuts: Iterable[int], frame_bytes: int) -> Iterable[int]:
    """The cuts that are far enough from each other."""
    begun = 0
    for cut in cuts:
        if cut - begun >= frame_bytes:
            yield cut
            begun = cut
