"""Bytes that wait until all before them are written: in memory, and in an unnamed file when they are many."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

_READ_AT_ONCE = 1024 * 1024


class Spool:
    """Takes bytes, and gives all of them back; to be used as a context.

    ``tempfile.SpooledTemporaryFile`` does the same, but importing ``tempfile`` takes more than half as many
    instructions as starting Python (29 of 49 million), and ``binx index`` of a small log needs no file.

    Args:
        limit: bytes that are kept in memory; more go to a file.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._in_memory: io.BytesIO | None = io.BytesIO()
        self._held: IO[bytes] = self._in_memory

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def size(self) -> int:
        """Bytes that were taken."""
        return self._held.tell()

    def write(self, data: bytes) -> None:
        """Take bytes.

        Raises:
            OSError: there is no room for them in the temporary folder.
        """
        self._held.write(data)
        if self._in_memory is not None and self._in_memory.tell() > self._limit:
            import tempfile

            self._held = tempfile.TemporaryFile(prefix="binx-")  # noqa: SIM115
            with self._in_memory.getbuffer() as held:
                self._held.write(held)
            self._in_memory = None

    def pieces(self) -> Iterator[bytes]:
        """All that was taken, from the first byte on.

        Raises:
            OSError: the file cannot be read.
        """
        self._held.seek(0)
        while piece := self._held.read(_READ_AT_ONCE):
            yield piece


__all__ = ["Spool"]
