"""The windows that a scan walked last, for whoever looks at the same events next."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from binx.event.header import event_size
from binx.source import READ_BYTES, PlainFile

if TYPE_CHECKING:
    from binx.log.file import BinlogFile


class RecentWindows:
    """What was read to find transactions, so that it need not be read once more for their rows.

    One thread may add windows while another looks at those before.

    Args:
        limit: bytes that are kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._windows: tuple[tuple[int, memoryview], ...] = ()
        self._held = 0

    def add(self, start: int, window: memoryview) -> None:
        """Keep a window, and let go of the oldest ones."""
        windows, held = self._windows, self._held + len(window)
        if windows and start <= windows[-1][0]:
            windows, held = (), len(window)
        windows = (*windows, (start, window))
        first = 0
        while held > self._limit:
            held -= len(windows[first][1])
            first += 1
        # Put in place whole, as whoever looks meanwhile sees these or those before.
        self._windows, self._held = windows[first:], held

    def events(self, position: int, stop: int) -> memoryview | None:
        """The bytes from an event on, none behind ``stop``; None where no window has all of the event."""
        windows = self._windows
        # A tuple that begins with the same number comes before longer ones, which are not looked at further.
        place = bisect_left(windows, (position + 1,)) - 1
        if place < 0:
            return None
        start, window = windows[place]
        found = window[position - start : stop - start]
        return found if 0 < event_size(found) <= len(found) else None


@contextmanager
def windows_kept(file: BinlogFile, walked: int) -> Iterator[None]:
    """While this lasts, the windows that a scan over a file walks are kept for the decoding of its events.

    A source that is made piece by piece keeps its pieces by itself.

    Args:
        file: the file.
        walked: bytes that the scan walks ahead at most. A little more is kept: the beginning of the first
            transaction is in the window before.
    """
    if isinstance(file.source, PlainFile):
        file.recent = RecentWindows(walked + 2 * READ_BYTES)
    try:
        yield
    finally:
        file.recent = None
        file.source.release(0, file.size)


__all__ = ["RecentWindows", "windows_kept"]
