"""Pages compressed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from binx.export.parquet_format.metadata import Codec
from binx.kernels.pages import PageEncoder

if TYPE_CHECKING:
    import zstandard


class PageCompressors(NamedTuple):
    """What a thread compresses pages with.

    Attributes:
        page: compresses a page.
        long_page: compresses a page with the bytes of its one long string behind it.
    """

    page: Callable[[PageEncoder], bytes]
    long_page: Callable[[PageEncoder, memoryview], bytes | bytearray]


Compress = Callable[[], PageCompressors]
"""Gives what this thread compresses pages with."""

_LONG_PIECE = 1024 * 1024
"""How much of a long string is compressed at a time: what comes of it is held once."""

DEFAULT_ZSTD_LEVEL = 1
"""The level that pays: higher ones make files that are little smaller, and cost twice as much."""

_LARGE_PAGE = 256 * 1024
_LARGE_WINDOW_LOG, _LARGE_HASH_LOG = 18, 12
"""Level 1 finds what comes again through a table of 64 KiB where a page is large: with one of 16 KiB, which
leaves room in the processor's first cache, it takes less time, and what comes out is as small."""

_THREAD = threading.local()

_CODECS = {"none": Codec.UNCOMPRESSED, "snappy": Codec.SNAPPY, "zstd": Codec.ZSTD, "lz4": Codec.LZ4_RAW}


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

    def page(data: PageEncoder) -> bytes:
        compressed: bytes = arrow.compress(data, asbytes=True)
        return compressed

    def long_page(data: PageEncoder, long_bytes: memoryview) -> bytes:
        compressed: bytes = arrow.compress(b"".join((data, long_bytes)), asbytes=True)
        return compressed

    both = PageCompressors(page, long_page)
    return codec, lambda: both


def _zstd(level: int) -> Compress:
    """Compressors whose tables, more than a MiB, each thread has once, however many files are open."""
    import zstandard

    def of_thread() -> PageCompressors:
        kept: dict[int, PageCompressors] = _THREAD.__dict__.setdefault("zstd", {})
        found = kept.get(level)
        if found is None:
            plain = zstandard.ZstdCompressor(level)
            found = kept[level] = _zstd_compressors(plain, _for_large_pages(plain, level))
        return found

    return of_thread


def _for_large_pages(plain: zstandard.ZstdCompressor, level: int) -> zstandard.ZstdCompressor:
    """What compresses pages of more than 256 KiB."""
    import zstandard

    if level != DEFAULT_ZSTD_LEVEL:
        return plain
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level, window_log=_LARGE_WINDOW_LOG, hash_log=_LARGE_HASH_LOG
    )
    return zstandard.ZstdCompressor(compression_params=parameters)


def _zstd_compressors(zstd: zstandard.ZstdCompressor, large: zstandard.ZstdCompressor) -> PageCompressors:
    # They take any buffer; their types know those of Python alone.
    compress = cast("Callable[[PageEncoder], bytes]", zstd.compress)
    compress_large = cast("Callable[[PageEncoder], bytes]", large.compress)

    def page(data: PageEncoder) -> bytes:
        return compress(data) if len(data) <= _LARGE_PAGE else compress_large(data)

    def long_page(data: PageEncoder, long_bytes: memoryview) -> bytearray:
        running = zstd.compressobj(size=len(data))
        compressed = bytearray(running.compress(cast("bytes", data)))
        for start in range(0, len(long_bytes), _LONG_PIECE):
            compressed += running.compress(long_bytes[start : start + _LONG_PIECE])
        compressed += running.flush()
        return compressed

    return PageCompressors(page, long_page)


__all__ = ["DEFAULT_ZSTD_LEVEL", "Compress", "PageCompressors", "compressor"]
