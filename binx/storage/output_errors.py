"""Errors of output, in words that say what to do."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from binx.errors import ExitCode, OutputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

STANDARD_OUTPUT = "-"
"""The path that means standard output."""

_FULL = "no space left on {where}; free some space or choose another place"
_FORBIDDEN = "writing there is not permitted ({reason}); choose another place"
_TOO_MANY = "too many files are open ({reason}); raise the limit (ulimit -n)"
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
    """The reader of standard output or of a pipe has closed it, as ``head`` does.

    That is not a failure: the process ends silently with exit code 0, as ripgrep's does. (git is killed by
    SIGPIPE, which is as quiet but makes ``set -o pipefail`` scripts fail.)
    """

    exit_code = ExitCode.DONE


def output_error(error: OSError, path: str) -> OutputError:
    """Convert an operating system error on an output to an OutputError."""
    folder = os.path.dirname(os.path.abspath(path))
    where = "the output" if path == STANDARD_OUTPUT else f"the file system of {folder}"
    reason = error.strerror or str(error)
    if error.errno == errno.EPIPE:
        return ReaderGoneError("the pipe was closed by its reader", path=path)
    advice = _ADVICE.get(error.errno or 0, "{reason}").format(where=where, reason=reason)
    return OutputError(f"cannot be written: {advice}", path=path)


class output_errors:  # noqa: N801 - it reads as what it does, like contextlib's
    """Convert operating system errors within the block to errors that name the output.

    A generator would take longer than the block itself: a log of thousands of tables has as many files.

    Raises:
        OutputError: instead of the original error.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Convert a system error."""
        if isinstance(error, OSError):
            raise output_error(error, str(error.filename or self._path)) from error
