"""A file that is hashed as it is written."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from binx.export.descriptors import write_whole
from binx.export.durable import begin_to_synchronize, begin_to_synchronize_small

if TYPE_CHECKING:
    import hashlib

    from typing_extensions import Buffer

_WRITTEN_AT_ONCE = 256 * 1024
_BROUGHT_AT_ONCE = 4 * 1024 * 1024
"""Bytes that the system is asked to bring to the disk while the file is written on."""


class Room:
    """Memory that files share for bytes that wait while nothing is added to them.

    Args:
        size: how many bytes.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Take some of it, or tell that there is not so much."""
        with self._lock:
            if is_there := size <= self._left:
                self._left -= size
        return is_there

    def give_back(self, size: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._left += size


class HashedStream:
    """A file whose bytes are hashed and written some at a time, while they are in the processor's cache.

    It is made, or written on, when there is something to write.

    Args:
        path: the file.
        digest: of the bytes; None where nobody asks for it.
        room: where bytes may wait while it rests; None for nowhere.
    """

    # A log of thousands of tables has as many.
    __slots__ = ("_descriptor", "_digest", "_held", "_kept", "_path", "_room", "_size")

    def __init__(self, path: str, digest: hashlib._Hash | None, room: Room | None = None) -> None:
        self._path = path
        self._digest = digest
        self._room = room
        self._held = bytearray()
        self._kept = 0
        self._descriptor: int | None = None
        self._size = 0

    def write(self, data: Buffer) -> None:
        """Write bytes."""
        # Of what is written, all has a length.
        if len(self._held) + len(data) <= _WRITTEN_AT_ONCE:  # type: ignore[arg-type]
            self._held += data
            return
        self._flush()
        with memoryview(data) as view:
            self._put(view)

    def rest(self) -> None:
        """Take no descriptor until more is written, and no memory but of the room."""
        more = len(self._held) - self._kept
        if self._descriptor is None and self._room is not None and self._room.take(more):
            self._kept += more
        else:
            self.close(is_whole=False)

    def close(self, *, is_whole: bool) -> None:
        """Write what is held.

        Args:
            is_whole: whether nothing more comes.
        """
        try:
            self._flush()
            if is_whole and self._descriptor is not None:
                begin_to_synchronize_small(self._descriptor, self._size)
        finally:
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None:
                os.close(descriptor)

    def _flush(self) -> None:
        if not self._held:
            return
        held, self._held = self._held, bytearray()
        if self._room is not None:
            self._room.give_back(self._kept)
            self._kept = 0
        with memoryview(held) as view:
            self._put(view)

    def _put(self, data: memoryview) -> None:
        if self._descriptor is None:
            self._descriptor = os.open(
                self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
            )
            self._size = os.fstat(self._descriptor).st_size
        if self._digest is not None:
            self._digest.update(data)
        write_whole(self._descriptor, data)
        start, self._size = self._size, self._size + data.nbytes
        if self._digest is not None:
            self._begin_to_synchronize(self._descriptor, start)

    def _begin_to_synchronize(self, descriptor: int, start: int) -> None:
        """Have what is written from a place on be on the disk by the time that somebody waits for it."""
        start -= start % _BROUGHT_AT_ONCE
        stop = self._size - self._size % _BROUGHT_AT_ONCE
        if stop > start:
            begin_to_synchronize(descriptor, start, stop)


__all__ = ["HashedStream", "Room"]
