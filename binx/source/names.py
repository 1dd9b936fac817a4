"""What a binary log is called, whatever its file is called."""

from __future__ import annotations

import os
import re
from pathlib import Path

COMPRESSION_SUFFIXES = (".zst", ".gz")
"""What programs that compress add to a file's name."""

_ARCHIVE_TAG = re.compile(r"(?<=.)\.[0-9a-f]{8}-[0-9a-f]{8}$")
"""What an archive adds, so that logs of one name have a place each; no server's log ends so."""


_NUMBER = re.compile(r"\.(\d+)$")


def printable(name: str) -> str:
    """A file's name as UTF-8 can hold it: what it has of other bytes becomes escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def uncompressed_name(name: str) -> str:
    """A compressed file's name without the suffix that says so."""
    path = Path(name)
    return path.stem if path.suffix.lower() in COMPRESSION_SUFFIXES and path.stem else name


def number_of(name: str) -> int:
    """The numeric suffix of a log's name, which orders the logs of a chain; 0 where there is none."""
    match = _NUMBER.search(name)
    return int(match[1]) & 0x7FFFFFFF if match else 0


def own_name(name: str) -> str:
    """A file's name without what an archive has added to it."""
    return _ARCHIVE_TAG.sub("", name)


def log_name(name: str) -> str:
    """The binary log's own name from that of its file: without compression, without an archive's addition."""
    return own_name(uncompressed_name(name))
