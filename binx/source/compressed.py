"""Compressed logs: gzip (RFC 1952), and zstd (RFC 8878) with one or more frames.

zstd frames are located by the seekable format's table or by their own headers, and reading starts at the one
that holds the requested bytes. gzip can only be read from its beginning: it is unpacked into a temporary
file.

Sources: RFC 8878 sections 3.1.1 (frames, blocks) and 3.1.2 (skippable frames); zstd's
contrib/seekable_format/zstd_seekable_compression_format.md.
"""

from __future__ import annotations

import gzip
import shutil
import zlib
from array import array
from bisect import bisect_right
from struct import Struct
from typing import IO, cast

import zstandard

from binx.errors import DamagedError, SourceError, TruncatedError
from binx.source.byte_source import CHUNK_BYTES, READ_BYTES, ChunkedSource, Source, SourceReader
from binx.source.foreign import HEAD_SIZE
from binx.source.log_names import log_name
from binx.source.magic import MAGIC, ZSTD_MAGIC, check_inside, is_skippable
from binx.source.plain import UnpackedFile

SEEKABLE_MAGIC = 0x8F92EAB1
SEEK_TABLE_MAGIC = 0x184D2A5E
SEEK_TABLE_FOOTER = Struct("<IBI")
SEEK_TABLE_HEADER = Struct("<II")

_CHECKSUMS = 0x80
_RESERVED = 0x7C
_ENTRY = Struct("<II")
_ENTRY_WITH_CHECKSUM = 12
_HEADER_MOST = 18
_CONTENT_CHECKSUM_FLAG = 0x04
_BLOCK_HEADER = 3
_RLE_BLOCK, _RESERVED_BLOCK = 1, 3
_LARGEST = 1 << 62
_MOST_WINDOW = 128 * 1024 * 1024
"""The window size that the ``zstd`` program accepts by default."""


class GzipFile(UnpackedFile):
    """The decompressed content of a gzip file with one or more members."""

    def __init__(self, inner: Source) -> None:
        super().__init__(inner, log_name(inner.name))

    def unpack(self, file: IO[bytes]) -> None:
        """Decompress the whole file."""
        reader = SourceReader(self.inner)
        try:
            with gzip.GzipFile(fileobj=reader, mode="rb") as stream:
                head = stream.read(HEAD_SIZE)
                check_inside(head, self.path, "gzip")
                file.write(head)
                shutil.copyfileobj(stream, file, CHUNK_BYTES)
        except EOFError:
            raise TruncatedError(
                "the gzip data end before their end mark; the file was truncated, copy it again",
                path=self.path,
                offset=self.inner.size,
            ) from None
        except (zlib.error, gzip.BadGzipFile) as error:
            raise DamagedError(
                f"expected gzip data, found them damaged ({error}); copy the file again from its origin",
                path=self.path,
                offset=reader.tell(),
            ) from None


class _FrameDecoder:
    """Decompresses one frame from its beginning.

    Args:
        size: the frame's decompressed size; None if unknown.
    """

    def __init__(self, inner: Source, start: int, end: int, size: int | None) -> None:
        self._path = inner.path
        self._start = start
        self._size = size
        self._produced = 0
        self._stream = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW).stream_reader(
            cast(IO[bytes], SourceReader(inner, start, end)),
            read_size=READ_BYTES // 4,
            read_across_frames=False,
        )

    def read(self, most: int) -> bytes:
        """Return the next bytes, up to ``most``; none at the frame's end."""
        data = self._read(most)
        self._produced += len(data)
        if self._size is not None and (
            self._produced > self._size
            or (not data and self._produced < self._size)
            # The checksum follows the last bytes; it is compared only when more is requested.
            or (self._produced == self._size and self._read(1))
        ):
            raise self._damaged(f"expected {self._size} bytes from this frame, found another number")
        return data

    def _read(self, most: int) -> bytes:
        try:
            data: bytes = self._stream.read(most)
        except zstandard.ZstdError as error:
            if "memory" in str(error) or "window" in str(error).lower():
                raise SourceError(
                    "the zstd file needs more than 128 MiB of memory (--long); recompress it without"
                    " --long: zstd -d --long=31 -c FILE | zstd > NEW",
                    path=self._path,
                    offset=self._start,
                ) from None
            raise self._damaged(f"expected a whole zstd frame, found it damaged ({error})") from None
        return data

    def _damaged(self, message: str) -> DamagedError:
        return DamagedError(
            f"{message}; copy the file again from its origin", path=self._path, offset=self._start
        )


