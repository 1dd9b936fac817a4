"""Pages compressed, and whether that is worth it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, cast

from binx.export.parquet_format.metadata import Codec
from binx.kernels.chunks import Encoding

if TYPE_CHECKING:
    from binx.kernels.pages import PageEncoder


class Compress(Protocol):
    """A function that compresses a page."""

    def __call__(
        self, page: PageEncoder | memoryview, long_bytes: memoryview | None = None, /
    ) -> bytes | bytearray:
        """The page compressed, with the bytes of its one long string behind it, where it has one."""


_LONG_PIECE = 1024 * 1024
"""How much of a long string is compressed at a time: what comes of it is held once."""

DEFAULT_ZSTD_LEVEL = 1
"""The level that pays: higher ones make files that are little smaller, and cost twice as much."""

_THREAD = threading.local()

_CODECS = {"none": Codec.UNCOMPRESSED, "snappy": Codec.SNAPPY, "zstd": Codec.ZSTD, "lz4": Codec.LZ4_RAW}

_PACKED = frozenset({Encoding.ENCODING_DELTA_BINARY_PACKED})

_WORTH_PACKED, _WORTH = 0.75, 0.95
"""What is left of a page, at most, where compression is worth it: for numbers that are packed, for others."""

_RETRIED_AFTER = 16
"""Chunks of a column after which what was not worth it is tried again."""


def compressor(name: str, level: int | None = None) -> tuple[Codec, Compress | None]:
    """What compresses pages.

    Args:
        name: ``zstd``, ``snappy``, ``lz4`` or ``none``.
        level: of zstd.

    Returns:
        the codec, and the function; None where nothing is compressed.

    Raises:
        ValueError: there is no such codec.
    """
    if name not in _CODECS:
        raise ValueError(f"expected one of {', '.join(_CODECS)}, found {name}")
    codec = _CODECS[name]
    if codec is Codec.UNCOMPRESSED:
        return codec, None
    if codec is Codec.ZSTD:
        return codec, _zstd(DEFAULT_ZSTD_LEVEL if level is None else level)
    import pyarrow as pa

    arrow = pa.Codec("lz4_raw" if codec is Codec.LZ4_RAW else name)

    def compress(page: PageEncoder | memoryview, long_bytes: memoryview | None = None) -> bytes | bytearray:
        whole = page if long_bytes is None else b"".join((page, long_bytes))
        compressed: bytes = arrow.compress(whole, asbytes=True)
        return compressed

    return codec, compress


def _zstd(level: int) -> Compress:
    """A function whose tables, more than a MiB, each thread has once, however many files are open."""
    import zstandard

    def compress(page: PageEncoder | memoryview, long_bytes: memoryview | None = None) -> bytes | bytearray:
        kept: dict[int, zstandard.ZstdCompressor] = _THREAD.__dict__.setdefault("zstd", {})
        if level not in kept:
            kept[level] = zstandard.ZstdCompressor(level)
        # It takes any buffer; its types know those of Python alone.
        data = cast("bytes", page)
        if long_bytes is None:
            return kept[level].compress(data)
        running = kept[level].compressobj(size=len(page))
        compressed = bytearray(running.compress(data))
        for start in range(0, len(long_bytes), _LONG_PIECE):
            compressed += running.compress(long_bytes[start : start + _LONG_PIECE])
        compressed += running.flush()
        return compressed

    return compress


class Worth:
    """Whether compressing a column's chunks is worth it, as its chunks before tell."""

    def __init__(self) -> None:
        self._chunks_left = 0

    def begin(self) -> bool:
        """Whether to compress the next chunk, or to try."""
        self._chunks_left -= 1
        return self._chunks_left < 0

    def saw(self, encoding: int, size: int, compressed: int) -> bool:
        """Take in what came out; returns whether it was worth it."""
        limit = _WORTH_PACKED if encoding in _PACKED else _WORTH
        if compressed <= size * limit:
            return True
        self._chunks_left = _RETRIED_AFTER
        return False


__all__ = ["DEFAULT_ZSTD_LEVEL", "Compress", "Worth", "compressor"]
