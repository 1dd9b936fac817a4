"""What a source of bytes offers the rooms below: a file of known size, looked at through short windows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from binx.errors import BinxError
from binx.source.magic import MAGIC

if TYPE_CHECKING:
    from typing_extensions import Buffer

WINDOW_BYTES = 16 * 1024 * 1024
"""How far a reader walks before it hands over what it found."""

READ_BYTES = 512 * 1024
"""How much a reader asks for at once. So much stays in the processor's cache while it is walked."""


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
