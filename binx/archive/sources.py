"""The logs that are to be archived: which there are, in which order, and which of them are closed."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from binx.errors import BinxError, NotABinlogError, TruncatedError
from binx.log.chain import FileEnds, known_ends, order_ends
from binx.log.file import BinlogFile
from binx.log.inputs import expand_paths
from binx.log.places import INDEX_SUFFIX, is_index

_YOUNGEST = 1024
"""A log with fewer bytes that cannot be read is one that its server has only just made."""


@dataclass(frozen=True, slots=True)
class SourceLogs:
    """What a source holds.

    Attributes:
        closed: the logs that nobody writes any more, in the order of their chains.
        open: the others.
        unreadable: logs that cannot be opened, and why.
        index: the server's list of the logs, where there is one.
    """

    closed: tuple[FileEnds, ...]
    open: tuple[FileEnds, ...]
    unreadable: tuple[BinxError, ...]
    index: Path | None


def open_source_logs(source: str, stack: ExitStack) -> SourceLogs:
    """Open all logs of a source.

    A log is closed where it is marked as not in use and ends with ROTATE or STOP, or where a later log of
    its server is there. MariaDB ends a log with ROTATE some time before it takes the mark away, while it
    writes to the next one already: such a log is closed when there is a second later one.

    Args:
        source: a folder, a server's index, or a log.
        stack: closes the logs.

    Raises:
        SourceError, UsageError, AbsentError: as :func:`binx.log.inputs.expand_paths`.
    """
    paths = expand_paths([source])
    read: list[FileEnds] = []
    unreadable: list[BinxError] = []
    for path in paths:
        try:
            read.append(known_ends(stack.enter_context(BinlogFile.open(path))))
        except BinxError as error:
            if not (path == paths[-1] and _is_just_begun(path, error)):
                unreadable.append(error.at(path=path))
    ordered = order_ends(read)
    closed: list[FileEnds] = []
    being_written: list[FileEnds] = []
    later: Counter[tuple[int, str]] = Counter()
    for ends in reversed(ordered):
        (closed if _is_closed(ends, later[ends.server]) else being_written).append(ends)
        later[ends.server] += 1
    return SourceLogs(
        tuple(reversed(closed)),
        tuple(reversed(being_written)),
        tuple(unreadable),
        server_index(source),
    )


def server_index(source: str) -> Path | None:
    """The server's list of logs that a source is, or that is in its folder."""
    path = Path(source)
    if path.is_dir():
        found = sorted(one for one in path.glob(f"*{INDEX_SUFFIX}") if one.is_file() and is_index(str(one)))
        return found[0] if found else None
    return path if source.endswith(INDEX_SUFFIX) and is_index(source) else None


def _is_closed(ends: FileEnds, later: int) -> bool:
    """Whether nobody writes a log any more that so many later logs of its server follow."""
    ended = ends.next_file is not None or ends.stopped
    if not ends.file.format.in_use:
        return ended or later > 0
    return later > (1 if ended else 0)


def _is_just_begun(path: str, error: BinxError) -> bool:
    """Whether the last log is one whose first event its server has not written yet."""
    try:
        return isinstance(error, (NotABinlogError, TruncatedError)) and Path(path).stat().st_size < _YOUNGEST
    except OSError:
        return False


__all__ = ["SourceLogs", "open_source_logs", "server_index"]
