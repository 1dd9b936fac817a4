"""What a binary log is called, whatever its file is called."""

from __future__ import annotations

import os
import re

ZSTD_SUFFIX = ".zst"
"""What ``zstd`` adds to a file's name."""

COMPRESSION_SUFFIXES = (ZSTD_SUFFIX, ".gz")
"""What programs that compress add to a file's name."""

ENCRYPTION_SUFFIX = ".age"
"""What age's users add to the name of a file that they encrypt."""

_ARCHIVE_TAG = re.compile(r"(?<=.)\.[0-9a-f]{8}-[0-9a-f]{8}$")
"""What an archive adds, so that logs of one name have a place each; no server's log ends so."""


def printable(name: str) -> str:
    """A name as UTF-8 can hold it: what it has of other bytes becomes escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unencrypted_name(name: str) -> str:
    """An encrypted file's name without the suffix that says so."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() == ENCRYPTION_SUFFIX else name


def uncompressed_name(name: str) -> str:
    """A compressed or encrypted file's name without the suffixes that say so."""
    name = unencrypted_name(name)
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in COMPRESSION_SUFFIXES else name


def number_of(name: str) -> int:
    """The numeric suffix of a log's name, which orders the logs of a chain; 0 where there is none."""
    _, dot, number = name.rpartition(".")
    return int(number) & 0x7FFFFFFF if dot and number.isdecimal() else 0


def is_named_next(told: str, before: str, name: str) -> bool:
    """Whether a log is the one that the log before it names as the next.

    Logs that were all renamed alike keep their numbers, as those do that ``mysqlbinlog --raw`` writes with
    ``--result-file=PREFIX``.
    """
    if told == name:
        return True
    base, alike = before.rpartition(".")[0], name.rpartition(".")[0]
    return base == alike != told.rpartition(".")[0] and number_of(name) == number_of(told) > 0


def has_log_number(path: str) -> bool:
    """Whether a path or a URI ends as logs do, with a number."""
    return log_name(path.partition("?")[0].rpartition("/")[2]).rpartition(".")[2].isdigit()


def has_archive_tag(name: str) -> bool:
    """Whether an archive has added to a file's name what tells logs of one name apart."""
    return _ARCHIVE_TAG.search(uncompressed_name(name)) is not None


def own_name(name: str) -> str:
    """A file's name without what an archive has added to it."""
    return _ARCHIVE_TAG.sub("", name)


def log_name(name: str) -> str:
    """The binary log's own name from that of its file, which compression, encryption and archives add to."""
    return own_name(uncompressed_name(name))
