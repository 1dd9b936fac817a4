"""SHA-256 of what is read and of what is written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from binx.source import READ_BYTES, Source
from binx.storage.output import Sink
from binx.storage.store import Store

if TYPE_CHECKING:
    from typing_extensions import Buffer


class DigestSink:
    """Passes on what is written to it."""

    def __init__(self, sink: Sink) -> None:
        self.bytes = 0
        self._sink = sink
        self._digest = hashlib.sha256()

    def write(self, data: Buffer, /) -> int:
        """Write all bytes."""
        self._sink.write(data)
        self._digest.update(data)
        size = memoryview(data).nbytes
        self.bytes += size
        return size

    def hexdigest(self) -> str:
        """The SHA-256 of what was written."""
        return self._digest.hexdigest()


def digest_of(source: Source, progress: Callable[[int], None] = lambda position: None) -> str:
    """The SHA-256 of all bytes of a source.

    Raises:
        SourceError, DamagedError: it cannot be read.
    """
    digest = hashlib.sha256()
    for start in range(0, source.size, READ_BYTES):
        stop = min(start + READ_BYTES, source.size)
        digest.update(source.window(start, stop))
        source.release(start, stop)
        progress(stop)
    return digest.hexdigest()


def object_digest(store: Store, name: str) -> tuple[int, str]:
    """Size and SHA-256 of a stored object.

    Raises:
        SourceError: it is not there, or cannot be read.
        NotABinlogError: it is empty.
    """
    source = store.open(name)
    try:
        return source.size, digest_of(source)
    finally:
        source.close()
