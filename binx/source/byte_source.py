"""The interface of byte sources: a file of known size, read through short windows."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from binx.errors import BinxError
from binx.source.magic import MAGIC

if TYPE_CHECKING:
    from typing_extensions import Buffer

WINDOW_BYTES = 16 * 1024 * 1024
"""Bytes that a reader walks before it yields what it found."""

READ_BYTES = 512 * 1024
"""Bytes that a reader requests at once. This much stays in the CPU cache while it is walked."""


CHUNK_BYTES = 1024 * 1024
"""Maximum size of a chunk if reading one costs no round trip."""

KEPT_BYTES = 64 * 1024 * 1024
"""Total size of the cached chunks: more than twice what is walked before rows are decoded."""

_LARGE_BYTES = 16 * 1024 * 1024
"""A larger window is one large event: the chunks within it are not cached as well."""

_owners = count()


class Source(Protocol):
    """Bytes of one binary log."""

    @property
    def path(self) -> str:
        """The name shown to users, as they gave it."""

    @property
    def name(self) -> str:
        """The binary log's own name: the path's last part without a compression suffix."""

    @property
    def size(self) -> int:
        """Size of the binary log when the source was opened."""

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)``, read-only; fewer only at the file's end.

        They are held in memory: request :data:`READ_BYTES`, or a larger event. A window stays unchanged as
        long as it is referenced.

        Raises:
            SourceError: the bytes cannot be read (the file shrank, an I/O error).
            DamagedError: they cannot be decompressed or decrypted.
        """

    def release(self, start: int, stop: int) -> None:
        """Announce that the bytes of ``[start, stop)`` will not be read again soon."""

    def close(self) -> None:
        """Close the file; existing windows stay readable."""


class SourceReader(io.RawIOBase):
    """A file object for libraries over a source, or part of one.

    Attributes:
        problem: the source's error, which not every library passes on.
    """

    def __init__(self, source: Source, start: int = 0, stop: int | None = None) -> None:
        super().__init__()
        self.problem: BinxError | None = None
        self._source = source
        self._start = self._position = start
        self._stop = source.size if stop is None else min(stop, source.size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position - self._start

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: self._start, io.SEEK_CUR: self._position, io.SEEK_END: self._stop}[whence]
        self._position = base + offset
        return self.tell()

    def readinto(self, buffer: Buffer) -> int:
        """Read the next bytes, at most :data:`READ_BYTES`."""
        with memoryview(buffer) as view, view.cast("B") as target:
            try:
                data = self._source.window(
                    self._position, min(self._position + min(len(target), READ_BYTES), self._stop)
                )
            except BinxError as problem:
                self.problem = problem
                raise
            target[: len(data)] = data
        self._position += len(data)
        return len(data)


class WrappedSource:
    """A source that delegates to another one; the base of sources that change something."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def path(self) -> str:
        return self._source.path

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def size(self) -> int:
        return self._source.size

    def window(self, start: int, stop: int) -> memoryview:
        return self._source.window(start, stop)

    def release(self, start: int, stop: int) -> None:
        self._source.release(start, stop)

    def close(self) -> None:
        self._source.close()


class BorrowedHead(WrappedSource):
    """A source whose first bytes come from another one."""

    def __init__(self, source: Source, head: bytes) -> None:
        super().__init__(source)
        self._head = memoryview(head)

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)``; the first ones come from the other source."""
        borrowed = len(self._head)
        if start >= borrowed:
            return super().window(start, stop)
        if stop <= borrowed:
            return self._head[start:stop]
        return memoryview(bytes(self._head[start:]) + bytes(super().window(borrowed, stop)))


class PartedSource:
    """A log whose bytes are in several files.

    Args:
        others: the files after the first, each with the number of bytes at its beginning to leave out.
        size: where the log ends; None for the end of the last file.
    """

    def __init__(self, first: Source, others: Sequence[tuple[Source, int]], size: int | None = None) -> None:
        self._parts: list[tuple[int, Source, int]] = [(0, first, 0)]
        stop = first.size
        for other, skipped in others:
            self._parts.append((stop, other, skipped))
            stop += other.size - skipped
        self._size = stop if size is None else size

    @property
    def path(self) -> str:
        """The first log's path."""
        return self._parts[0][1].path

    @property
    def name(self) -> str:
        """The first log's name."""
        return self._parts[0][1].name

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        return self._size

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)`` across the ends of the logs."""
        stop = min(stop, self._size)
        windows = []
        for begin, source, skipped in self._parts:
            first, last = max(start, begin), min(stop, begin + source.size - skipped)
            if first < last:
                windows.append(source.window(first - begin + skipped, last - begin + skipped))
        return windows[0] if len(windows) == 1 else memoryview(b"".join(windows))

    def release(self, start: int, stop: int) -> None:
        """Release the part within the first log."""
        first = self._parts[0][1]
        first.release(min(start, first.size), min(stop, first.size))

    def close(self) -> None:
        """Close the first file."""
        self._parts[0][1].close()


class JoinedSource(PartedSource):
    """A relay log joined with the rest of its last transaction from the next logs."""

    def __init__(self, first: Source, others: Sequence[Source], size: int | None = None) -> None:
        super().__init__(first, [(other, len(MAGIC)) for other in others], size)

    @property
    def first(self) -> Source:
        """The log itself."""
        return self._parts[0][1]

    @property
    def others(self) -> tuple[Source, ...]:
        """The next logs."""
        return tuple(source for _, source, _ in self._parts[1:])


class ChunkCache:
    """A cache of the most recently used chunks of all sources, limited in bytes.

    A log is read forward, with steps back of some megabytes: transactions are found first, then their rows
    are decoded. The cache makes such a step free. Threads share it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held_bytes = 0
        self._chunks: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, owner: int, start: int) -> bytes | None:
        """Return a cached chunk, or None."""
        with self._lock:
            chunk = self._chunks.get((owner, start))
            if chunk is not None:
                self._chunks.move_to_end((owner, start))
        return chunk

    def put(self, owner: int, start: int, chunk: bytes) -> None:
        """Add a chunk, and evict the least recently used ones."""
        with self._lock:
            self._held_bytes += len(chunk) - len(self._chunks.pop((owner, start), b""))
            self._chunks[owner, start] = chunk
            while self._held_bytes > self._most:
                _, old = self._chunks.popitem(last=False)
                self._held_bytes -= len(old)

    def drop(self, owner: int) -> None:
        """Evict all chunks of a source."""
        with self._lock:
            for key in [key for key in self._chunks if key[0] == owner]:
                self._held_bytes -= len(self._chunks.pop(key))


_CACHE = ChunkCache(KEPT_BYTES)


class ChunkedSource:
    """A :class:`Source` whose content is produced chunk by chunk from the stored bytes."""

    chunk_bytes = CHUNK_BYTES

    def __init__(self, path: str, name: str, size: int) -> None:
        self.path = path
        self.name = name
        self.size = size
        self._owner = next(_owners)

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)``, or up to the end.

        Raises:
            SourceError: the stored bytes cannot be read.
            DamagedError: they cannot be decompressed; ``offset`` refers to the stored bytes.
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
        """Do nothing: chunks are evicted as others are read."""

    def close(self) -> None:
        """Drop cached chunks; subclasses also close the file."""
        _CACHE.drop(self._owner)

    def _span(self, position: int) -> tuple[int, int]:
        """Return the start and end offsets of the chunk that holds a position."""
        start = position - position % self.chunk_bytes
        return start, min(start + self.chunk_bytes, self.size)

    def _load(self, start: int, stop: int) -> bytes:
        raise NotImplementedError
