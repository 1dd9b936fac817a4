"""The mirrored logs on disk, byte for byte as on the server: begin, continue, compare, truncate, sync.

A log that is being written is marked as in use, as on the server, so that concurrent readers know that its
end may be incomplete.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from binx.errors import BinxError, DamagedError, OutputError, RefusedError, SourceError
from binx.event.format import (
    MAGIC,
    MAGIC_SIZE,
    Flavour,
    FormatDescription,
    parse_format,
    verify_format_checksum,
)
from binx.event.gtid.sets import GtidSet
from binx.event.header import HEADER_SIZE, EventFlag, event_size
from binx.pull.checks import LastTransaction, LogChecks
from binx.source.log_names import number_of
from binx.storage.output import synchronize
from binx.storage.output_errors import output_errors

_FLAGS = 17
_NOT_COMPARED = (slice(13, 17), slice(19 + 2 + 50, 19 + 2 + 50 + 4), slice(-4, None))
"""Next position, create time and checksum of a format description."""
_COMPARED_BYTES = 1 << 20
_READ_BYTES = 4 << 20


class DiskFullError(OutputError):
    """There is no space for arriving events; what was written before stays."""


class NewestLog(NamedTuple):
    """The newest log of a chain on disk.

    Attributes:
        format_event: the bytes of its first event.
        start: where its last whole transaction begins; without one, the offset after its first event.
        end: offset after its last whole transaction or event between transactions.
        listed: the GTIDs before it, of MariaDB the last of each source, as it lists them.
        content: those in it. If it does not list the GTIDs before it yet, both are those of the log before.
        is_linked: whether it lists them.
        last: its last transaction.
        is_set_back: whether a session of MariaDB has set numbers back, and they are still below earlier ones.
    """

    log: str
    description: FormatDescription
    format_event: bytes
    start: int
    end: int
    listed: GtidSet
    content: GtidSet
    is_linked: bool
    last: LastTransaction | None
    is_set_back: bool

    @property
    def gtids(self) -> GtidSet:
        """Those of all transactions up to its end, including the previous logs."""
        return self.listed | self.content


def read_tail(folder: Path) -> NewestLog | None:
    """Verify every event of a chain's newest log and return it; None if there is none.

    A log that was begun when the machine failed, and has no first event, is removed. In a log that is still
    in use, damaged or incomplete bytes are ignored: they are requested from the server again.

    Raises:
        DamagedError: a closed log is damaged.
    """
    names = [path.name for path in folder.iterdir() if path.is_file() and number_of(path.name)]
    names.sort(key=number_of)
    while names:
        path = folder / names.pop()
        tail = _read(path)
        if tail is not None:
            previous = _read(folder / names[-1]) if names and not tail.is_linked else None
            if previous is None:
                return tail
            return tail._replace(listed=previous.listed, content=previous.content | tail.content)
        with output_errors(folder):
            path.unlink()
    return None


def _read(path: Path) -> NewestLog | None:
    """Check a log as when it arrived; return None if it has no first event."""
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(_COMPARED_BYTES)
            return _tail_of(file, path.name, head) if _is_begun(head) else None
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error
    except BinxError as error:
        raise error.at(path=str(path)) from error.__cause__


def _is_begun(head: bytes) -> bool:
    """Whether a log has its first event; a machine failure leaves it truncated, or zeroed."""
    size = event_size(head[MAGIC_SIZE:]) if len(head) >= MAGIC_SIZE + HEADER_SIZE else 0
    return len(head) == _COMPARED_BYTES or 0 < size <= len(head) - MAGIC_SIZE


def _tail_of(file: FileIO, name: str, head: bytes) -> NewestLog:
    description = parse_format(head, MAGIC_SIZE)
    format_event = head[MAGIC_SIZE : MAGIC_SIZE + event_size(head[MAGIC_SIZE:])]
    verify_format_checksum(format_event, description)
    first = MAGIC_SIZE + len(format_event)
    checks = LogChecks(name, description, first)
    window = memoryview(bytearray(_READ_BYTES))
    try:
        while True:
            file.seek(checks.reached)
            count = file.readinto(window)
            if not count or not checks.take(window[:count]):
                break
        if not description.in_use and checks.whole_end != file.seek(0, os.SEEK_END):
            raise DamagedError("expected a closed log to end after a transaction", offset=checks.whole_end)
    except DamagedError:
        if not description.in_use:
            raise
    listed, content = checks.listed or GtidSet(), checks.gtids()
    gtids = listed | content
    return NewestLog(
        name,
        description,
        format_event,
        first if checks.last is None else checks.last.start,
        checks.whole_end,
        listed,
        content,
        checks.listed is not None,
        checks.last,
        description.flavour is Flavour.MARIADB
        and any(number < gtids.intervals(source)[-1][1] for source, number in checks.lasts.items()),
    )


def has_same_format(ours: bytes, theirs: bytes) -> bool:
    """Whether two first events are from the same log.

    If a log is requested from its middle, the server sends the first event without what signals a log's start
    to a replica: its position, and the server's start time.
    """

    def comparable(event: bytes) -> bytes:
        changed = bytearray(event)
        for field in _NOT_COMPARED:
            changed[field] = bytes(4)
        changed[_FLAGS] &= ~EventFlag.IN_USE & 0xFF
        return bytes(changed)

    return len(ours) == len(theirs) and comparable(ours) == comparable(theirs)


class LogFile:
    """A log of the mirror, open for writing.

    Attributes:
        stored: number of bytes that existed already; bytes that arrive for these are compared.
        is_dirty: whether something written is not synced to disk yet.
    """

    def __init__(self, path: Path, stored: int) -> None:
        self.path = path
        self.stored = stored
        self.is_dirty = False
        self._is_cut = False
        with output_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)

    @classmethod
    def begin(cls, path: Path, format_event: bytes) -> LogFile:
        """Create a log with its first event."""
        file = cls(path, 0)
        marked = bytearray(MAGIC + format_event)
        marked[MAGIC_SIZE + _FLAGS] |= EventFlag.IN_USE
        try:
            file.put(0, memoryview(marked))
            file.stored = len(marked)
            file.synchronize()
            synchronize([path.parent])
        except BaseException:
            file.close()
            raise
        return file

    def put(self, position: int, data: memoryview) -> None:
        """Write bytes at their offset; bytes that exist already must be identical.

        Raises:
            RefusedError: they are not.
        """
        with output_errors(self.path):
            while data and position < self.stored:
                count = min(len(data), self.stored - position, _COMPARED_BYTES)
                if os.pread(self._descriptor, count, position) != data[:count]:
                    raise RefusedError(
                        "expected the server's log to go on where this one ends, found other bytes in the"
                        " last transaction that both have; its logs were reset or restored, or it is another"
                        " server: begin again with --new-chain",
                        path=str(self.path),
                        offset=position,
                    )
                position += count
                data = data[count:]
            if data and not self._is_cut:
                # Damaged or incomplete when the file was opened, and now received again.
                os.ftruncate(self._descriptor, self.stored)
                self._is_cut = True
            while data:
                try:
                    written = os.pwrite(self._descriptor, data, position)
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                        raise
                    message = "no space is left for the server's log"
                    raise DiskFullError(message, path=str(self.path)) from error
                position += written
                data = data[written:]
                self.is_dirty = True

    def cut(self, end: int) -> None:
        """Truncate the log at an offset."""
        with output_errors(self.path):
            if os.fstat(self._descriptor).st_size > end:
                os.ftruncate(self._descriptor, end)
                self.is_dirty = True

    def synchronize(self) -> None:
        """Sync to disk what was written."""
        with output_errors(self.path):
            os.fsync(self._descriptor)
        self.is_dirty = False

    def finish(self) -> None:
        """Clear the in-use mark after everything else is synced to disk."""
        with output_errors(self.path):
            offset = MAGIC_SIZE + _FLAGS
            flags = os.pread(self._descriptor, 1, offset)[0]
            if flags & EventFlag.IN_USE:
                os.fsync(self._descriptor)
                os.pwrite(self._descriptor, bytes([flags & ~EventFlag.IN_USE & 0xFF]), offset)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._descriptor)
