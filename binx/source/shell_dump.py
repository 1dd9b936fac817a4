"""Folders of MySQL Shell's ``util.dumpBinlogs()`` (9.2 and later), read in place.

A root folder has ``@.binlog.info.json`` and a folder for each dump, which is named by its time and complete
with ``@.binlog.done.json``. ``@.binlog.json`` there lists its logs; ``BASENAME.json`` beside each says what
of the log it has. The dump after one that ended inside a log begins there, with a format description that the
server sent first: such parts are one log, without that event.

Source: MySQL Shell's modules/util/binlog (``binlog_dumper.cc``, ``binlog_dump_info.cc``, ``constants.h``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from binx.errors import AbsentError, DamagedError, SourceError
from binx.source.byte_source import PartedSource, Source
from binx.source.log_names import SHELL_DUMP
from binx.source.magic import MAGIC

_ROOT = "@.binlog.info.json"
_DONE = "@.binlog.done.json"
_JSON_BYTES = 64 * 1024 * 1024
_TYPE, _SIZE = 4, slice(9, 13)
_HEADER_BYTES = 19
_FORMAT_DESCRIPTION = 15
_ROOTS_KNOWN = 8


class DumpedPart(NamedTuple):
    """A log in a dump, or the part of it that the dump has.

    Attributes:
        log: the log's name on its server.
        path: the file.
        start: offset in the log at which it begins; 0 for the log's beginning.
        end: offset in the log at which it ends; None for the log's end.
        gtids: the GTIDs of its transactions, as text.
        log_bytes: its size without compression.
        file_bytes: the size of the file.
        events: the number of its events.
    """

    log: str
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


def is_dump_folder(path: str) -> bool:
    """Return whether a folder is one of dumps, or of a single one."""
    return any((Path(path) / name).is_file() for name in (_ROOT, SHELL_DUMP))


def dumped_logs(path: str) -> list[DumpedLog]:
    """Return the logs in a folder of dumps, or of a single dump, in order.

    Raises:
        AbsentError: there are none, or dumps between others are missing.
        DamagedError: what describes a dump cannot be read.
        SourceError: a dump is incomplete.
    """
    folder = Path(path)
    if (folder / _ROOT).is_file():
        return list(_logs_of(folder, folder.stat().st_mtime_ns))
    return _joined([_dump(folder)], folder)


def opened_with_rest(source: Source, opened: Sequence[Source]) -> Source:
    """Return a log with its later parts; it is closed with them."""
    return _ContinuedLog(source, opened) if opened else source


def later_parts(path: str) -> tuple[DumpedPart, ...]:
    """Return the later parts of the log that a file begins, if it is one of a dump."""
    file = Path(path).absolute()
    root = file.parent.parent
    if not (file.parent / SHELL_DUMP).is_file() or not (root / _ROOT).is_file():
        return ()
    for log in _logs_of(root, root.stat().st_mtime_ns):
        first = Path(log.path)
        if first.name == file.name and first.samefile(file):
            return log.parts[1:]
    return ()


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


@lru_cache(_ROOTS_KNOWN)
def _logs_of(root: Path, _changed: int) -> tuple[DumpedLog, ...]:
    """Return the logs of all dumps in a root folder, which changes when a dump is added."""
    folders = sorted(folder for folder in root.iterdir() if folder.is_dir())
    return tuple(_joined(map(_dump, folders), root))


def _joined(dumps: Iterable[Sequence[DumpedPart]], folder: Path) -> list[DumpedLog]:
    """Join the parts of each log, and check that each begins where the one before it ends."""
    logs: list[list[DumpedPart]] = []
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
        raise AbsentError("expected dumps of binary logs in the folder, found none", path=str(folder))
    return [DumpedLog(tuple(parts)) for parts in logs]


def _dump(folder: Path) -> list[DumpedPart]:
    """Return the parts of logs that a dump has."""
    path = folder / SHELL_DUMP
    about = _document(path)
    if not (folder / _DONE).is_file():
        raise SourceError(
            f"the dump is incomplete: {_DONE} is missing; MySQL Shell was stopped. Remove the folder, and"
            " dump again into the same root",
            path=str(folder),
        )
    try:
        names = [(str(name), str(about["basenames"][name])) for name in about["binlogs"]]
    except (KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    if not names or any(Path(base).name != base for _, base in names):
        raise DamagedError("expected a list of logs and the names of their files", path=str(path))
    return [_part(folder, name, base) for name, base in names]


def _part(folder: Path, name: str, base: str) -> DumpedPart:
    path = folder / f"{base}.json"
    about = _document(path)
    try:
        extension = str(about["extension"])
        end = about.get("endPosition")
        part = DumpedPart(
            log=name,
            path=str(folder / (base + extension)),
            start=int(about.get("startPosition", 0)),
            end=None if end is None else int(end),
            gtids=str(about["gtidSet"]),
            log_bytes=int(about["dataBytes"]),
            file_bytes=int(about["fileBytes"]),
            events=int(about["eventCount"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(path, error) from error
    if Path(base + extension).name != base + extension:
        raise DamagedError(f"expected the extension of a file, found {extension!r}", path=str(path))
    return part


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            return json.loads(file.read(_JSON_BYTES))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DamagedError:
    return DamagedError(f"expected the description of a dump by MySQL Shell: {error!r}", path=str(path))
