"""SHA-256 of sources, stored objects and output."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from binx.source import READ_BYTES, Source
from binx.storage.output import Sink
from binx.storage.store import Store

if TYPE_CHECKING:
    from typing_extensions import Buffer

_WRITTEN_AT_ONCE = 256 * 1024


class DigestSink:
    """A sink that hashes what it passes on."""

    def __init__(self, sink: Sink) -> None:
        self.bytes = 0
        self._sink = sink
        self._digest = hashlib.sha256()

    def write(self, data: Buffer, /) -> int:
        """Write all bytes."""
        with memoryview(data) as view:
            self._digest.update(view)
            self._sink.write(view)
            self.bytes += view.nbytes
            return view.nbytes

    @property
    def sha256(self) -> str:
        """The digest of what was written, in hex."""
        return self._digest.hexdigest()


class HashedFile(DigestSink):
    """A hashed output file, in the form of a Python file for ``pyarrow``."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb", buffering=_WRITTEN_AT_ONCE)  # noqa: SIM115, PTH123
        super().__init__(self._file)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.bytes

    def flush(self) -> None:
        """Do nothing: the file is complete once it is closed."""

    def close(self) -> None:
        """Write buffered bytes and close the file."""
        self._file.close()


def digest_of(source: Source, progress: Callable[[int], None] = lambda position: None) -> str:
    """Return the SHA-256 of all bytes of a source."""
    digest = hashlib.sha256()
    for start in range(0, source.size, READ_BYTES):
        stop = min(start + READ_BYTES, source.size)
        digest.update(source.window(start, stop))
        source.release(start, stop)
        progress(stop)
    return digest.hexdigest()


def object_digest(store: Store, name: str) -> tuple[int, str]:
    """Return size and SHA-256 of a stored object."""
    source = store.open(name)
    try:
        return source.size, digest_of(source)
    finally:
        source.close()
