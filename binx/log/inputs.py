"""What a user names as input, opened: files, ``.index`` files that list some, standard input.

The files come in the order of their chain, whatever the order in which they were named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from binx.errors import AbsentError, SourceError, UsageError
from binx.event.format import MAGIC
from binx.log.chain import FileEnds, order_ends, read_ends
from binx.log.file import BinlogFile, open_files
from binx.log.index_use import SUFFIX, IndexUse, attach_sidecars
from binx.source import Source

STANDARD_INPUT = "-"
"""The path that means standard input."""

INDEX_SUFFIX = ".index"
"""How the file is named in which a server lists its logs."""

_PARQUET_MAGIC = b"PAR1"
_INDEX_MAXIMUM = 64 * 1024 * 1024

Progress = Callable[[int], None]
"""Called with a number of bytes that were read, each time some were."""


class WatchedSource:
    """A source that tells how far its reading has come.

    Args:
        source: the source.
        progress: called with the bytes that were read when they are given back.
    """

    def __init__(self, source: Source, progress: Progress) -> None:
        self._source = source
        self._progress = progress

    @property
    def path(self) -> str:
        """As the source's."""
        return self._source.path

    @property
    def name(self) -> str:
        """As the source's."""
        return self._source.name

    @property
    def size(self) -> int:
        """As the source's."""
        return self._source.size

    def window(self, start: int, stop: int) -> memoryview:
        """As the source's."""
        return self._source.window(start, stop)

    def release(self, start: int, stop: int) -> None:
        """As the source's; the bytes count as read."""
        self._source.release(start, stop)
        self._progress(stop - start)

    def close(self) -> None:
        """As the source's."""
        self._source.close()


def expand_paths(paths: Iterable[str]) -> list[str]:
    """The binary logs that paths mean: ``.index`` files are replaced by the logs that they list.

    A log that is named twice, as by a pattern that matches the index too, is taken once. Index files that
    binx has written are passed over: a pattern that matches the logs matches them too.

    Raises:
        UsageError: standard input is named twice, or a path is a folder.
        SourceError: an index cannot be read.
        AbsentError: an index lists a log that is not there.
    """
    expanded: dict[str, str] = {}
    given = list(paths)
    if given.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input (-) can be read only once")
    for path in given:
        if path != STANDARD_INPUT and Path(path).is_dir():
            pattern = str(Path(path, "*"))
            raise UsageError(f"expected a binary log, found a folder; name its files: {pattern}").at(
                path=path
            )
        if _is_sidecar(path):
            continue
        for log in _listed(path) if _is_index(path) else [path]:
            expanded.setdefault(log if log == STANDARD_INPUT else os.path.realpath(log), log)
    if given and not expanded:
        raise UsageError("expected binary logs, found only the index files of some").at(path=given[0])
    return list(expanded.values())


@contextmanager
def open_chain(
    paths: Sequence[str], progress: Progress | None = None, index: IndexUse | None = None
) -> Iterator[list[FileEnds]]:
    """Open what paths mean, in the order of the chain, and close it at the end.

    Args:
        paths: files, ``.index`` files, ``-``.
        progress: told of the bytes that are read from then on.
        index: where index files are looked for; None reads the logs themselves.

    Raises:
        BinxError: as :func:`expand_paths`, :meth:`BinlogFile.open` and :func:`~binx.log.chain.read_ends`.
    """
    with open_logs(paths, index) as files:
        ends = order_ends([read_ends(file) for file in files])
        if progress is not None:
            for file in files:
                file.source = WatchedSource(file.source, progress)
        yield ends


@contextmanager
def open_logs(paths: Sequence[str], index: IndexUse | None = None) -> Iterator[list[BinlogFile]]:
    """Open what paths mean, in the order in which they are named, and close it at the end.

    Args:
        paths: files, ``.index`` files, ``-``.
        index: where index files are looked for; None reads the logs themselves.

    Raises:
        BinxError: as :func:`expand_paths` and :meth:`BinlogFile.open`.
    """
    files = open_files(expand_paths(paths))
    try:
        if index is not None:
            attach_sidecars(files, index)
        yield files
    finally:
        for file in files:
            file.close()


def _is_index(path: str) -> bool:
    return path.endswith(INDEX_SUFFIX) and _magic(path) != MAGIC


def _is_sidecar(path: str) -> bool:
    return path.endswith(SUFFIX) and _magic(path) == _PARQUET_MAGIC


def _magic(path: str) -> bytes:
    """A file's first bytes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC))
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error


def _listed(path: str) -> list[str]:
    """The logs in a server's index; those that were moved together with it are found beside it."""
    folder = Path(path).parent
    try:
        with Path(path).open("rb") as file:
            text = file.read(_INDEX_MAXIMUM)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error
    logs = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if b"\0" in line:
            raise UsageError("expected a list of binary logs, found binary data", path=path)
        name = Path(os.fsdecode(line))
        places = [folder / name, folder / name.name]
        found = next((place for place in places if place.exists()), None)
        if found is None:
            raise AbsentError(
                f"it lists {name}, which is not there; name the files that are, or put it beside the index",
                path=path,
            )
        logs.append(str(found))
    if not logs:
        raise UsageError("expected a list of binary logs, found none in it", path=path)
    return logs


__all__ = [
    "INDEX_SUFFIX",
    "STANDARD_INPUT",
    "Progress",
    "WatchedSource",
    "expand_paths",
    "open_chain",
    "open_logs",
]
