"""Locate index files; their contents are read only if any exist."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, SourceError
from binx.log.binlog_file import report_step
from binx.source.log_names import ENCRYPTION_SUFFIX, uncompressed_name, unencrypted_name
from binx.source.remote import beside, is_uri

if TYPE_CHECKING:
    from binx.log.binlog_file import BinlogFile
    from binx.log.index.index_file import IndexFile

SUFFIX = ".binx"
"""Suffix of index files."""


class IndexUse(NamedTuple):
    """Where to look for index files.

    Attributes:
        folder: a folder of index files; None for the logs' own folders.
        warn: called for an index file that exists and cannot be used.
    """

    folder: str | None = None
    warn: Callable[[BinxError], None] | None = None


def index_path(file: BinlogFile, folder: str | None = None) -> str:
    """Return the path of a log's index file.

    Args:
        file: the log; if it is a URI, so is the result.
        folder: a local folder of index files, which may hold those of several logs of one name; None for the
            log's own folder.
    """
    if folder is None and is_uri(file.path):
        name = file.path.partition("?")[0].rpartition("/")[2]
        return beside(file.path, uncompressed_name(name) + SUFFIX)
    if folder is None:
        home, name = os.path.split(file.path)
        return os.path.join(home, uncompressed_name(name) + SUFFIX)
    return os.path.join(folder, f"{file.name}.{file.identity}{SUFFIX}")


def index_places(file: BinlogFile, folder: str | None = None) -> list[str]:
    """Return the possible paths of a log's index file; an archive encrypts that of an encrypted log too."""
    path = index_path(file, folder)
    log, _, _ = _parted(file.path)
    if folder is not None or unencrypted_name(log) == log:
        return [path]
    location, separator, options = _parted(path)
    return [path, f"{location}{ENCRYPTION_SUFFIX}{separator}{options}"]


def _parted(path: str) -> tuple[str, str, str]:
    """Split a path from a URI's options."""
    return path.partition("?") if is_uri(path) else (path, "", "")


def attach_indexes(files: Iterable[BinlogFile], use: IndexUse) -> None:
    """Let logs use their index files, which are opened on first use.

    An unusable index file is reported and ignored. Logs from standard input have none.
    """
    for file in files:
        if file.path != "-":
            file.find_index = partial(_find, file, use)


def _find(file: BinlogFile, use: IndexUse) -> IndexFile | None:
    """Return the first valid index file of a log."""
    for path in index_places(file, use.folder):
        if not is_uri(path) and not os.path.exists(path):
            continue
        # Imported here: it needs pyarrow, which most commands do without if there is no index.
        from binx.log.index.index_file import IndexFile

        try:
            index = IndexFile.open(path, file)
            if index is not None:
                index.check()
                report_step(file.path, f"its index file is used: {path}")
                return index
        except (BinxError, MemoryError) as error:
            if use.warn is not None:
                reason = error.message if isinstance(error, BinxError) else "not enough memory for it"
                use.warn(SourceError(f"the index file is not used: {reason}", path=path))
    return None
