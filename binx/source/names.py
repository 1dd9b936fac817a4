"""What a binary log is called, whatever its file is called."""

from __future__ import annotations

import os
from pathlib import Path

COMPRESSION_SUFFIXES = (".zst", ".gz")
"""What programs that compress add to a file's name."""


def printable(name: str) -> str:
    """A file's name as UTF-8 can hold it: what it has of other bytes becomes escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def log_name(name: str) -> str:
    """The binary log's name from that of its compressed file."""
    path = Path(name)
    return path.stem if path.suffix.lower() in COMPRESSION_SUFFIXES and path.stem else name
