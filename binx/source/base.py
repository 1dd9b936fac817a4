"""What a source of bytes offers the rooms below: a file of known size, looked at through short windows."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol

from binx.errors import BinxError
from binx.source.magic import MAGIC

if TYPE_CHECKING:
    from typing_extensions import Buffer

WINDOW_BYTES = 16 * 1024 * 1024
"""How far a reader walks before it hands over what it found."""

READ_BYTES = 512 * 1024
"""How much a reader asks for at once. So much stays in the processor's cache while it is walked."""


CHUNK_BYTES = 1024 * 1024
"""Bytes of a chunk, at most, where reading one costs no round trip."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes of all chunks that are kept: more than twice what is walked before rows are decoded."""

_LARGE_BYTES = 16 * 1024 * 1024
"""A window of more is one large event: the chunks within it are not kept beside it."""

_owners = count()


class Source(Protocol):
    """Bytes of one binary log."""

    @property
    def path(self) -> str:
        """The name to show to a person, as the user gave it."""

    @property
    def name(self) -> str:
        """The binary log's own name: the path's last part, without a compression suffix."""

    @property
    def size(self) -> int:
        """Bytes of the binary log, as of the moment the source was opened."""

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, read-only; fewer only at the file's end.

        They are held in memory: ask for :data:`READ_BYTES`, or for the event that is larger. A window stays
        as it is for as long as it is held.

        Raises:
            SourceError: the bytes cannot be read (the file shrank, an I/O error).
            DamagedError: they cannot be decompressed or decrypted.
        """

    def release(self, start: int, stop: int) -> None:
        """Say that the bytes of ``[start, stop)`` will not be looked at soon."""

    def close(self) -> None:
        """Give back the file; windows handed out before stay readable."""


class SourceReader(io.RawIOBase):
    """A source, or a part of one, as libraries read files.

    Attributes:
        problem: the error of the source, which not every library passes on.
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
        with memoryview(buffer) as view, view.cast("B") as room:
            try:
                found = self._source.window(
                    self._position, min(self._position + min(len(room), READ_BYTES), self._stop)
                )
            except BinxError as problem:
                self.problem = problem
                raise
            room[: len(found)] = found
        self._position += len(found)
        return len(found)


class WrappedSource:
    """A source that gives what another one does; whatever differs is for those who make more of it."""

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
    """A source whose first bytes are another one's."""

    def __init__(self, source: Source, head: bytes) -> None:
        super().__init__(source)
        self._head = memoryview(head)

    def window(self, start: int, stop: int) -> memoryview:
        """As the source's, but for the first bytes."""
        borrowed = len(self._head)
        if start >= borrowed:
            return super().window(start, stop)
        if stop <= borrowed:
            return self._head[start:stop]
        return memoryview(bytes(self._head[start:]) + bytes(super().window(borrowed, stop)))


class JoinedSource:
    """A relay log and what of the next ones belongs to its last transaction."""

    def __init__(self, first: Source, others: Sequence[Source], size: int | None = None) -> None:
        self._parts: list[tuple[int, Source, int]] = [(0, first, 0)]
        stop = first.size
        for other in others:
            self._parts.append((stop, other, len(MAGIC)))
            stop += other.size - len(MAGIC)
        self._size = stop if size is None else size

    @property
    def first(self) -> Source:
        """The log by itself."""
        return self._parts[0][1]

    @property
    def others(self) -> tuple[Source, ...]:
        """The next ones."""
        return tuple(source for _, source, _ in self._parts[1:])

    @property
    def path(self) -> str:
        """The first log's."""
        return self._parts[0][1].path

    @property
    def name(self) -> str:
        """The first log's."""
        return self._parts[0][1].name

    @property
    def size(self) -> int:
        """Bytes up to the end of the last transaction."""
        return self._size

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, over the ends of the logs."""
        stop = min(stop, self._size)
        found = []
        for begin, source, skipped in self._parts:
            first, last = max(start, begin), min(stop, begin + source.size - skipped)
            if first < last:
                found.append(source.window(first - begin + skipped, last - begin + skipped))
        return found[0] if len(found) == 1 else memoryview(b"".join(found))

    def release(self, start: int, stop: int) -> None:
        """As the first log's, as far as it goes."""
        first = self._parts[0][1]
        first.release(min(start, first.size), min(stop, first.size))

    def close(self) -> None:
        """Close the first log."""
        self._parts[0][1].close()


class ChunkCache:
    """The chunks used last, of all sources, up to a number of bytes.

    A log is read forward, with steps back of some megabytes: transactions are found first, and their rows
    are decoded then. What is kept here makes such a step free.
    """

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
