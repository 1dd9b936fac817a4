"""Write exports atomically: complete under the final name, or not at all.

A file is written next to its target under a temporary name, synced to disk, and renamed; on any error, and on
an interrupt, the temporary file is removed and an existing target stays unchanged. ``-`` is standard output,
and devices and pipes are written directly.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from binx.errors import OutputError, RefusedError
from binx.storage.locking import is_taken
from binx.storage.output_errors import STANDARD_OUTPUT, output_error, output_errors

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Buffer

_SYNC_THREADS = 16
"""Number of files synced concurrently; in sequence, each sync waits for a journal write."""
_FEW_FILES = 4
"""Maximum number of files synced in sequence, which takes less time than to start threads."""
_NEW_FILE_MODE = 0o666
_TEMPORARY_ATTEMPTS = 100
_TEMPORARY_NAMES = ".binx-*.tmp"
_CONTROL_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class Sink(Protocol):
    """What exports are written to: anything with the ``write`` of a binary file."""

    def write(self, data: Buffer, /) -> int | None:
        """Write all bytes."""


class CountedSink(Sink, Protocol):
    """A sink that counts the bytes written."""

    bytes_written: int


class OutputStream(io.RawIOBase):
    """A binary stream whose writes are complete and whose errors are :class:`~binx.errors.OutputError`.

    Attributes:
        bytes_written: number of bytes passed to :meth:`write`.
        notes: notes for the reader of the output.
    """

    def __init__(self, raw: BinaryIO | io.RawIOBase, path: str) -> None:
        super().__init__()
        self.path = path
        self.bytes_written = 0
        self.notes: tuple[str, ...] = ()
        self._raw = raw

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.bytes_written

    def write(self, data: Buffer, /) -> int:
        """Write all bytes, in as many steps as the system needs.

        Raises:
            ReaderGoneError: the reader of a pipe has closed it.
            OutputError: the system rejects them: no space, an I/O error.
        """
        with memoryview(data) as original, original.cast("B") as view:
            done = 0
            while done < len(view):
                done += self._write_some(view[done:])
            self.bytes_written += done
            return done

    def _write_some(self, view: memoryview) -> int:
        try:
            count = self._raw.write(view)
        except BlockingIOError as error:
            count = error.characters_written or None
        except OSError as error:
            raise output_error(error, self.path) from error
        if count is None:
            # A full pipe that its other end made non-blocking.
            select.select([], [self._raw.fileno()], [])
            return 0
        return count


class ShownStream(OutputStream):
    r"""Text for a terminal: control characters are written as ``\uNNNN``.

    In JSON that is equivalent; for other formats a note mentions it.
    """

    def __init__(self, raw: BinaryIO | io.RawIOBase, path: str) -> None:
        super().__init__(raw, path)
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Buffer, /) -> int:
        """Write all characters; the original bytes are counted."""
        original = bytes(data)
        text = self._decoder.decode(original)
        shown = "".join(map(_harmless, text))
        if shown != text:
            self.notes = (
                "control characters are shown as \\uNNNN on a terminal; files and pipes receive them"
                " unchanged",
            )
        before = self.bytes_written
        super().write(shown.encode())
        self.bytes_written = before + len(original)
        return len(original)


def _harmless(character: str) -> str:
    """Return a character, or its escape for a terminal."""
    if character in "\n\t" or unicodedata.category(character) not in _CONTROL_CATEGORIES:
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))


@contextmanager
def open_output(path: str, *, binary: bool = True, plain: bool = False) -> Iterator[OutputStream]:
    """Open an output for writing; leaving the block without an error commits it.

    Args:
        path: a file, or ``-`` for standard output. An existing file is replaced atomically at the end; links
            are followed.
        binary: whether the output is binary, and must not reach a terminal.
        plain: whether the output contains no escape sequences meant for a terminal.

    Raises:
        RefusedError: binary output would go to a terminal.
    """
    if path == STANDARD_OUTPUT:
        with _standard_output(binary, plain) as stream:
            yield stream
    elif _is_special(path):
        with _direct(path, binary, plain) as stream:
            yield stream
    else:
        with _replacing(path) as stream:
            yield stream


@contextmanager
def _standard_output(binary: bool, plain: bool) -> Iterator[OutputStream]:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("cannot be written: standard output is closed", path=STANDARD_OUTPUT)
    # A progress bar may have replaced the text stream.
    buffer = sys.stdout.buffer
    if binary:
        _refuse_terminal(buffer.isatty())
    try:
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error, STANDARD_OUTPUT) from error
    # Bypasses its buffer, so that nothing can fail when the process ends.
    kind = ShownStream if plain and buffer.isatty() else OutputStream
    yield kind(getattr(buffer, "raw", buffer), STANDARD_OUTPUT)


@contextmanager
def _direct(path: str, binary: bool, plain: bool) -> Iterator[OutputStream]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        raise output_error(error, path) from error
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        if binary:
            _refuse_terminal(file.isatty())
        kind = ShownStream if plain and file.isatty() else OutputStream
        yield kind(file, path)


@contextmanager
def _replacing(path: str) -> Iterator[OutputStream]:
    target = os.path.realpath(path)
    try:
        _refuse_impossible(target)
        temporary, descriptor = _create_beside(target)
    except OSError as error:
        raise output_error(error, path) from error
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            yield OutputStream(file, path)
            _synchronize(file.fileno(), path)
        _rename(temporary, target, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _refuse_impossible(target: str) -> None:
    """Raise early the errors that the rename would raise after everything was written."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(target).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _synchronize(descriptor: int, path: str) -> None:
    """Sync the file to disk; some file systems report only now that they have no space."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise output_error(error, path) from error


def _rename(temporary: str, target: str, path: str) -> None:
    """Rename the file, and sync the folder if the file system supports that."""
    try:
        os.replace(temporary, target)
    except OSError as error:
        raise output_error(error, path) from error
    with suppress(OSError):
        folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def synchronize(paths: Iterable[str | Path]) -> None:
    """Sync files and folders to disk concurrently, and return when done."""
    from concurrent.futures import ThreadPoolExecutor

    def sync(path: str | Path) -> None:
        with output_errors(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    listed = list(paths)
    if len(listed) > _FEW_FILES:
        # If no more threads can be started, the files are synced one by one.
        with suppress(RuntimeError), ThreadPoolExecutor(min(_SYNC_THREADS, len(listed))) as pool:
            list(pool.map(sync, listed))
            return
    for path in listed:
        sync(path)


def _create_beside(target: str) -> tuple[str, int]:
    """Create a file in the target's folder, with the umask's permissions for new files.

    As long as it is open, :func:`remove_leftovers` does not remove it.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for _ in range(_TEMPORARY_ATTEMPTS):
        temporary = os.path.join(os.path.dirname(target), f".binx-{os.urandom(6).hex()}.tmp")
        with suppress(FileExistsError):
            descriptor = os.open(temporary, flags, _NEW_FILE_MODE)
            if _is_ours(descriptor, temporary):
                return temporary, descriptor
            os.close(descriptor)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes from a folder; those of running processes stay."""
    for leftover in folder.glob(_TEMPORARY_NAMES):
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if is_taken(descriptor):
                    leftover.unlink()
            finally:
                os.close(descriptor)


def _is_ours(descriptor: int, temporary: str) -> bool:
    """Lock a new file against :func:`remove_leftovers`, and check that it was not removed before that."""
    try:
        return is_taken(descriptor) and os.path.exists(temporary)
    except OSError:
        return True  # A file system without locks; there no file is removed as a leftover either.


def _is_special(path: str) -> bool:
    """Whether the path is a device, a pipe or a socket, which a rename would destroy."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _refuse_terminal(terminal: bool) -> None:
    if terminal:
        raise RefusedError(
            "binary output is not written to a terminal; use -o FILE, redirect the output, or choose a text"
            " format (--format sql)"
        )
