"""The SHA-256 of a binary log, made while it is decoded."""

from __future__ import annotations

import hashlib

from binx.log.file import BinlogFile
from binx.source import READ_BYTES


class LogDigest:
    """The SHA-256 of a log's bytes, taken as a scan reads them, while they are in the processor's cache."""

    def __init__(self, file: BinlogFile) -> None:
        self._source = file.source
        self._digest = hashlib.sha256()
        self._done = 0

    def saw(self, start: int, window: memoryview) -> None:
        """Take in bytes of the log that were read; those that were not and stand before them are read.

        Raises:
            SourceError: they cannot be.
        """
        if start + len(window) > self._done:
            self._read(start)
            self._update(window[self._done - start :])

    def hexdigest(self) -> str:
        """Read what was not seen; gives the digest.

        Raises:
            SourceError: the file cannot be read.
        """
        self._read(self._source.size)
        return self._digest.hexdigest()

    def _read(self, stop: int) -> None:
        source = self._source
        while self._done < stop:
            start = self._done
            self._update(source.window(start, min(start + READ_BYTES, stop)))
            source.release(start, self._done)

    def _update(self, data: memoryview) -> None:
        self._digest.update(data)
        self._done += len(data)
