"""A temporary file of texts or events that are written in order and read in reverse."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator
from io import SEEK_END
from typing import BinaryIO, Self

from binx.errors import OutputError

PIECE_BYTES = 1024 * 1024
"""Bytes read at a time."""

NO_MARK = -1
"""The mark of a text that needs no session settings."""

_RECORD = struct.Struct("<qqqqq")
_RECORDS_AT_ONCE = 4096


class ReverseSpool:
    """Texts in a temporary file, read from the last to the first; memory does not grow with them."""

    def __init__(self) -> None:
        self._texts: BinaryIO = tempfile.TemporaryFile(prefix="binx-")  # noqa: SIM115
        self._records: BinaryIO = tempfile.TemporaryFile(prefix="binx-")  # noqa: SIM115
        self._end = 0
        self._window = memoryview(b"")
        self._window_start = 0
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._texts.close()
        self._records.close()

    def add(
        self, text: Iterable[bytes], transaction: int, mark: int = NO_MARK, rows: int = 0, *, before: int = 0
    ) -> None:
        """Add a text, given in chunks, before some of the last ones.

        Raises:
            OutputError: the temporary folder has no space.
        """
        start = self._end
        try:
            for chunk in text:
                self._end += self._texts.write(chunk)
            records = _RECORD.pack(start, self._end - start, transaction, mark, rows)
            if before:
                place = self._records.seek(-before * _RECORD.size, SEEK_END)
                records += self._records.read()
                self._records.seek(place)
            self._records.write(records)
        except OSError as error:
            raise OutputError(
                f"cannot write temporary files to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR"
                " to a folder with more space"
            ) from error
        self.count += 1

    def backwards(self) -> Iterator[tuple[int, int, int, Iterator[bytes | memoryview]]]:
        """Yield transaction, mark, row count and the text in chunks, from the last to the first."""
        for last in range(self.count, 0, -_RECORDS_AT_ONCE):
            first = max(0, last - _RECORDS_AT_ONCE)
            self._records.seek(first * _RECORD.size)
            block = self._records.read((last - first) * _RECORD.size)
            for offset, size, transaction, mark, rows in reversed(list(_RECORD.iter_unpack(block))):
                yield transaction, mark, rows, self._text(offset, size)

    def _text(self, offset: int, size: int) -> Iterator[bytes | memoryview]:
        """Yield a text in chunks; read short ones from a window of the file."""
        if size <= PIECE_BYTES:
            begin = offset - self._window_start
            if not 0 <= begin <= len(self._window) - size:
                self._window_start = max(0, offset + size - PIECE_BYTES)
                self._texts.seek(self._window_start)
                self._window = memoryview(self._texts.read(offset + size - self._window_start))
                begin = offset - self._window_start
            yield self._window[begin : begin + size]
            return
        self._texts.seek(offset)
        while size:
            chunk = self._texts.read(min(size, PIECE_BYTES))
            size -= len(chunk)
            yield chunk