class ZstdFile(ChunkedSource):
    """The decompressed content of a zstd file.

    Args:
        of_logs: whether it must contain a binary log.
    """

    def __init__(self, inner: Source, *, of_logs: bool = True) -> None:
        self.inner = inner
        self._starts = array("q")
        self._ends = array("q")
        self._positions = array("q", [0])
        """Offset in the log of each frame's beginning, and of the last one's end."""
        table = read_seek_table(inner)
        if table is None:
            self._find_frames()
        else:
            end = 0
            for compressed, size in table:
                self._add(end, end + compressed, size)
                end += compressed
        super().__init__(inner.path, log_name(inner.name), self._positions[-1])
        self._decoder: _FrameDecoder | None = None
        self._decoder_frame = self._decoder_position = 0
        if of_logs:
            head = b""
            while len(head) < min(len(MAGIC), self.size):
                frame = self._frame(len(head))
                head += self._begin(frame).read(HEAD_SIZE - len(head))
            check_inside(head, inner.path, "zstd")

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._decoder = None
        self.inner.close()

    def _span(self, position: int) -> tuple[int, int]:
        """Chunks have one length, counted from each frame's beginning."""
        frame = self._frame(position)
        start = position - (position - self._positions[frame]) % CHUNK_BYTES
        return start, min(start + CHUNK_BYTES, self._positions[frame + 1])

    def _load(self, start: int, stop: int) -> bytes:
        frame = self._frame(start)
        if self._decoder is None or self._decoder_frame != frame or self._decoder_position > start:
            self._decoder, self._decoder_frame = self._begin(frame), frame
            self._decoder_position = self._positions[frame]
        decoder, self._decoder = self._decoder, None
        while self._decoder_position < start:
            self._decoder_position += len(decoder.read(min(CHUNK_BYTES, start - self._decoder_position)))
        chunk = b""
        while len(chunk) < stop - start:
            chunk += decoder.read(stop - start - len(chunk))
        self._decoder, self._decoder_position = decoder, stop
        return chunk

    def _frame(self, position: int) -> int:
        return bisect_right(self._positions, position) - 1

    def _begin(self, frame: int) -> _FrameDecoder:
        size = self._positions[frame + 1] - self._positions[frame]
        return _FrameDecoder(self.inner, self._starts[frame], self._ends[frame], size)

    def _add(self, start: int, end: int, size: int) -> None:
        if self._positions[-1] + size > _LARGEST:
            raise DamagedError(
                f"expected a zstd frame of a binary log, found one that claims {size} bytes",
                path=self.inner.path,
                offset=start,
            )
        if size:
            self._starts.append(start)
            self._ends.append(end)
            self._positions.append(self._positions[-1] + size)

    def _find_frames(self) -> None:
        """Find all frames by the headers of frames and blocks; frames of unknown size are decompressed."""
        position = 0
        while position < self.inner.size:
            head = bytes(self.inner.window(position, position + _HEADER_MOST))
            if is_skippable(head):
                end = position + SEEK_TABLE_HEADER.size + int.from_bytes(head[4:8], "little")
                if len(head) < SEEK_TABLE_HEADER.size or end > self.inner.size:
                    raise self._cut(position)
            elif head.startswith(ZSTD_MAGIC):
                size, end = self._frame_bounds(position, head)
                self._add(position, end, self._measured(position, end) if size is None else size)
            elif ZSTD_MAGIC.startswith(head):
                raise self._cut(position)
            else:
                raise DamagedError(
                    f"expected the zstd file's end or another frame, found {head[:4].hex(' ')}",
                    path=self.inner.path,
                    offset=position,
                )
            position = end

    def _frame_bounds(self, position: int, head: bytes) -> tuple[int | None, int]:
        """Return the decompressed size in a frame's header, if any, and the offset after the frame."""
        try:
            parameters = zstandard.get_frame_parameters(head)
            end = position + zstandard.frame_header_size(head)
        except zstandard.ZstdError as error:
            if len(head) < _HEADER_MOST:
                raise self._cut(position) from None
            raise DamagedError(
                f"expected a zstd frame, found a damaged one ({error})", path=self.inner.path, offset=position
            ) from None
        last = False
        while not last:
            block = bytes(self.inner.window(end, end + _BLOCK_HEADER))
            if len(block) < _BLOCK_HEADER:
                raise self._cut(position)
            header = int.from_bytes(block, "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            if kind == _RESERVED_BLOCK:
                raise DamagedError(
                    "expected a zstd block, found one of a reserved kind; copy the file again",
                    path=self.inner.path,
                    offset=end,
                )
            end += _BLOCK_HEADER + (1 if kind == _RLE_BLOCK else size)
        end += 4 if head[4] & _CONTENT_CHECKSUM_FLAG else 0
        if end > self.inner.size:
            raise self._cut(position)
        known = parameters.content_size
        return None if known in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR) else known, end

    def _measured(self, start: int, end: int) -> int:
        decoder = _FrameDecoder(self.inner, start, end, None)
        size = 0
        while data := decoder.read(CHUNK_BYTES):
            if not size and not self._starts and len(data) >= len(MAGIC):
                check_inside(data, self.inner.path, "zstd")
            size += len(data)
        return size

    def _cut(self, position: int) -> TruncatedError:
        return TruncatedError(
            "the zstd data end inside a frame; the file was truncated, copy it again from its origin",
            path=self.inner.path,
            offset=position,
        )


def read_seek_table(inner: Source) -> list[tuple[int, int]] | None:
    """Return the frames' compressed and decompressed sizes; None without a table, or with a wrong one.

    A table that does not match the file is no error: the frames give the same information.
    """
    footer_start = inner.size - SEEK_TABLE_FOOTER.size
    if footer_start < SEEK_TABLE_HEADER.size:
        return None
    frames, descriptor, magic = SEEK_TABLE_FOOTER.unpack(inner.window(footer_start, inner.size))
    if magic != SEEKABLE_MAGIC or descriptor & _RESERVED:
        return None
    entry_size = _ENTRY_WITH_CHECKSUM if descriptor & _CHECKSUMS else _ENTRY.size
    start = footer_start - frames * entry_size
    head = start - SEEK_TABLE_HEADER.size
    if head < 0:
        return None
    expected = SEEK_TABLE_HEADER.pack(SEEK_TABLE_MAGIC, inner.size - start)
    if bytes(inner.window(head, start)) != expected:
        return None
    entries = inner.window(start, footer_start)
    sizes = [_ENTRY.unpack_from(entries, offset) for offset in range(0, len(entries), entry_size)]
    return sizes if sum(compressed for compressed, _ in sizes) == head else None
