"""Logs that are decompressed, decrypted or fetched in chunks, which are kept for as long as they are few.

A log is read forward, with steps back of some megabytes: transactions are found first, and their rows are
decoded then. What is kept here makes such a step free. All sources share it, however many are open.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import count

CHUNK_BYTES = 1024 * 1024
"""Bytes of a chunk, at most, where reading one costs no round trip."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of all chunks that are kept: more than twice what is walked before rows are decoded."""

_LARGE_BYTES = 16 * 1024 * 1024
"""A window of more is one large event: the chunks within it are not kept beside it."""

_owners = count()


class ChunkCache:
    """The chunks used last, of all sources, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._chunks: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def get(self, owner: int, start: int) -> bytes | None:
        """A chunk that is still there."""
        chunk = self._chunks.get((owner, start))
        if chunk is not None:
            self._chunks.move_to_end((owner, start))
        return chunk

    def put(self, owner: int, start: int, chunk: bytes) -> None:
        """Keep a chunk, and let go of the ones that were not used for longest."""
        self._chunks[owner, start] = chunk
        self._held += len(chunk)
        while self._held > self._most:
            _, old = self._chunks.popitem(last=False)
            self._held -= len(old)

    def drop(self, owner: int) -> None:
        """Let go of all chunks of a source."""
        for key in [key for key in self._chunks if key[0] == owner]:
            self._held -= len(self._chunks.pop(key))


_CACHE = ChunkCache(KEPT_BYTES)


class ChunkedSource:
    """A binary log that is made chunk by chunk of what is stored: a :class:`~binx.source.base.Source`."""

    chunk_bytes = CHUNK_BYTES

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
            chunk = _CACHE.get(self._owner, first)
            if chunk is None:
                chunk = self._load(first, last)
                if not is_large:
                    _CACHE.put(self._owner, first, chunk)
            parts.append(memoryview(chunk)[start - first : stop - first])
            start = last
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def release(self, start: int, stop: int) -> None:
        """The chunks go when others are read."""

    def close(self) -> None:
        """Let go of what is kept; who makes the chunks closes the file too."""
        _CACHE.drop(self._owner)

    def _span(self, position: int) -> tuple[int, int]:
        """The chunk that holds an offset: its first byte's offset and the one behind its last."""
        start = position - position % self.chunk_bytes
        return start, min(start + self.chunk_bytes, self.size)

    def _load(self, start: int, stop: int) -> bytes:
        raise NotImplementedError
