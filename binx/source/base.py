"""What a source of bytes offers the layers above.

A source is a file of known size whose bytes are looked at through windows.
Windows are short-lived: a reader asks for one, works on it, and releases it, so
that memory does not grow with the file.
"""

from __future__ import annotations

from typing import Protocol

WINDOW_BYTES = 16 * 1024 * 1024
"""How much of a file a reader walks before it lets the pages go."""


class Source(Protocol):
    """Bytes of one binary log."""

    @property
    def path(self) -> str:
        """The name to show to a person, as the user gave it."""

    @property
    def name(self) -> str:
        """The binary log's own name: the path's last part, without a compression suffix."""

    @property
    def size(self) -> int:
        """Bytes, as of the moment the source was opened."""

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, read-only; fewer only at the file's end.

        Raises:
            SourceError: the bytes cannot be read (the file shrank, an I/O error).
        """

    def release(self, start: int, stop: int) -> None:
        """Say that the pages of ``[start, stop)`` will not be looked at soon."""

    def close(self) -> None:
        """Give back the file and the memory; windows handed out before become invalid."""
