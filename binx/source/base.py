"""What a source of bytes offers the layers above.

A source is a file of known size whose bytes are looked at through windows.
Windows are short: a reader asks for the bytes that it works on, goes on to the
next ones, and memory does not grow with the file.
"""

from __future__ import annotations

from typing import Protocol

WINDOW_BYTES = 16 * 1024 * 1024
"""How far a reader walks before it hands over what it found."""

READ_BYTES = 512 * 1024
"""How much a reader asks for at once. So much stays in the processor's cache while it is walked."""


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
        """Bytes of the binary log, as of the moment the source was opened."""

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``, read-only; fewer only at the file's end.

        They are held in memory: ask for :data:`READ_BYTES`, or for the event that is larger. A window stays
        as it is for as long as it is held.

        Raises:
            SourceError: the bytes cannot be read (the file shrank, an I/O error).
            DamagedError: they cannot be decompressed or decrypted.
        """

    def release(self, start: int, stop: int) -> None:
        """Say that the bytes of ``[start, stop)`` will not be looked at soon."""

    def close(self) -> None:
        """Give back the file; windows handed out before stay readable."""


class WrappedSource:
    """A source that gives what another one does; whatever differs is for those who make more of it."""

    def __init__(self, source: Source) -> None:
        self._source = source

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
        """As the source's."""
        return self._source.window(start, stop)

    def release(self, start: int, stop: int) -> None:
        """As the source's."""
        self._source.release(start, stop)

    def close(self) -> None:
        """As the source's."""
        self._source.close()
