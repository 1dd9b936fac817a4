"""Memory that windows are read into, used again as soon as nobody looks at it any more."""

from __future__ import annotations

from collections import deque
from threading import Lock

_SPARE = 80
"""Buffers that are kept at most: more than the windows of what waits to be decoded and hashed."""


class Buffers:
    """A few buffers of one size, handed out by turns.

    Reading into memory that is in the processor's cache already is what makes reading a file faster than
    mapping it, and unlike a mapping it cannot fault when the file is cut while it is read. Threads may share
    them.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: deque[bytearray] = deque()
        self._lock = Lock()

    def take(self, size: int) -> memoryview:
        """Memory of ``size`` bytes that is not looked at by anyone else."""
        if size > self._size:
            return memoryview(bytearray(size))
        with self._lock:
            # The one that was handed out first is the likeliest to have come back.
            for _ in range(len(self._kept)):
                buffer = self._kept[0]
                self._kept.rotate(-1)
                if _is_free(buffer):
                    return memoryview(buffer)[:size]
            buffer = bytearray(self._size)
            if len(self._kept) < _SPARE:
                self._kept.append(buffer)
            return memoryview(buffer)[:size]

    def clear(self) -> None:
        """Keep no buffer any longer."""
        with self._lock:
            self._kept.clear()


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of the buffer exists: Python resizes it only then."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True
