"""The windows that a scan walked last, for whoever looks at the same events next."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from binx.event.header import event_size
from binx.source import READ_BYTES, WINDOW_BYTES, PlainFile

if TYPE_CHECKING:
    from binx.log.file import BinlogFile

_KEPT_BYTES = WINDOW_BYTES + 2 * READ_BYTES
"""A table's events, and the beginning of its first transaction in the window before."""


class RecentWindows:
    """What was read to find transactions, so that it need not be read once more for their rows."""

    def __init__(self) -> None:
        self._windows: deque[tuple[int, memoryview]] = deque()
        self._held = 0

    def add(self, start: int, window: memoryview) -> None:
        """Keep a window, and let go of the oldest ones."""
        if self._windows and start <= self._windows[-1][0]:
            self.clear()
        self._windows.append((start, window))
        self._held += len(window)
        while self._held > _KEPT_BYTES:
            self._held -= len(self._windows.popleft()[1])

    def clear(self) -> None:
        """Keep nothing."""
        self._windows.clear()
        self._held = 0

    def events(self, position: int, stop: int) -> memoryview | None:
        """The bytes from an event on, none behind ``stop``; None where no window has all of the event."""
        place = bisect_right(self._windows, position, key=lambda kept: kept[0]) - 1
        if place < 0:
            return None
        start, window = self._windows[place]
        found = window[position - start : stop - start]
        return found if 0 < event_size(found) <= len(found) else None


@contextmanager
def windows_kept(file: BinlogFile) -> Iterator[None]:
    """While this lasts, the windows that a scan over a file walks are kept for the decoding of its events.

    A source that is made piece by piece keeps its pieces by itself.
    """
    if isinstance(file.source, PlainFile):
        file.recent = RecentWindows()
    try:
        yield
    finally:
        file.recent = None
        file.source.release(0, file.size)


__all__ = ["RecentWindows", "windows_kept"]
