"""The SHA-256 of a binary log, made while it is decoded."""

from __future__ import annotations

import hashlib
from functools import partial

from binx.export.workers import Lane
from binx.log.file import BinlogFile
from binx.source import READ_BYTES
from binx.source.plain import PlainFile

_PIECE_BYTES = 4 * 1024 * 1024
"""How much is hashed in one piece of work."""

_BEHIND_BYTES = 24 * 1024 * 1024
"""How far hashing may be behind what is seen, which is held until then."""


class LogDigest:
    """The SHA-256 of a log's bytes, taken as the scan reads them.

    Without a lane they are taken at once, while they are in the processor's cache. Where there are threads
    and the file can be read by several, they are hashed beside the scan.

    Args:
        file: the log.
        lane: where it is hashed; None: by whoever hands over.

    Attributes:
        passes: whether :meth:`saw` passes over what it is given, which is then read again.
    """

    def __init__(self, file: BinlogFile, lane: Lane | None) -> None:
        self._source = file.source
        self._lane = (
            lane if lane is not None and lane.has_thread and isinstance(file.source, PlainFile) else None
        )
        self._digest = hashlib.sha256()
        self._done = 0
        self._is_dropped = False
        self.passes = False
        self._seen: list[tuple[int, memoryview]] = []
        self._seen_bytes = 0

    def saw(self, start: int, window: memoryview) -> None:
        """Take in bytes of the log that were read; those that were not and stand before them are read.

        Where they are hashed beside, it waits while too many are held.

        Raises:
            SourceError: they cannot be.
        """
        if self.passes:
            return
        if self._lane is None:
            self._take(start, window)
            return
        self._seen.append((start, window))
        self._seen_bytes += len(window)
        if self._seen_bytes >= _PIECE_BYTES:
            if start + len(window) > self._done + _BEHIND_BYTES:
                self._lane.join()
            self._hand_over()

    def read_on(self) -> bool:
        """Read a piece more, whoever sees it later; whether there was one.

        Raises:
            SourceError: it cannot be read.
        """
        before = self._done
        self._read(min(before + READ_BYTES, self._source.size))
        return self._done > before

    def hexdigest(self) -> str:
        """Wait for it, and read what was not seen.

        Raises:
            SourceError: the file cannot be read.
        """
        self._hand_over()
        if self._lane is not None:
            self._lane.join()
        self._read(self._source.size)
        return self._digest.hexdigest()

    def drop(self) -> None:
        """Take in no more."""
        self._is_dropped = True
        self._forget()
        if self._lane is not None:
            self._lane.drop()

    def _hand_over(self) -> None:
        """Have hashed what was seen."""
        seen = self._seen
        self._forget()
        if seen and self._lane is not None:
            self._lane.submit(partial(self._take_all, seen))

    def _forget(self) -> None:
        self._seen, self._seen_bytes = [], 0

    def _take_all(self, seen: list[tuple[int, memoryview]]) -> None:
        for start, window in seen:
            self._take(start, window)

    def _take(self, start: int, window: memoryview) -> None:
        if start + len(window) > self._done:
            self._read(start)
            self._update(window[self._done - start :])

    def _read(self, stop: int) -> None:
        source = self._source
        while self._done < stop and not self._is_dropped:
            start = self._done
            self._update(source.window(start, min(start + READ_BYTES, stop)))
            source.release(start, self._done)

    def _update(self, data: memoryview) -> None:
        self._digest.update(data)
        self._done += len(data)
