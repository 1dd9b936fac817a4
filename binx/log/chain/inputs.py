"""Open the inputs that a user names: files, ``.index`` files, folders, patterns, standard input.

The files come in chain order, regardless of the order in which they were named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, DamagedError, UsageError
from binx.event.format import MAGIC_SIZE
from binx.event.header import HEADER_SIZE
from binx.log.binlog_file import BinlogFile, open_files
from binx.log.chain.chain import ChainLog, in_order
from binx.log.chain.ends import facts_of, known_facts
from binx.log.chain.places import (
    folder_indexes,
    folder_logs,
    is_gtid_index,
    is_index,
    listed_logs,
    magic_of,
    matching,
    remote_folder_logs,
)
from binx.log.chain.relay import begins_before, join_relay_logs
from binx.log.index.lookup import SUFFIX, IndexUse, attach_indexes
from binx.log.scanning import OnDamage
from binx.log.succession import IndexEntry
from binx.source import READ_BYTES, WINDOW_BYTES, Source
from binx.source.byte_source import WrappedSource
from binx.source.log_names import has_log_number, unencrypted_name
from binx.source.magic import AGE_MAGIC
from binx.source.remote import as_folder, is_folder, is_uri, refuse_secret

if TYPE_CHECKING:
    from binx.source.keyring import ReplicationKeys

STANDARD_INPUT = "-"
"""The path that means standard input."""

_PARQUET_MAGIC = b"PAR1"

Progress = Callable[[int], None]
"""Called with the number of bytes of progress; with a negative number if a pass starts over."""

_BEGINS_AGAIN = 4 * WINDOW_BYTES
"""Rows are decoded shortly after the search for transactions; a step back of more is another pass."""


class WatchedSource(WrappedSource):
    """A source that reports the progress of the work on it.

    Bytes read twice, as by the search for transactions and by the decoder of their rows shortly after, count
    once; if another pass over the same bytes starts, the reported progress goes back too.
    """

    def __init__(self, source: Source, progress: Progress) -> None:
        super().__init__(source)
        self._progress = progress
        self._reached = 0

    def release(self, start: int, stop: int) -> None:
        """Release the window; the work has reached its end."""
        super().release(start, stop)
        if stop > self._reached or start < self._reached - _BEGINS_AGAIN:
            self._progress(stop - self._reached)
            self._reached = stop


class NamedLog(NamedTuple):
    """A log that a user named, directly or through an index, a folder or a pattern.

    Attributes:
        listed: its entry in the index that named it; None without one.
    """

    path: str
    listed: IndexEntry | None = None

    def open(self, keys: ReplicationKeys | None = None) -> BinlogFile:
        """Open the log, with keys or those of the environment."""
        file = BinlogFile.open(self.path, keys)
        file.listed = self.listed
        return file


def named_logs(paths: Iterable[str]) -> list[NamedLog]:
    """Return the logs that paths mean: ``.index`` files, folders and patterns are replaced by their logs.

    A log that is named twice, for example by a pattern that also matches the index, is taken once. Indexes
    of single logs, binx's own and MariaDB's, are skipped: a pattern that matches the logs matches them too.

    Raises:
        UsageError: standard input is named twice, or a URI holds a secret.
    """
    expanded: dict[str, NamedLog] = {}
    given = list(paths)
    if given.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    for path in given:
        for log in _logs(path):
            found = log.path
            key = found if found == STANDARD_INPUT or is_uri(found) else os.path.realpath(found)
            if expanded.setdefault(key, log).listed is None:
                expanded[key] = expanded[key]._replace(listed=log.listed)
    if given and not expanded:
        raise UsageError("expected binary logs, found only index files").at(path=given[0])
    return list(expanded.values())


def expand_paths(paths: Iterable[str]) -> list[str]:
    """Return the paths of the logs that :func:`named_logs` finds; it raises the same errors."""
    return [log.path for log in named_logs(paths)]


@contextmanager
def open_chain(
    paths: Sequence[str],
    progress: Progress | None = None,
    index: IndexUse | None = None,
    on_damage: OnDamage = OnDamage.STOP,
) -> Iterator[list[ChainLog]]:
    """Open the logs that paths mean, in chain order, and close them at the end.

    Args:
        index: where to look for index files; None reads the logs themselves.
        on_damage: whether a file's first or last events may be damaged.
    """
    with open_logs(paths, index, on_damage=on_damage) as files:
        read = facts_of if on_damage is OnDamage.STOP else known_facts
        ends = in_order(files, read)
        if progress is not None:
            for file in files:
                file.source = WatchedSource(file.source, progress)
        yield ends


@contextmanager
def open_logs(
    paths: Sequence[str],
    index: IndexUse | None = None,
    keys: ReplicationKeys | None = None,
    on_damage: OnDamage = OnDamage.STOP,
) -> Iterator[list[BinlogFile]]:
    """Open the logs that paths mean, in the order in which they are named, and close them at the end.

    Args:
        index: where to look for index files; None reads the logs themselves.
        on_damage: whether a relay log may be damaged.
    """
    files = open_named(paths, keys, on_damage)
    try:
        if index is not None:
            attach_indexes(files, index)
        yield files
    finally:
        for file in files:
            file.close()


def open_named(
    paths: Sequence[str], keys: ReplicationKeys | None = None, on_damage: OnDamage = OnDamage.STOP
) -> list[BinlogFile]:
    """Open the logs that paths mean, in the order in which they are named; on an error all are closed."""
    logs = named_logs(paths)
    files = open_files([log.path for log in logs], keys)
    try:
        for file, log in zip(files, logs, strict=True):
            file.listed = log.listed
        files = without_copies(files)
        _refuse_twins(files)
        for file in join_relay_logs(files, on_damage):
            raise begins_before(file)
    except BinxError:
        for file in files:
            file.close()
        raise
    return files


def without_copies(files: Sequence[BinlogFile]) -> list[BinlogFile]:
    """Leave out, and close, each log that is a copy of another one or of its beginning.

    A copy made while its server wrote the log is such a beginning. The log itself, or the first of equal
    ones, remains and knows of its copies.
    """
    if len(files) == 1:
        # Spares a short command the import of OpenSSL for its identity.
        return list(files)
    kept: dict[str, list[BinlogFile]] = {}
    for file in sorted(files, key=lambda file: -file.size):
        others = kept.setdefault(file.identity, [])
        whole = next((other for other in others if _is_beginning(file, other)), None)
        if whole is None:
            others.append(file)
            continue
        whole.copies.append(file.path)
        whole.listed = whole.listed or file.listed
        file.close()
    remaining = {id(file) for others in kept.values() for file in others}
    return [file for file in files if id(file) in remaining]


def copy_note(file: BinlogFile, copy: str) -> str:
    """Return the sentence about a copy of a log."""
    return f"{copy}: left out, as {file.path} has all of it"


def _is_beginning(file: BinlogFile, whole: BinlogFile) -> bool:
    """Return whether a log is the beginning of another one that is not shorter, or all of it.

    Logs that a server begins within one second share their identity, but not their number. The header of
    the first event differs, as it says whether the log is in use.
    """
    if len({file.file_number, whole.file_number} - {0}) > 1:
        return False
    try:
        for start in range(MAGIC_SIZE + HEADER_SIZE, file.size, READ_BYTES):
            stop = min(start + READ_BYTES, file.size)
            if bytes(file.source.window(start, stop)) != bytes(whole.source.window(start, stop)):
                return False
    except DamagedError:
        return False
    return True


def _refuse_twins(files: Sequence[BinlogFile]) -> None:
    """Raise UsageError if two logs are of one name, server and time."""
    known: dict[str, list[BinlogFile]] = {}
    for file in files:
        others = known.setdefault(file.name, [])
        other = next((other for other in others if other.identity == file.identity), file)
        if other.path != file.path:
            raise UsageError(
                f"it and {other.path} are copies of one log, {file.name} of server"
                f" {file.format.server_id}, but differ: verify both, and give the right one",
                path=file.path,
            )
        others.append(file)


def _logs(path: str) -> Iterator[NamedLog]:
    """Yield the logs that one argument means."""
    if is_uri(path):
        # Checked before any message can show the path.
        refuse_secret(path)
        if not is_folder(path) and not has_log_number(path):
            path = as_folder(path) or path
    if is_folder(path):
        yield from map(NamedLog, remote_folder_logs(path))
        return
    if path == STANDARD_INPUT or is_uri(path):
        yield NamedLog(path)
        return
    for found in matching(path):
        if os.path.isdir(found):
            indexes = folder_indexes(found)
            yield from (log for index in indexes for log in _listed(index))
            if not indexes:
                yield from map(NamedLog, folder_logs(found))
        elif is_index(found):
            yield from _listed(found)
        elif not _is_binx_index(found) and not is_gtid_index(found):
            yield NamedLog(found)


def _listed(index: str) -> Iterator[NamedLog]:
    for place, log in enumerate(listed_logs(index)):
        yield NamedLog(log, IndexEntry(index, place))


def _is_binx_index(path: str) -> bool:
    return unencrypted_name(path).endswith(SUFFIX) and magic_of(path) in (_PARQUET_MAGIC, AGE_MAGIC)
