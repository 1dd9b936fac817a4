"""Standard input, spooled into an unnamed file so that it can be looked at like any other."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import BinaryIO

from binx.errors import SourceError
from binx.source.plain import PlainFile

STANDARD_INPUT_NAME = "stdin"


def spool(stream: BinaryIO, path: str = "-", name: str = STANDARD_INPUT_NAME) -> PlainFile:
    """Copy a stream to a temporary file that has no name.

    Raises:
        SourceError: the stream cannot be read, or the temporary folder has no space.
        NotABinlogError: the stream was empty.
    """
    with tempfile.TemporaryFile(prefix="binx-") as file:
        try:
            shutil.copyfileobj(stream, file, 4 * 1024 * 1024)
            file.flush()
        except OSError as error:
            raise SourceError(
                f"cannot be written to {tempfile.gettempdir()}: {error.strerror}; set TMPDIR to a"
                " folder with more space",
                path=path,
            ) from error
        descriptor = os.dup(file.fileno())
    try:
        return PlainFile(descriptor, path, name)
    except BaseException:
        os.close(descriptor)
        raise
