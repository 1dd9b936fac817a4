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

    A plain file is read a second time, beside the decoding; any other source at once, as it may have but one
    place at a time.

    Args:
        file: the log.
        lane: where it is read.
    """

    def __init__(self, file: BinlogFile, lane: Lane) -> None:
        self._lane = lane
        self._digest = hashlib.sha256()
        self._is_dropped = False
        if isinstance(file.source, PlainFile):
            twin = file.source.twin()
            lane.submit(lambda: self._read_and_close(twin))
        else:
            self._read(file.source)

    def hexdigest(self) -> str:
        """Wait for it.

        Raises:
            SourceError: the file cannot be read.
        """
        self._lane.join()
        return self._digest.hexdigest()

    def drop(self) -> None:
        """Read no further."""
        self._is_dropped = True
        self._lane.drop()

    def _read_and_close(self, source: PlainFile) -> None:
        try:
            self._read(source)
        finally:
            source.close()

    def _read(self, source: Source) -> None:
        for start in range(0, source.size, READ_BYTES):
            if self._is_dropped:
                return
            stop = min(start + READ_BYTES, source.size)
            self._digest.update(source.window(start, stop))
            source.release(start, stop)
