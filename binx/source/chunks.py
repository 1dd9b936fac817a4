"""Decompressed or decrypted pieces of files, kept for as long as they are few.

A log is read forward, with steps back of some megabytes: transactions are found first, and their rows are
decoded then. What is kept here makes such a step free. All sources share it, however many are open.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import count

CHUNK_BYTES = 1024 * 1024
"""Bytes of a piece, at most."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of all pieces that are kept: more than twice what is walked before rows are decoded."""

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

    def drop(self, owner: int) -> None:
        """Let go of all pieces of a source."""
        for key in [key for key in self._chunks if key[0] == owner]:
            self._held -= len(self._chunks.pop(key))


_CACHE = ChunkCache(KEPT_BYTES)

Span = Callable[[int], tuple[int, int]]
"""For an offset, the piece that holds it: its first byte's offset and the one behind its last."""

Load = Callable[[int, int], bytes]
"""Makes a piece."""


class Chunks:
    """The bytes of one source, made piece by piece.

    Args:
        size: bytes of the whole.
        span: says where pieces begin and end.
        load: makes one.
    """

    def __init__(self, size: int, span: Span, load: Load) -> None:
        self.size = size
        self._span = span
        self._load = load
        self._owner = next(_owners)

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, or up to the end."""
        stop = min(stop, self.size)
        parts: list[memoryview] = []
        while start < stop:
            first, last = self._span(start)
            chunk = _CACHE.get(self._owner, first)
            if chunk is None:
                chunk = self._load(first, last)
                _CACHE.put(self._owner, first, chunk)
            parts.append(memoryview(chunk)[start - first : stop - first])
            start = last
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def close(self) -> None:
        """Let go of what is kept."""
        _CACHE.drop(self._owner)


def even_span(position: int, size: int, length: int = CHUNK_BYTES) -> tuple[int, int]:
    """The piece around an offset where all are of one length."""
    start = position - position % length
    return start, min(start + length, size)
