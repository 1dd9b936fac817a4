"""Every error that binx raises on purpose, in one tree, each with its exit code.

An error about a file carries where it was found: ``path``, ``offset`` (bytes
from the start of the file), ``event`` (the event type's name) and ``gtid``. A
kernel knows only the offset; layers above add the rest with :meth:`BinxError.at`
while the error passes through them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """What the process returns; the command line's contract with scripts."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOSSES = 3
    ABSENT = 4


class BinxError(Exception):
    """Something that binx found and can explain.

    Args:
        message: what was expected, what was found, what to do about it.
        path: the file's name as the user gave it.
        offset: bytes from the start of the file.
        event: the event type's name.
        gtid: the transaction's identifier.
    """

    exit_code = ExitCode.FAILED

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        event: str | None = None,
        gtid: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.event = event
        self.gtid = gtid

    def at(
        self,
        *,
        path: str | None = None,
        offset: int | None = None,
        event: str | None = None,
        gtid: str | None = None,
    ) -> Self:
        """Add what the raiser did not know; what it did know stays."""
        self.path = path if self.path is None else self.path
        self.offset = offset if self.offset is None else self.offset
        self.event = event if self.event is None else self.event
        self.gtid = gtid if self.gtid is None else self.gtid
        return self

    def __str__(self) -> str:
        places = [
            self.path,
            None if self.offset is None else f"offset {self.offset}",
            self.event,
            None if self.gtid is None else f"transaction {self.gtid}",
        ]
        where = ", ".join(place for place in places if place is not None)
        return f"{where}: {self.message}" if where else self.message


class UsageError(BinxError):
    """The request contradicts itself or cannot be understood."""

    exit_code = ExitCode.USAGE


class SourceError(BinxError):
    """A file cannot be opened or read: absent, a folder, no permission, vanished."""


class NotABinlogError(BinxError):
    """The bytes are no binary log of format version 4: text, empty, too old, encrypted."""


class DamagedError(BinxError):
    """The bytes contradict the format: cut, overwritten, a checksum that does not match."""


class TruncatedError(DamagedError):
    """The file ends inside an event or a transaction."""


class ChecksumError(DamagedError):
    """An event's CRC32 is not that of its bytes."""


class StaleError(BinxError):
    """An index file is not true of the log beside it: it was made of another, or the log has changed."""


class UnsupportedError(BinxError):
    """The bytes are as a server wrote them, but binx cannot read this part yet."""


class EncryptedError(UnsupportedError):
    """The bytes are encrypted, and the key is missing or another."""


class AbsentError(BinxError):
    """Something asked for (a GTID, a table, a file of a chain) is not in the input."""

    exit_code = ExitCode.ABSENT


class RefusedError(BinxError):
    """The output asked for would not be correct, so none is written."""


class OutputError(BinxError):
    """The output cannot be written: no space, no permission, a closed pipe."""


class ResourceError(BinxError):
    """The system gives no more of what the work takes: threads or processes."""

    @classmethod
    def of(cls, what: str, reason: object) -> Self:
        """The error about threads or processes that the system does not start, for the reason it gives."""
        return cls(
            f"the system starts no more {what} ({reason}); give --jobs 1, or raise its limits of processes"
            " and memory (ulimit -u, ulimit -v)"
        )
