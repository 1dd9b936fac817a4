"""Folders of MySQL Shell's ``util.dumpBinlogs()`` (9.2 and later), read in place, also in object stores.

A root folder has ``@.binlog.info.json`` and a folder for each dump, which is named by its time and complete
with ``@.binlog.done.json``. ``@.binlog.json`` there lists its logs; ``BASENAME.json`` beside each says what
of the log it has. The dump after one that ended inside a log begins there, with a format description that the
server sent first: such parts are one log, without that event.

Source: MySQL Shell's modules/util/binlog (``binlog_dumper.cc``, ``binlog_dump_info.cc``, ``constants.h``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from binx.errors import AbsentError, DamagedError, SourceError
from binx.source import Source
from binx.source.byte_source import PartedSource
from binx.source.log_names import SHELL_DUMP, SHELL_DUMPS
from binx.source.magic import MAGIC
from binx.source.remote import is_uri
from binx.storage.store import open_store

if TYPE_CHECKING:
    from binx.storage.store import Store

_DONE = "@.binlog.done.json"
_TYPE, _SIZE = 4, slice(9, 13)
_HEADER_BYTES = 19
_FORMAT_DESCRIPTION = 15
_ROOTS_KNOWN = 8
_FOLDERS_KNOWN = 256


class DumpedPart(NamedTuple):
    """A log in a dump, or the part of it that the dump has.

    Attributes:
        log: the log's name on its server.
        name: the file's name in the store.
        path: its full name.
        start: offset in the log at which it begins; 0 for the log's beginning.
        end: offset in the log at which it ends; None for the log's end.
        gtids: the GTIDs of its transactions, as text.
        log_bytes: its size without compression.
        file_bytes: the size of the file.
        events: the number of its events.
    """

    log: str
    name: str
    path: str
    start: int
    end: int | None
    gtids: str
    log_bytes: int
    file_bytes: int
    events: int


class DumpedLog(NamedTuple):
    """A log whose parts are in one or several dumps, in order."""

    parts: tuple[DumpedPart, ...]

    @property
    def path(self) -> str:
        """The file that the log is opened by."""
        return self.parts[0].path


def dumped_logs(store: Store) -> list[DumpedLog]:
    """Return the logs in a folder of dumps, or of a single dump, in order.

    Raises:
        AbsentError: there are none, or dumps between others are missing.
        DamagedError: what describes a dump cannot be read.
        SourceError: a dump is incomplete.
    """
    return _joined(store, _dump_folders(store.find("")))


def continued(source: Source, path: str, opened: Callable[[str], Source]) -> Source:
    """Return a log with its parts in later dumps, if it is in a dump; they are closed with it.

    Args:
        path: the path that it was opened by.
        opened: opens another file.
    """
    others: list[Source] = []
    try:
        for part in _later_parts(path):
            others.append(opened(part.path))
        return _ContinuedLog(source, others) if others else source
    except BaseException:
        for one in (source, *others):
            one.close()
        raise


def _later_parts(path: str) -> tuple[DumpedPart, ...]:
    """Return the later parts of the log that a file begins, if it is one of a dump."""
    folder, name = _split(path)
    if not _is_dump(folder):
        return ()
    root, dump = _split(folder)
    store = open_store(root)
    if SHELL_DUMPS not in store.names():
        return ()
    for log in _logs_in(root, tuple(_dump_folders(store.find("")).items())):
        if log.parts[0].name == f"{dump}/{name}":
            return log.parts[1:]
    return ()


def _split(path: str) -> tuple[str, str]:
    """Return the folder of a path or URI, and the name in it."""
    if not is_uri(path):
        file = Path(path).absolute()
        return str(file.parent), file.name
    base, mark, options = path.partition("?")
    return f"{base.rpartition('/')[0]}{mark}{options}", unquote(base.rpartition("/")[2])


@lru_cache(_FOLDERS_KNOWN)
def _is_dump(folder: str) -> bool:
    return SHELL_DUMP in open_store(folder).names()


class _ContinuedLog(PartedSource):
    """A log whose parts are in several files; each after the first has a format description of its own."""

    def __init__(self, first: Source, others: Sequence[Source]) -> None:
        super().__init__(first, [(other, _head_size(other)) for other in others])
        self._others = others

    def close(self) -> None:
        """Close all files."""
        super().close()
        for other in self._others:
            other.close()


def _head_size(source: Source) -> int:
    """Return the bytes of a later part that the log does not have: magic and format description."""
    start = len(MAGIC)
    header = source.window(start, start + _HEADER_BYTES)
    if len(header) < _HEADER_BYTES or header[_TYPE] != _FORMAT_DESCRIPTION:
        raise DamagedError(
            "expected a format description at the beginning of a dumped part of a log, found none",
            path=source.path,
            offset=start,
        )
    return min(start + int.from_bytes(header[_SIZE], "little"), source.size)


def _dump_folders(names: Iterable[str]) -> dict[str, bool]:
    """Return the folders of dumps among the names of all files, and whether each is complete."""
    files = set(names)
    folders = sorted(name.removesuffix(SHELL_DUMP) for name in files if name.rpartition("/")[2] == SHELL_DUMP)
    return {folder: f"{folder}{_DONE}" in files for folder in folders}


@lru_cache(_ROOTS_KNOWN)
def _logs_in(root: str, dumps: tuple[tuple[str, bool], ...]) -> list[DumpedLog]:
    return _joined(open_store(root), dict(dumps))


def _joined(store: Store, folders: dict[str, bool]) -> list[DumpedLog]:
    """Join the parts of each log, and check that each begins where the one before it ends."""
    logs: list[list[DumpedPart]] = []
    dumps = [_dump(store, folder, is_done=is_done) for folder, is_done in folders.items()]
    for dump in sorted(dumps, key=lambda parts: (parts[0].log, parts[0].start)):
        for part in dump:
            last = logs[-1][-1] if logs else None
            if last is None or last.log != part.log:
                logs.append([part])
            elif last.end == part.start:
                logs[-1].append(part)
            else:
                ends = "its end" if last.end is None else f"{last.end:,}"
                raise AbsentError(
                    f"expected the part of {part.log} after {ends}, where {last.path} ends, found one from"
                    f" {part.start:,} on: a dump is missing or was made twice; move what does not belong"
                    " there elsewhere",
                    path=part.path,
                )
    if not logs:
        raise AbsentError("expected dumps of binary logs in the folder, found none", path=store.where)
    return [DumpedLog(tuple(parts)) for parts in logs]


def _dump(store: Store, folder: str, *, is_done: bool) -> list[DumpedPart]:
    """Return the parts of logs that a dump has."""
    name = f"{folder}{SHELL_DUMP}"
    about = _document(store, name)
    path = store.path(name)
    if not is_done:
        raise SourceError(
            f"the dump is incomplete: {_DONE} is missing; MySQL Shell was stopped. Remove the folder, and"
            " dump again into the same root",
            path=path,
        )
    try:
        names = [(str(log), str(about["basenames"][log])) for log in about["binlogs"]]
    except (KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    if not names or any("/" in base for _, base in names):
        raise DamagedError("expected a list of logs and the names of their files", path=path)
    return [_part(store, folder, log, base) for log, base in names]


def _part(store: Store, folder: str, log: str, base: str) -> DumpedPart:
    description = f"{folder}{base}.json"
    about = _document(store, description)
    path = store.path(description)
    try:
        name = f"{folder}{base}{about['extension']}"
        end = about.get("endPosition")
        part = DumpedPart(
            log=log,
            name=name,
            path=store.path(name),
            start=int(about.get("startPosition", 0)),
            end=None if end is None else int(end),
            gtids=str(about["gtidSet"]),
            log_bytes=int(about["dataBytes"]),
            file_bytes=int(about["fileBytes"]),
            events=int(about["eventCount"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, error) from error
    if "/" in name.removeprefix(folder):
        raise DamagedError(f"expected the extension of a file, found {about['extension']!r}", path=path)
    return part


def _document(store: Store, name: str) -> Any:
    data = store.read(name)
    if data is None:
        raise SourceError("cannot be read: no such file", path=store.path(name))
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(store.path(name), error) from error


def _unreadable(path: str, error: Exception) -> DamagedError:
    return DamagedError(f"expected the description of a dump by MySQL Shell: {error!r}", path=path)
