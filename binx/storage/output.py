"""The one way in which exports are written: whole under the final name, or not at all.

A file is written beside its target under a temporary name, brought to the disk, and renamed; on any error,
and on an interrupt, the temporary file is removed and a target that was there before stays as it was. ``-``
is standard output, and a device or a pipe is written to directly.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import io
import os
import select
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from binx.errors import ExitCode, OutputError, RefusedError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Buffer

STANDARD_OUTPUT = "-"
"""The path that means standard output."""

_TOGETHER = 16
"""Files that are brought to the disk at once: one after another, each waits for a write of the journal."""
_NEW_FILE_MODE = 0o666
_TEMPORARY_ATTEMPTS = 100
_TEMPORARY_NAMES = ".binx-*.tmp"
_DRIVING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_FULL = "no space left on {where}; free some space or choose another place"
_FORBIDDEN = "writing there is not permitted ({said}); choose another place"
_TOO_MANY = "too many files are open ({said}); raise the limit (ulimit -n)"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EMFILE: _TOO_MANY,
    errno.ENFILE: _TOO_MANY,
    errno.ENOENT: "its folder does not exist; create it first or choose another place",
    errno.ENOTDIR: "a part of its path is a file, not a folder; choose another place",
    errno.EEXIST: "a file with that name exists; choose another name",
    errno.EISDIR: "it is a folder; give a file name in it",
    errno.EFBIG: "it exceeds the maximum file size of {where}; choose another place",
    errno.ENAMETOOLONG: "its name is too long; choose a shorter one",
}


class ReaderGoneError(OutputError):
    """Whoever read standard output or a pipe has closed it, as ``head`` does.

    That is no failure of ours: the process ends without a word and with exit code 0, as ripgrep's does. (git
    lets SIGPIPE kill it, which is as quiet but makes ``set -o pipefail`` scripts fail.)
    """

    exit_code = ExitCode.DONE


class Sink(Protocol):
    """What an export writes into: anything with the ``write`` of a binary file."""

    def write(self, data: Buffer, /) -> int | None:
        """Write all bytes."""


class OutputStream(io.RawIOBase):
    """A binary stream whose writes are whole and whose errors are :class:`~binx.errors.OutputError`.

    Attributes:
        bytes_written: of what was given to be written.
        notes: what whoever reads the output should know.
    """

    def __init__(self, raw: BinaryIO | io.RawIOBase, path: str) -> None:
        super().__init__()
        self.path = path
        self.bytes_written = 0
        self.notes: tuple[str, ...] = ()
        self._raw = raw

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Bytes written so far."""
        return self.bytes_written

    def write(self, data: Buffer, /) -> int:
        """Write all bytes, in as many steps as the system takes.

        Raises:
            ReaderGoneError: the reader of a pipe has closed it.
            OutputError: the system does not take them: no space, an I/O error.
        """
        with memoryview(data) as given, given.cast("B") as view:
            done = 0
            while done < len(view):
                done += self._write_some(view[done:])
            self.bytes_written += done
            return done

    def _write_some(self, view: memoryview) -> int:
        try:
            taken = self._raw.write(view)
        except BlockingIOError as error:
            taken = error.characters_written or None
        except OSError as error:
            raise output_error(error, self.path) from error
        if taken is None:
            # A pipe that its other end has set to not block, and that is full.
            select.select([], [self._raw.fileno()], [])
            return 0
        return taken


class ShownStream(OutputStream):
    r"""Text on its way to a terminal: characters that would drive it are written as ``\uNNNN``.

    In JSON that is the same text; in others a note tells of it.
    """

    def __init__(self, raw: BinaryIO | io.RawIOBase, path: str) -> None:
        super().__init__(raw, path)
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Buffer, /) -> int:
        """Write all characters; counted are the bytes that were given."""
        given = bytes(data)
        text = self._decoder.decode(given)
        shown = "".join(map(_harmless, text))
        if shown != text:
            self.notes = (
                "control characters are shown as \\uNNNN on a terminal; files and pipes receive them"
                " unchanged",
            )
        before = self.bytes_written
        super().write(shown.encode())
        self.bytes_written = before + len(given)
        return len(given)


