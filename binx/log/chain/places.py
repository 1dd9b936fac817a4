"""Find logs through a server's index file, a folder or a pattern."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from binx.errors import AbsentError, SourceError, UsageError
from binx.event.format import ENCRYPTED_MAGIC, MAGIC
from binx.source.log_names import COMPRESSION_SUFFIXES, are_dumps, has_log_number, uncompressed_name
from binx.source.magic import is_age, is_gzip, is_zstd
from binx.source.remote import beside, list_folder

if TYPE_CHECKING:
    from pathlib import Path

INDEX_SUFFIX = ".index"
"""Suffix of the file in which a server lists its logs."""

_RELAY = "relay"
"""Part of the names that servers give relay logs: ``relay-log``, ``HOST-relay-bin``."""

_GTID_INDEX_SUFFIX = ".idx"
_WILD = "*?["
_PATH_MAXIMUM = 4096
_NAMED = 3
"""Number of logs that a command names one by one."""


def magic_of(path: str) -> bytes:
    """Return a file's first four bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC))
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error


def is_index(path: str) -> bool:
    """Return whether a file is a server's list of logs, and not a log with such a name."""
    return path.endswith(INDEX_SUFFIX) and magic_of(path) not in (MAGIC, ENCRYPTED_MAGIC)


def is_gtid_index(path: str) -> bool:
    """Return whether a file is the index that MariaDB 11.4 and later keep beside each log."""
    stem = path.removesuffix(_GTID_INDEX_SUFFIX)
    return stem != path and has_log_number(stem) and magic_of(path) not in (MAGIC, ENCRYPTED_MAGIC)


def listed_logs(path: str) -> list[str]:
    """Return the logs in a server's index.

    Logs that were moved together with the index are found next to it, also compressed.

    Raises:
        AbsentError: it lists a log that does not exist.
    """
    from pathlib import Path

    folder = Path(path).parent
    logs = []
    for line in _lines(path):
        if not line.strip():
            continue
        name = os.fsdecode(line)
        log = next((path for path in _candidates(folder, name) if path.exists()), None)
        if log is None:
            raise AbsentError(
                f"it lists {name.removeprefix('./')}, which does not exist; give the existing files by name,"
                " or put the missing one next to the index",
                path=path,
            )
        logs.append(str(log))
    if not logs:
        raise UsageError("expected a list of binary logs, found an empty one", path=path)
    return logs


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of an index without their ends; none is kept that is too long for a path."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(_PATH_MAXIMUM + 1):
                if b"\0" in line:
                    raise UsageError("expected a list of binary logs, found binary data", path=path)
                if len(line) > _PATH_MAXIMUM:
                    raise UsageError(
                        f"expected a list of binary logs, found a line of more than {_PATH_MAXIMUM} bytes",
                        path=path,
                    )
                yield line.rstrip(b"\r\n")
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=path) from error


def folder_indexes(path: str) -> list[str]:
    """Return the index files in a folder; of a replica's two, only that of the binary logs.

    The relay logs hold the same transactions.
    """
    indexes = [name for name in _file_names(path) if is_index(os.path.join(path, name))]
    chosen = [name for name in indexes if _RELAY not in name] or indexes
    return [os.path.join(path, name) for name in chosen]


def folder_logs(path: str) -> list[str]:
    """Return the logs in a folder without an index: the files that start with a log's magic.

    A file that starts otherwise but has a log's name with another number is a log whose beginning is damaged;
    an empty file is not a log yet. If a log exists plain and compressed, the plain one is taken.
    """
    names = _file_names(path)
    logs = _dumped(path) if are_dumps(names) else _by_magic(path, names)
    if not logs:
        from binx.storage.store import MANIFESTS

        if os.path.isdir(os.path.join(path, MANIFESTS)):
            raise AbsentError(
                "expected binary logs in the folder, found a data set, which binx query, state and load read",
                path=path,
            )
        raise AbsentError("expected binary logs in the folder, found none", path=path)
    return logs


def remote_folder_logs(uri: str) -> list[str]:
    """Return the logs in a folder of a remote file system, by name only: reading each would be slow.

    Relay logs are ignored if there are others. If a log exists plain and compressed, the plain one is taken.

    Args:
        uri: the folder's; it ends in ``/``.
    """
    from urllib.parse import quote

    files = list_folder(uri)
    if are_dumps(files):
        return _dumped(uri)
    logs: dict[str, str] = {}
    for name in sorted(files, key=lambda name: (uncompressed_name(name), name)):
        if has_log_number(name):
            logs.setdefault(uncompressed_name(name), name)
    names = [name for name in logs.values() if _RELAY not in name] or list(logs.values())
    if not names:
        raise AbsentError("expected binary logs in the folder, found none", path=uri)
    return [beside(uri, quote(name)) for name in names]


def matching(path: str) -> list[str]:
    """Expand a pattern that no shell has expanded; return the path itself if nothing matches."""
    if not any(character in path for character in _WILD) or os.path.lexists(path):
        return [path]
    from glob import glob

    return sorted(glob(path)) or [path]


def shell_words(paths: Sequence[str]) -> str:
    """Return how a shell names some logs: one by one, or many by a pattern that no other log matches."""
    prefix = os.path.commonprefix(paths)  # noqa: RUF071
    if len(paths) > _NAMED and prefix and shlex.quote(prefix) == prefix:
        named = [path for path in matching(f"{prefix}*") if not is_gtid_index(path)]
        if named == sorted(paths):
            return f"{prefix}*"
    return shlex.join(paths)


def _dumped(place: str) -> list[str]:
    from binx.log.shell_dump import dumped_logs
    from binx.storage.store import open_store

    return [log.path for log in dumped_logs(open_store(place))]


def _file_names(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", path=folder) from error
    return [name for name in names if os.path.isfile(os.path.join(folder, name))]


def _by_magic(folder: str, names: Iterable[str]) -> list[str]:
    logs: dict[str, str] = {}
    others: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (uncompressed_name(name), name)):
        path = os.path.join(folder, name)
        magic = magic_of(path)
        numbered = has_log_number(name)
        packed = (is_gzip(magic) or is_zstd(magic) or is_age(magic)) and numbered
        if magic in (MAGIC, ENCRYPTED_MAGIC) or packed:
            logs.setdefault(uncompressed_name(name), path)
        elif numbered and magic:
            others[name] = path
    bases = {name.rpartition(".")[0] for name in logs if name.rpartition(".")[2].isdigit()}
    damaged = {name: path for name, path in others.items() if name.rpartition(".")[0] in bases}
    return [path for _, path in sorted((damaged | logs).items())]


def _candidates(folder: Path, name: str) -> Iterable[Path]:
    r"""Yield the possible places of a listed log; servers on Windows list ``.\mysql-bin.000001``."""
    from pathlib import PureWindowsPath

    for path in (folder / name, folder / os.path.basename(name), folder / PureWindowsPath(name).name):
        yield path
        for suffix in COMPRESSION_SUFFIXES:
            yield path.with_name(path.name + suffix)
