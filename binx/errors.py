"""The hierarchy of binx's errors, each with its exit code.

An error about a file carries where it was found: ``path``, ``offset`` (bytes from the start of the file),
``event`` (the event type's name) and ``gtid``. A kernel knows only the offset; the layers above add the rest
with :meth:`BinxError.at` while the error passes through them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """Exit codes of the process; scripts rely on them."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOSSES = 3
    ABSENT = 4
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class BinxWarning(UserWarning):
    """A result of the Python API is incomplete; the message names what is missing, as the commands do."""


class BinxError(Exception):
    """Base class of all errors raised by binx.

    Args:
        message: what was expected, what was found, and what to do.
        path: the file's name as given by the user.
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
        """Add details that are not set yet."""
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
    """The request is invalid or contradicts itself."""

    exit_code = ExitCode.USAGE


class SourceError(BinxError):
    """A file cannot be opened or read: missing, a folder, no permission."""


class NotABinlogError(BinxError):
    """The file is not a binary log of format version 4: text, empty, too old, encrypted."""


class DamagedError(BinxError):
    """The file violates the format: truncated, overwritten, a checksum that does not match."""


class TruncatedError(DamagedError):
    """The file ends inside an event or a transaction."""


class ChecksumError(DamagedError):
    """An event's CRC32 does not match its bytes."""


class StaleError(BinxError):
    """An index file does not match its log: it was made from another log, or the log has changed."""


class UnsupportedError(BinxError):
    """The file is valid, but contains something that binx does not support."""


class UndecodableError(UnsupportedError):
    """Rows are intact but cannot be decoded; their transaction can still be copied."""


class EncryptedError(UnsupportedError):
    """The file is encrypted, and the key is missing or wrong."""


class AbsentError(BinxError):
    """Something requested (a GTID, a table, a file of a chain) is not in the input."""

    exit_code = ExitCode.ABSENT


class RefusedError(BinxError):
    """The requested output would not be correct, so nothing is written."""


class UnmatchedRuleError(RefusedError):
    """A rule about personal data matched no column, so that the data would be written unmasked."""

    exit_code = ExitCode.LOSSES


class OutputError(BinxError):
    """The output cannot be written: no space, no permission, a closed pipe."""


class ServerError(BinxError):
    """A server rejects a request.

    Args:
        message: the server's message, and what to do.
        server: the server's name in messages.
        number: the server's error number; 0 if it gave none.
    """

    def __init__(self, message: str, *, server: str, number: int = 0) -> None:
        super().__init__(message, path=server)
        self.number = number


class ConnectionLostError(ServerError):
    """The server is unreachable, closed the connection, or does not answer; it may be back soon."""


class ResourceError(BinxError):
    """No more threads or processes can be started."""

    @classmethod
    def of(cls, what: str, reason: object) -> Self:
        """Return the error for threads or processes that cannot be started, with the system's reason."""
        return cls(
            f"cannot start more {what} ({reason}); use --jobs 1, or raise the limits on processes and"
            " memory (ulimit -u, ulimit -v)"
        )
