"""Where the bytes come from: plain files and standard input."""

from __future__ import annotations

import sys

from binx.source.base import READ_BYTES, WINDOW_BYTES, Source
from binx.source.plain import PlainFile
from binx.source.spooled import spool

__all__ = ["READ_BYTES", "WINDOW_BYTES", "PlainFile", "Source", "open_source", "spool"]


def open_source(path: str) -> Source:
    """Open what a user named: a path, or ``-`` for standard input.

    Raises:
        SourceError: it cannot be opened or read.
        NotABinlogError: it is empty.
    """
    return spool(sys.stdin.buffer) if path == "-" else PlainFile.open(path)
