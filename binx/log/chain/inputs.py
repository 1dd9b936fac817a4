"""What a user names as input, opened: files, ``.index`` files that list some, folders, standard input.

The files come in the order of their chain, whatever the order in which they were named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import BinxError, UsageError
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import FileEnds, known_ends, read_ends
from binx.log.chain.places import (
    folder_indexes,
    folder_logs,
    is_index,
    listed_logs,
    magic_of,
    matching,
    remote_folder_logs,
)
from binx.log.chain.relay import begins_before, join_relay_logs
from binx.log.file import BinlogFile, Listed, open_files
from binx.log.index.lookup import SUFFIX, IndexUse, attach_indexes
from binx.log.scanning import OnDamage
from binx.source import WINDOW_BYTES, Source
from binx.source.base import WrappedSource
from binx.source.magic import AGE_MAGIC
from binx.source.names import has_log_number, unencrypted_name
from binx.source.remote import as_folder, is_folder, is_uri, refuse_secret

if TYPE_CHECKING:
    from binx.source.keyring import Keys

STANDARD_INPUT = "-"
"""The path that means standard input."""

_PARQUET_MAGIC = b"PAR1"

Progress = Callable[[int], None]
"""Called with how many bytes the work has come further; with a negative number where it begins again."""

_BEGINS_AGAIN = 4 * WINDOW_BYTES
"""Rows are decoded close behind the search for transactions; work farther back is another pass."""


class WatchedSource(WrappedSource):
    """A source that tells how far the work on it has come.

    What is read twice, as by a search for transactions and by a decoder of their rows close behind, counts
    once; where the work goes back to do something else with the same bytes, so does what is told.
    """

    def __init__(self, source: Source, progress: Progress) -> None:
        super().__init__(source)
        self._progress = progress
        self._reached = 0

    def release(self, start: int, stop: int) -> None:
        """As the source's; the work has come to where they end."""
        super().release(start, stop)
        if stop > self._reached or start < self._reached - _BEGINS_AGAIN:
            self._progress(stop - self._reached)
            self._reached = stop


class NamedLog(NamedTuple):
    """A log that a user has named, itself or by something else.

    Attributes:
        listed: where it stands in the index that it was named by; None where it was not.
    """

    path: str
    listed: Listed | None = None

    def open(self) -> BinlogFile:
        """Open it."""
        file = BinlogFile.open(self.path)
        file.listed = self.listed
        return file


def named_logs(paths: Iterable[str]) -> list[NamedLog]:
    """The binary logs that paths mean: ``.index`` files, folders and patterns are replaced by their logs.

    A log that is named twice, as by a pattern that matches the index too, is taken once. Index files that
    binx has written are passed over: a pattern that matches the logs matches them too.

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
    """The paths of the logs that :func:`named_logs` finds; it raises the same."""
    return [log.path for log in named_logs(paths)]


@contextmanager
def open_chain(
    paths: Sequence[str],
    progress: Progress | None = None,
    index: IndexUse | None = None,
    on_damage: OnDamage = OnDamage.STOP,
) -> Iterator[list[FileEnds]]:
    """Open what paths mean, in the order of the chain, and close it at the end.

    Args:
        index: where index files are looked for; None reads the logs themselves.
        on_damage: whether a file's first or last events may be damaged.
    """
    with open_logs(paths, index, on_damage=on_damage) as files:
        read = read_ends if on_damage is OnDamage.STOP else known_ends
        ends = order_ends([read(file) for file in files])
        if progress is not None:
            for file in files:
                file.source = WatchedSource(file.source, progress)
        yield ends


@contextmanager
def open_logs(
    paths: Sequence[str],
    index: IndexUse | None = None,
    keys: Keys | None = None,
    on_damage: OnDamage = OnDamage.STOP,
) -> Iterator[list[BinlogFile]]:
    """Open what paths mean, in the order in which they are named, and close it at the end.

    Args:
        index: where index files are looked for; None reads the logs themselves.
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
    paths: Sequence[str], keys: Keys | None = None, on_damage: OnDamage = OnDamage.STOP
) -> list[BinlogFile]:
    """Open what paths mean, in the order in which they are named; on an error none stays open."""
    logs = named_logs(paths)
    files = open_files([log.path for log in logs], keys)
    try:
        for file, log in zip(files, logs, strict=True):
            file.listed = log.listed
        for file in join_relay_logs(files, on_damage):
            raise begins_before(file)
    except BinxError:
        for file in files:
            file.close()
        raise
    return files


def _logs(path: str) -> Iterator[NamedLog]:
    """The logs that one argument means."""
    if is_uri(path):
        # Before anything tells of the path.
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
        elif not _is_index(found):
            yield NamedLog(found)


def _listed(index: str) -> Iterator[NamedLog]:
    for place, log in enumerate(listed_logs(index)):
        yield NamedLog(log, Listed(index, place))


def _is_index(path: str) -> bool:
    return unencrypted_name(path).endswith(SUFFIX) and magic_of(path) in (_PARQUET_MAGIC, AGE_MAGIC)
