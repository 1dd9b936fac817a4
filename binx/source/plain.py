"""Plain files, and temporary copies of streams and unpacked files."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock, RLock
from typing import IO, Self

from binx.errors import NotABinlogError, SourceError
from binx.source.byte_source import READ_BYTES, Source
from binx.source.log_names import own_name, printable

_COPIED_AT_ONCE = 4 * 1024 * 1024
_MOST_BUFFERS = 80
"""Maximum number of pooled buffers: more than the windows waiting to be decoded and hashed."""

STANDARD_INPUT_NAME = "stdin"


class PlainFile:
    """A plain file on a local disk.

    Its size is fixed when it is opened, even if a server is still writing the log. The file is read, never
    mapped: if it is truncated meanwhile, that is an error that can be reported, whereas a mapping would end
    the process. Threads may request windows concurrently.
    """

    def __init__(self, descriptor: int, path: str, name: str) -> None:
        self._descriptor = descriptor
        self.path = path
        self.name = name
        self.size = os.fstat(descriptor).st_size
        if self.size == 0:
            raise NotABinlogError("expected a binary log, found an empty file", path=path)

    @classmethod
    def open(cls, path: str) -> Self:
        """Open a file by its path."""
        try:
            # Opening a FIFO without a writer would block; on a regular file O_NONBLOCK has no effect.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error
        except ValueError as error:
            raise SourceError(f"cannot be opened: {error}", path=ascii(path)) from error
        try:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISFIFO(mode):
                raise SourceError("expected a file, found a pipe; read it as standard input (-)", path=path)
            if not stat.S_ISREG(mode):
                raise SourceError("expected a file, found a folder or a device", path=path)
            return cls(descriptor, path, printable(own_name(os.path.basename(path))))
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def find(cls, path: str) -> Self | None:
        """Open a file; return None if it does not exist."""
        try:
            return cls.open(path)
        except SourceError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)`` in a buffer that is reused when no longer referenced."""
        size = min(stop, self.size) - start
        if size <= 0:
            return memoryview(b"")
        buffer = _buffers.take(size)
        done = 0
        while done < size:
            try:
                count = os.preadv(self._descriptor, [buffer[done:]], start + done)
            except OSError as error:
                raise SourceError(
                    f"cannot be read: {error.strerror}", path=self.path, offset=start + done
                ) from error
            if count == 0:
                raise SourceError(
                    f"the file shrank while it was read: expected {self.size} bytes, found"
                    f" {start + done}; run again when nothing writes to it",
                    path=self.path,
                    offset=start + done,
                )
            done += count
        return buffer.toreadonly()

    def release(self, start: int, stop: int) -> None:
        """Do nothing: windows that nobody references are used again."""

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Buffers:
    """A pool of buffers of one size, used in rotation by all files and threads.

    Reading into memory that is already in the CPU cache makes reading a file faster than mapping it, and
    unlike a mapping it cannot fault if the file is truncated while it is read.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._pool: deque[bytearray] = deque()
        self._lock = Lock()

    def take(self, size: int) -> memoryview:
        """Return a writable view of ``size`` bytes that nobody else references."""
        if size > self._size:
            return memoryview(bytearray(size))
        with self._lock:
            # The buffer that was handed out first is the likeliest to be free.
            for _ in range(len(self._pool)):
                buffer = self._pool[0]
                self._pool.rotate(-1)
                if _is_free(buffer):
                    return memoryview(buffer)[:size]
            buffer = bytearray(self._size)
            if len(self._pool) < _MOST_BUFFERS:
                self._pool.append(buffer)
            return memoryview(buffer)[:size]


_buffers = Buffers(READ_BYTES)


def _is_free(buffer: bytearray) -> bool:
    """Whether no view of the buffer exists: Python resizes it only then."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    buffer.pop()
    return True


def spool(stream: IO[bytes], path: str = "-", name: str = STANDARD_INPUT_NAME) -> PlainFile:
    """Copy a stream to an unnamed temporary file."""
    import shutil

    return _temporary(path, name, lambda file: shutil.copyfileobj(stream, file, _COPIED_AT_ONCE))


def _temporary(path: str, name: str, fill: Callable[[IO[bytes]], None]) -> PlainFile:
    import tempfile

    with tempfile.TemporaryFile(prefix="binx-") as file:
        try:
            fill(file)
            file.flush()
        except OSError as error:
            raise SourceError(
                f"cannot be written to {tempfile.gettempdir()}: {error.strerror or error}; set TMPDIR to a"
                " folder with more space",
                path=path,
            ) from error
        descriptor = os.dup(file.fileno())
    try:
        return PlainFile(descriptor, path, name)
    except BaseException:
        os.close(descriptor)
        raise


MOST_COPIES = 8
"""Maximum number of unpacked files in the temporary folder; others are unpacked again on demand."""

_copies: OrderedDict[UnpackedFile, PlainFile] = OrderedDict()
"""The unpacked contents, least recently used first."""

_lock = RLock()


class UnpackedFile:
    """The content of a file that can only be read sequentially: gzip, age.

    It is unpacked as a whole into an unnamed file.
    """

    def __init__(self, inner: Source, name: str) -> None:
        self.path = inner.path
        self.name = name
        self.inner = inner
        self.size = self._content().size

    def unpack(self, file: IO[bytes]) -> None:
        """Write the unpacked content to a file."""
        raise NotImplementedError

    def window(self, start: int, stop: int) -> memoryview:
        """Return the bytes of ``[start, stop)``; see :class:`~binx.source.byte_source.Source`."""
        with _lock:
            return self._content().window(start, stop)

    def release(self, start: int, stop: int) -> None:
        """As :meth:`PlainFile.release`."""

    def close(self) -> None:
        """Close the file and remove its unpacked content."""
        with _lock:
            content = _copies.pop(self, None)
        if content is not None:
            content.close()
        self.inner.close()

    def _content(self) -> PlainFile:
        with _lock:
            content = _copies.pop(self, None)
            _copies[self] = _temporary(self.path, self.name, self.unpack) if content is None else content
            while len(_copies) > MOST_COPIES:
                _copies.popitem(last=False)[1].close()
            return _copies[self]
