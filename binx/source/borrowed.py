"""A log whose first event is damaged, read with that of another one."""

from __future__ import annotations

from binx.source.base import Source


class BorrowedHead:
    """A source whose first bytes are another one's: a :class:`~binx.source.base.Source`.

    Args:
        source: the log; it is closed with this.
        head: the magic and the first event of the other one.
    """

    def __init__(self, source: Source, head: bytes) -> None:
        self._source = source
        self._head = memoryview(head)

    @property
    def path(self) -> str:
        """As the source's."""
        return self._source.path

    @property
    def name(self) -> str:
        """As the source's."""
        return self._source.name

    @property
    def size(self) -> int:
        """As the source's."""
        return self._source.size

    def window(self, start: int, stop: int) -> memoryview:
        """As the source's, but for the first bytes."""
        borrowed = len(self._head)
        if start >= borrowed:
            return self._source.window(start, stop)
        if stop <= borrowed:
            return self._head[start:stop]
        return memoryview(bytes(self._head[start:]) + bytes(self._source.window(borrowed, stop)))

    def release(self, start: int, stop: int) -> None:
        """As the source's."""
        self._source.release(start, stop)

    def close(self) -> None:
        """As the source's."""
        self._source.close()


__all__ = ["BorrowedHead"]
