"""The SHA-256 of a binary log, made while it is decoded."""

from __future__ import annotations

import hashlib

from binx.export.workers import Lane
from binx.log.file import BinlogFile
from binx.source import READ_BYTES
from binx.source.base import Source
from binx.source.plain import PlainFile


class LogDigest:
    """The SHA-256 of a log's bytes.

    Where there are threads, a plain file is read a second time, beside the decoding. Else the bytes are taken
    as the scan reads them, while they are in the processor's cache.

    Args:
        file: the log.
        lane: where it is read.
    """

    def __init__(self, file: BinlogFile, lane: Lane) -> None:
        self._source = file.source
        self._lane = lane
        self._digest = hashlib.sha256()
        self._done = 0
        self._is_dropped = False
        self._is_beside = lane.has_thread and isinstance(file.source, PlainFile)
        if isinstance(file.source, PlainFile) and self._is_beside:
            twin = file.source.twin()
            lane.submit(lambda: self._read_and_close(twin))

    def saw(self, start: int, window: memoryview) -> None:
        """Take in bytes of the log that were read; those that were not and stand before them are read.

        Raises:
            SourceError: they cannot be.
        """
        if not self._is_beside and start + len(window) > self._done:
            self._read(self._source, start)
            self._update(window[self._done - start :])

    def hexdigest(self) -> str:
        """Wait for it, or read what was not seen.

        Raises:
            SourceError: the file cannot be read.
        """
        if self._is_beside:
            self._lane.join()
        else:
            self._read(self._source, self._source.size)
        return self._digest.hexdigest()

    def drop(self) -> None:
        """Read no further."""
        self._is_dropped = True
        self._lane.drop()

    def _read_and_close(self, source: PlainFile) -> None:
        try:
            self._read(source, source.size)
        finally:
            source.close()

    def _read(self, source: Source, stop: int) -> None:
        while self._done < stop and not self._is_dropped:
            start = self._done
            self._update(source.window(start, min(start + READ_BYTES, stop)))
            source.release(start, self._done)

    def _update(self, data: memoryview) -> None:
        self._digest.update(data)
        self._done += len(data)
