"""Sources of bytes: plain, compressed and encrypted files, object stores, and standard input."""

from __future__ import annotations

from binx.source.byte_source import READ_BYTES, WINDOW_BYTES, Source
from binx.source.opening import open_source
from binx.source.plain import PlainFile, spool

__all__ = ["READ_BYTES", "WINDOW_BYTES", "PlainFile", "Source", "open_source", "spool"]
