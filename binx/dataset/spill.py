"""Rows of tables that have few, set aside in a file without a name until they are worth a row group."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import pyarrow as pa


class Spill:
    """Record batches in a temporary file."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._size = 0

    def put(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Set a batch aside; gives where it is.

        Raises:
            OSError: it cannot be written.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        data = sink.getvalue()
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        rest = memoryview(data)
        start = self._size
        while rest:
            written = os.pwrite(self._file.fileno(), rest, self._size)
            self._size += written
            rest = rest[written:]
        return start, self._size - start

    def read(self, places: Iterable[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        """The batches at these places.

        Raises:
            OSError: they cannot be read.
        """
        for offset, size in places:
            if self._file is None:
                raise ValueError("nothing was set aside")
            data = os.pread(self._file.fileno(), size, offset)
            yield pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()
            self._file = None
