"""Derive a binary log's name from its file's name."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

ZSTD_SUFFIX = ".zst"
"""Suffix that ``zstd`` appends to a file's name."""

COMPRESSION_SUFFIXES = (ZSTD_SUFFIX, ".gz")
"""Suffixes that compression programs append to a file's name."""

ENCRYPTION_SUFFIX = ".age"
"""Suffix that age's users append to an encrypted file's name."""

SHELL_DUMP = "@.binlog.json"
"""Name of the file beside logs that MySQL Shell's ``util.dumpBinlogs()`` wrote."""

SHELL_DUMPS = "@.binlog.info.json"
"""Name of the file in the folder that has such dumps in folders of their own."""

_ARCHIVE_TAG = re.compile(r"(?<=.)\.[0-9a-f]{8}-[0-9a-f]{8}$")
"""Tag that an archive appends to distinguish logs of the same name; no server's log name ends like this."""


def are_dumps(names: Collection[str]) -> bool:
    """Return whether a folder with files of such names is one of MySQL Shell's dumps, or of a single one."""
    return SHELL_DUMPS in names or SHELL_DUMP in names


def is_beside_dump(path: str) -> bool:
    """Return whether a local file is in a dump by MySQL Shell."""
    return os.path.exists(os.path.join(os.path.dirname(path), SHELL_DUMP))


def printable(name: str) -> str:
    """Return a name as valid UTF-8, with escapes for other bytes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unencrypted_name(name: str) -> str:
    """Return a file's name without the encryption suffix."""
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() == ENCRYPTION_SUFFIX else name


def uncompressed_name(name: str) -> str:
    """Return a file's name without compression and encryption suffixes."""
    name = unencrypted_name(name)
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in COMPRESSION_SUFFIXES else name


def number_of(name: str) -> int:
    """Return the numeric suffix of a log's name, which orders the logs of a chain; 0 without one."""
    _, dot, number = name.rpartition(".")
    return int(number) & 0x7FFFFFFF if dot and number.isdecimal() else 0


def base_of(name: str) -> str:
    """Return a log's name without its number."""
    base, dot, number = name.rpartition(".")
    return base if dot and number.isdecimal() else name


def numbered_name(base: str, number: int) -> str:
    """Return the name that servers give a log: six digits or more (sql/binlog.cc, ``find_uniq_filename``)."""
    return f"{base}.{number:06d}"


def next_name(name: str, steps: int = 1) -> str:
    """Return the name of the next log, or of one so many steps away; the name itself if it has no number."""
    base = base_of(name)
    return name if base == name else numbered_name(base, number_of(name) + steps)


def is_named_next(announced: str, before: str, name: str) -> bool:
    """Return whether a log is the next one that the log before it announces in its ROTATE event.

    Logs that were all renamed alike keep their numbers, as do those written by ``mysqlbinlog --raw`` with
    ``--result-file=PREFIX``.
    """
    if announced == name:
        return True
    return (
        base_of(before) == base_of(name) != base_of(announced) and number_of(name) == number_of(announced) > 0
    )


def has_log_number(path: str) -> bool:
    """Return whether a path or a URI ends in a log's number."""
    return log_name(path.partition("?")[0].rpartition("/")[2]).rpartition(".")[2].isdigit()


def has_archive_tag(name: str) -> bool:
    """Return whether a file's name has an archive's tag."""
    return _ARCHIVE_TAG.search(uncompressed_name(name)) is not None


def own_name(name: str) -> str:
    """Return a file's name without an archive's tag."""
    return _ARCHIVE_TAG.sub("", name)


def log_name(name: str) -> str:
    """Return the binary log's own name, without suffixes of compression, encryption and archives."""
    return own_name(uncompressed_name(name))