def _harmless(character: str) -> str:
    """A character, or what stands for it on a terminal."""
    if character in "\n\t" or unicodedata.category(character) not in _DRIVING:
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


@contextmanager
def open_output(path: str, *, binary: bool = True, plain: bool = False) -> Iterator[OutputStream]:
    """Open an output for writing; leaving the block without an error commits it.

    Args:
        path: a file, or ``-`` for standard output. An existing file is replaced in one step at the end; a
            link is followed.
        binary: whether what is written is no text, and must not reach a terminal.
        plain: whether what is written has no escape sequences that are meant for a terminal.

    Raises:
        RefusedError: something binary would go to a terminal.
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


def output_error(error: OSError, path: str) -> OutputError:
    """The error about an output that an error of the system amounts to."""
    folder = os.path.dirname(os.path.abspath(path))
    where = "the output" if path == STANDARD_OUTPUT else f"the file system of {folder}"
    said = error.strerror or str(error)
    if error.errno == errno.EPIPE:
        return ReaderGoneError("the pipe was closed by its reader", path=path)
    advice = _ADVICE.get(error.errno or 0, "{said}").format(where=where, said=said)
    return OutputError(f"cannot be written: {advice}", path=path)


class output_errors:  # noqa: N801 - it reads as what it does, like contextlib's
    """Say of an operating system's error what could not be written.

    A generator would take longer than what is done within: a log of thousands of tables has as many files.

    Raises:
        OutputError: in its place, when the block is left.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing is done."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Turn an error of the system into one of ours."""
        if isinstance(error, OSError):
            raise output_error(error, str(error.filename or self._path)) from error


@contextmanager
def _standard_output(binary: bool, plain: bool) -> Iterator[OutputStream]:
    if sys.stdout is None or sys.stdout.closed:
        raise OutputError("cannot be written: standard output is closed", path=STANDARD_OUTPUT)
    # A progress bar may have put a text stream of its own in the place.
    buffer = sys.stdout.buffer
    if binary:
        _refuse_terminal(buffer.isatty())
    try:
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error, STANDARD_OUTPUT) from error
    # Without its buffer, so that nothing is left to fail when the process ends.
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
    """Meet now what the rename would meet after all has been written."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(target).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _synchronize(descriptor: int, path: str) -> None:
    """Bring the file's bytes to the disk; some file systems say only now that they have no space."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise output_error(error, path) from error


def _rename(temporary: str, target: str, path: str) -> None:
    """Give the file its name, and bring that to the disk too where the file system can."""
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
    """Bring files and folders to the disk, many at a time, and return when they are there."""
    from concurrent.futures import ThreadPoolExecutor

    def bring(path: str | Path) -> None:
        with output_errors(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    given = list(paths)
    if len(given) > 1:
        # Where the system starts no more threads, one file is brought after another.
        with suppress(RuntimeError), ThreadPoolExecutor(min(_TOGETHER, len(given))) as pool:
            list(pool.map(bring, given))
            return
    for path in given:
        bring(path)


def _create_beside(target: str) -> tuple[str, int]:
    """A new file in the target's folder, with the permissions that the umask gives a new file.

    As long as it is open, :func:`remove_leftovers` leaves it alone.
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
    """Remove what killed processes have left half written in a folder; files of living ones stay."""
    for leftover in folder.glob(_TEMPORARY_NAMES):
        with suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(descriptor)


def _is_ours(descriptor: int, temporary: str) -> bool:
    """Lock a new file, so that it is not taken for a leftover, and see that it was not taken for one yet."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # A file system without locks; there nothing is taken for a leftover either.
    return os.path.exists(temporary)


def _is_special(path: str) -> bool:
    """Whether the path names a device, a pipe or a socket, which a rename would destroy."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _refuse_terminal(terminal: bool) -> None:
    if terminal:
        raise RefusedError("binary output is not written to a terminal; use -o FILE or redirect the output")
