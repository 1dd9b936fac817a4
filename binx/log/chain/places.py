"""Where logs are that a user names by something else: a server's index, a folder, a pattern."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from binx.errors import AbsentError, SourceError, UsageError
from binx.event.format import ENCRYPTED_MAGIC, MAGIC
from binx.source.magic import is_age, is_gzip, is_zstd
from binx.source.names import COMPRESSION_SUFFIXES, has_log_number, uncompressed_name
from binx.source.remote import beside, list_folder

if TYPE_CHECKING:
    from pathlib import Path

INDEX_SUFFIX = ".index"
"""How the file is named in which a server lists its logs."""

_RELAY = "relay"
"""Part of the names that servers give relay logs: ``relay-log``, ``HOST-relay-bin``."""

_WILD = "*?["
_INDEX_MAXIMUM = 64 * 1024 * 1024


def magic_of(path: str) -> bytes:
    """A file's first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC))
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from error


def is_index(path: str) -> bool:
    """Whether a file is a server's list of logs, and not a log of such a name."""
    return path.endswith(INDEX_SUFFIX) and magic_of(path) not in (MAGIC, ENCRYPTED_MAGIC)


def listed_logs(path: str) -> list[str]:
    """The logs in a server's index.

    Those that were moved together with it are found beside it, also compressed.

    Raises:
        AbsentError: it lists a log that is not there.
    """
    from pathlib import Path

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
        name = os.fsdecode(line)
        found = next((place for place in _places(folder, name) if place.exists()), None)
        if found is None:
            raise AbsentError(
                f"it lists {name.removeprefix('./')}, which does not exist; give the existing files by name,"
                " or put the missing one next to the index",
                path=path,
            )
        logs.append(str(found))
    if not logs:
        raise UsageError("expected a list of binary logs, found an empty one", path=path)
    return logs


def folder_indexes(path: str) -> list[str]:
    """The indexes in a folder: of a replica's, which has two, that of the binary logs.

    The relay logs hold the same transactions.
    """
    indexes = [name for name in _file_names(path) if is_index(os.path.join(path, name))]
    chosen = [name for name in indexes if _RELAY not in name] or indexes
    return [os.path.join(path, name) for name in chosen]


def folder_logs(path: str) -> list[str]:
    """The logs in a folder without an index: the files that begin like logs.

    A file that begins otherwise and is named as they are, with another number, is one of them whose beginning
    is damaged; one that is empty is no log yet. A log that is there plain and compressed is taken once,
    plain.
    """
    found = _by_magic(path, _file_names(path))
    if not found:
        raise AbsentError("expected binary logs in the folder, found none", path=path)
    return found


def remote_folder_logs(uri: str) -> list[str]:
    """The logs in a folder of another file system, which names alone tell: a question each would take long.

    Those of relay logs are passed over where there are others. A log that is there plain and compressed is
    taken once, plain.

    Args:
        uri: the folder's; it ends in ``/``.
    """
    from urllib.parse import quote

    logs: dict[str, str] = {}
    for name in sorted(list_folder(uri), key=lambda name: (uncompressed_name(name), name)):
        if has_log_number(name):
            logs.setdefault(uncompressed_name(name), name)
    names = [name for name in logs.values() if _RELAY not in name] or list(logs.values())
    if not names:
        raise AbsentError("expected binary logs in the folder, found none", path=uri)
    return [beside(uri, quote(name)) for name in names]


def matching(path: str) -> list[str]:
    """The files that a pattern means that no shell has expanded; the path itself where nothing matches."""
    if not any(character in path for character in _WILD) or os.path.lexists(path):
        return [path]
    from glob import glob

    return sorted(glob(path)) or [path]


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


def _places(folder: Path, name: str) -> Iterable[Path]:
    r"""Where a listed log may be; servers on Windows list ``.\mysql-bin.000001``."""
    from pathlib import PureWindowsPath

    for place in (folder / name, folder / os.path.basename(name), folder / PureWindowsPath(name).name):
        yield place
        for suffix in COMPRESSION_SUFFIXES:
            yield place.with_name(place.name + suffix)
