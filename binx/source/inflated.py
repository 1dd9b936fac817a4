"""Compressed files, decompressed as they are read.

Forward that is one go, backward it begins again at the nearest place that allows it. Nothing is written to
disk, and memory holds the pieces read last (see :mod:`binx.source.chunks`), whatever the file decompresses
to.
"""

from __future__ import annotations

from typing import Protocol

from binx.errors import DamagedError
from binx.source.base import Source
from binx.source.chunks import CHUNK_BYTES, ChunkedSource


class Decoder(Protocol):
    """Decompressed bytes from some offset on."""

    stop: int

    def read(self, most: int) -> bytes:
        """The next bytes, at most so many; none where the data end early.

        Raises:
            DamagedError: the compressed bytes are damaged.
        """


class Layout(Protocol):
    """Where a compressed file can be begun at."""

    @property
    def size(self) -> int:
        """Bytes that all of it decompresses to."""

    def span(self, position: int) -> tuple[int, int]:
        """The piece that holds an offset; it begins and ends within what one decoder gives."""

    def begin(self, position: int) -> int:
        """The offset nearest before ``position`` at which decompression can begin."""

    def decoder(self, begin: int) -> Decoder:
        """Begin there."""


class Inflated(ChunkedSource):
    """What a compressed source decompresses to."""

    def __init__(self, inner: Source, layout: Layout, name: str) -> None:
        super().__init__(inner.path, name, layout.size)
        self.inner = inner
        self._layout = layout
        self._decoder: Decoder | None = None
        self._position = 0

    def close(self) -> None:
        """Close the file."""
        super().close()
        self._decoder = None
        self.inner.close()

    def _span(self, position: int) -> tuple[int, int]:
        return self._layout.span(position)

    def _load(self, start: int, stop: int) -> bytes:
        begin = self._layout.begin(start)
        if self._decoder is None or not begin <= self._position <= start < self._decoder.stop:
            self._decoder, self._position = self._layout.decoder(begin), begin
        try:
            while self._position < start:
                self._take(min(CHUNK_BYTES, start - self._position))
            chunk = b"".join(iter(lambda: self._take(stop - self._position), b""))
        except BaseException:
            self._decoder = None
            raise
        if self._position == self._decoder.stop:
            self._decoder = None
        return chunk

    def _take(self, most: int) -> bytes:
        assert self._decoder is not None
        data = self._decoder.read(most) if most else b""
        if most and not data:
            raise DamagedError(
                f"the compressed data end at byte {self._position} of the binary log: expected {self.size}",
                path=self.path,
            )
        self._position += len(data)
        return data
