"""A file that is hashed as it is written."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from binx.export.descriptors import write_whole
from binx.export.durable import begin_to_synchronize, begin_to_synchronize_small

if TYPE_CHECKING:
    from typing_extensions import Buffer

_WRITTEN_AT_ONCE = 256 * 1024
_BROUGHT_AT_ONCE = 4 * 1024 * 1024
"""Bytes that the system is asked to bring to the disk while the file is written on."""


class HashedStream:
    """A file whose bytes are hashed and written some at a time, while they are in the processor's cache.

    Args:
        path: the file; it is made, or written on.
        digest: of the bytes; None where nobody asks for it.
    """

    def __init__(self, path: str, digest: hashlib._Hash | None) -> None:
        self._digest = digest
        self._held = bytearray()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._size = os.fstat(self._descriptor).st_size

    def write(self, data: Buffer) -> None:
        """Write bytes."""
        # Of what is written, all has a length.
        if len(self._held) + len(data) <= _WRITTEN_AT_ONCE:  # type: ignore[arg-type]
            self._held += data
            return
        self._flush()
        with memoryview(data) as view:
            self._put(view)

    def close(self, *, is_whole: bool) -> None:
        """Write what is held.

        Args:
            is_whole: whether nothing more comes.
        """
        try:
            self._flush()
            if is_whole:
                begin_to_synchronize_small(self._descriptor, self._size)
        finally:
            os.close(self._descriptor)

    def _flush(self) -> None:
        held, self._held = self._held, bytearray()
        with memoryview(held) as view:
            self._put(view)

    def _put(self, data: memoryview) -> None:
        if self._digest is not None:
            self._digest.update(data)
        write_whole(self._descriptor, data)
        start, self._size = self._size, self._size + data.nbytes
        if self._digest is not None:
            self._begin_to_synchronize(start)

    def _begin_to_synchronize(self, start: int) -> None:
        """Have what is written from a place on be on the disk by the time that somebody waits for it."""
        start -= start % _BROUGHT_AT_ONCE
        stop = self._size - self._size % _BROUGHT_AT_ONCE
        if stop > start:
            begin_to_synchronize(self._descriptor, start, stop)


__all__ = ["HashedStream"]
