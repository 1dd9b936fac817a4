"""gzip (RFC 1952): one member or several in a row.

gzip tells nowhere how much all of it decompresses to, so it is decompressed once when it is opened. On
the way the decompressor's state is put aside from time to time, and reading can begin at each such place
later.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from typing import Protocol

from binx.errors import DamagedError, TruncatedError
from binx.source.base import READ_BYTES, Source
from binx.source.chunks import CHUNK_BYTES, even_span
from binx.source.magic import check_inside, is_gzip

_WITH_GZIP_HEADER = 31
_INPUT_BYTES = 64 * 1024
_SPACING = 4 * 1024 * 1024
_MOST_PLACES = 256
"""A state takes some 45 KB."""


class _Inflate(Protocol):
    """zlib's decompressor, whose type has no name in Python."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...
    def copy(self) -> _Inflate: ...


class _Members:
    """Decompression from a place on: zlib's state, and the compressed bytes that it has taken in."""

    def __init__(self, inner: Source, inflate: _Inflate, pending: bytes, position: int, stop: int) -> None:
        self._inner = inner
        self._inflate = inflate
        self._pending = pending
        self._position = position
        self.stop = stop

    def copy(self) -> _Members:
        """The same state, to go on from another time."""
        return _Members(self._inner, self._inflate.copy(), self._pending, self._position, self.stop)

    def read(self, most: int) -> bytes:
        while True:
            if self._inflate.eof and not self._next_member():
                return b""
            if not self._pending:
                self._pending = bytes(self._inner.window(self._position, self._position + _INPUT_BYTES))
                self._position += len(self._pending)
            at_end = not self._pending
            offset = self._position - len(self._pending)
            try:
                data = self._inflate.decompress(self._pending, most)
            except zlib.error as error:
                raise DamagedError(
                    f"expected gzip data, found them damaged ({error}); copy the file again from its origin",
                    path=self._inner.path,
                    offset=offset,
                ) from None
            self._pending = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if data:
                return data
            if at_end and not self._inflate.eof:
                raise TruncatedError(
                    "the gzip data end before their end mark; the file was truncated, copy it again",
                    path=self._inner.path,
                    offset=self._position,
                )

    def _next_member(self) -> bool:
        """Go on behind a member's end; zero bytes that pad the file there are none, as for gzip itself."""
        head = self._pending[:2]
        if len(head) < 2:
            head += bytes(self._inner.window(self._position, self._position + 2 - len(head)))
        offset = self._position - len(self._pending)
        if not head.strip(b"\0"):
            for start in range(offset, self._inner.size, READ_BYTES):
                if bytes(self._inner.window(start, start + READ_BYTES)).strip(b"\0"):
                    raise self._trailing(start)
            return False
        if not is_gzip(head):
            raise self._trailing(offset)
        self._inflate = zlib.decompressobj(_WITH_GZIP_HEADER)
        return True

    def _trailing(self, offset: int) -> DamagedError:
        return DamagedError(
            "expected the end of the gzip file or another member, found other bytes",
            path=self._inner.path,
            offset=offset,
        )


class GzipLayout:
    """A gzip file that was decompressed once, and the places at which it can be begun again.

    Raises:
        NotABinlogError: something else than a binary log is in it.
        DamagedError, TruncatedError: the compressed bytes are damaged or cut.
    """

    def __init__(self, inner: Source) -> None:
        decoder: _Members = _Members(inner, zlib.decompressobj(_WITH_GZIP_HEADER), b"", 0, 0)
        self._positions = [0]
        self._places = [decoder.copy()]
        spacing = _SPACING
        size = 0
        head = b""
        while data := decoder.read(CHUNK_BYTES):
            if len(head) < 4:
                head += data[:4]
                if len(head) >= 4:
                    check_inside(head, inner.path, "gzip")
            size += len(data)
            if size - self._positions[-1] >= spacing:
                self._positions.append(size)
                self._places.append(decoder.copy())
                if len(self._places) > _MOST_PLACES:
                    del self._positions[1::2], self._places[1::2]
                    spacing *= 2
        check_inside(head, inner.path, "gzip")
        self.size = size

    def span(self, position: int) -> tuple[int, int]:
        """Pieces of one length."""
        return even_span(position, self.size)

    def begin(self, position: int) -> int:
        """The nearest place before an offset where the state was put aside."""
        return self._positions[bisect_right(self._positions, position) - 1]

    def decoder(self, begin: int) -> _Members:
        """Go on from such a place."""
        decoder = self._places[bisect_right(self._positions, begin) - 1].copy()
        decoder.stop = self.size
        return decoder
