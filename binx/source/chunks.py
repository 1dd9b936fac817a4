"""Decompressed or decrypted pieces of files, kept for as long as they are few.

A log is read forward, with steps back of some megabytes: transactions are found first, and their rows are
decoded then. What is kept here makes such a step free. All sources share it, however many are open.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import Protocol

from binx.errors import DamagedError
from binx.source.base import Source

CHUNK_BYTES = 1024 * 1024
"""Bytes of a piece, at most."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of all pieces that are kept: more than twice what is walked before rows are decoded."""

_LARGE_BYTES = 16 * 1024 * 1024
"""A window of more is one large event: the pieces within it are not kept beside it."""

_owners = count()


class ChunkCache:
    """The pieces used last, of all sources, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._chunks: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def get(self, owner: int, start: int) -> bytes | None:
        """A piece that is still there."""
        chunk = self._chunks.get((owner, start))
        if chunk is not None:
            self._chunks.move_to_end((owner, start))
        return chunk

    def put(self, owner: int, start: int, chunk: bytes) -> None:
        """Keep a piece, and let go of the ones that were not used for longest."""
        self._chunks[owner, start] = chunk
        self._held += len(chunk)
        while self._held > self._most:
            _, old = self._chunks.popitem(last=False)
            self._held -= len(old)

    def forget(self, owner: int, start: int) -> None:
        """Let go of a piece."""
        self._held -= len(self._chunks.pop((owner, start), b""))

    def drop(self, owner: int) -> None:
        """Let go of all pieces of a source."""
        for key in [key for key in self._chunks if key[0] == owner]:
            self._held -= len(self._chunks.pop(key))


_CACHE = ChunkCache(KEPT_BYTES)


class ChunkedSource:
    """A binary log that is made piece by piece, of what is stored: a :class:`~binx.source.base.Source`."""

    def __init__(self, path: str, name: str, size: int) -> None:
        self.path = path
        self.name = name
        self.size = size
        self._owner = next(_owners)

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, or up to the end.

        Raises:
            SourceError: what is stored cannot be read.
            DamagedError: it cannot be decompressed; ``offset`` is one in what is stored.
        """
        stop = min(stop, self.size)
        is_large = stop - start > _LARGE_BYTES
        parts: list[memoryview] = []
        while start < stop:
            first, last = self._span(start)
            is_whole = is_large and start == first and last <= stop
            chunk = _CACHE.get(self._owner, first)
            if chunk is None:
                chunk = self._load(first, last)
                if not is_whole:
                    _CACHE.put(self._owner, first, chunk)
            elif is_whole:
                _CACHE.forget(self._owner, first)
            parts.append(memoryview(chunk)[start - first : stop - first])
            start = last
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def release(self, start: int, stop: int) -> None:
        """The pieces go when others are read."""

    def close(self) -> None:
        """Let go of what is kept; who makes the pieces closes the file too."""
        _CACHE.drop(self._owner)

    def _span(self, position: int) -> tuple[int, int]:
        """For an offset, the piece that holds it: its first byte's offset and the one behind its last."""
        return even_span(position, self.size)

    def _load(self, start: int, stop: int) -> bytes:
        """Make a piece."""
        raise NotImplementedError


def even_span(position: int, size: int, length: int = CHUNK_BYTES) -> tuple[int, int]:
    """The piece around an offset where all are of one length."""
    start = position - position % length
    return start, min(start + length, size)


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
