"""Relay logs, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from binx.source.base import Source
from binx.source.magic import MAGIC


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
