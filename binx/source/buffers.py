"""Memory that windows are read into, used again as soon as nobody looks at it any more."""

from __future__ import annotations

_SPARE = 4


class Buffers:
    """A few buffers of one size, handed out by turns.

    Reading into memory that is in the processor's cache already is what makes reading a file faster than
    mapping it, and unlike a mapping it cannot fault when the file is cut while it is read.

    Args:
        size: bytes of a buffer; whoever wants more gets memory of its own.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """Memory of ``size`` bytes that is not looked at by anyone else."""
        if size > self._size:
            return memoryview(bytearray(size))
        for buffer in self._kept:
            if _is_free(buffer):
                return memoryview(buffer)[:size]
        buffer = bytearray(self._size)
        if len(self._kept) < _SPARE:
            self._kept.append(buffer)
        return memoryview(buffer)[:size]


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of the buffer exists: Python resizes it only then."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True
