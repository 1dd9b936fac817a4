"""Plain files, mapped into memory."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import Self

from binx.errors import NotABinlogError, SourceError


def printable(name: str) -> str:
    """A file's name as UTF-8 can hold it: what it has of other bytes becomes escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class MappedFile:
    """A plain file on a local disk.

    The mapping is read-only and its size is that of the moment it was opened: a
    binary log that a server is still writing shows no more than it held then.
    """

    def __init__(self, descriptor: int, path: str, name: str) -> None:
        self._path = path
        self._name = name
        self._size = os.fstat(descriptor).st_size
        if self._size == 0:
            raise NotABinlogError("expected a binary log, found an empty file", path=path)
        try:
            self._map = mmap.mmap(descriptor, self._size, prot=mmap.PROT_READ)
        except OSError as error:
            raise SourceError(f"cannot be mapped into memory: {error.strerror}", path=path) from error
        self._view = memoryview(self._map)

    @classmethod
    def open(cls, path: str) -> Self:
        """Open a file by its path.

        Raises:
            SourceError: absent, a folder or another thing that is no regular file, no permission.
            NotABinlogError: the file is empty.
        """
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SourceError("expected a file, found a folder or a device", path=path)
            return cls(descriptor, path, printable(Path(path).name))
        finally:
            os.close(descriptor)

    @property
    def path(self) -> str:
        """The path as the user gave it."""
        return self._path

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self._name

    @property
    def size(self) -> int:
        """Bytes at the moment of opening."""
        return self._size

    def window(self, start: int, stop: int) -> memoryview:
        """The bytes of ``[start, stop)``; no copy is made."""
        return self._view[start : min(stop, self._size)]

    def release(self, start: int, stop: int) -> None:
        """Let the kernel drop the pages, so that resident memory stays small on large files."""
        first = start - start % mmap.PAGESIZE
        last = min(stop, self._size) - min(stop, self._size) % mmap.PAGESIZE
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        """Unmap the file, or leave that to the last window's end where one is still held."""
        self._view.release()
        try:
            self._map.close()
        except BufferError:
            # A window of an unfinished iterator is still alive; the mapping goes when it does.
            return
