"""A log whose first event is damaged, read with that of another one."""

from __future__ import annotations

from binx.source.base import Source, WrappedSource


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
