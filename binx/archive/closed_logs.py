"""Find and order the logs to be archived, and determine which are closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from binx.errors import BinxError, DamagedError, NotABinlogError, TruncatedError
from binx.event.format import MAGIC_SIZE, Magic
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog, in_order
from binx.log.chain.ends import known_facts
from binx.log.chain.inputs import named_logs
from binx.log.chain.places import INDEX_SUFFIX, is_index
from binx.source.log_names import base_of, log_name, number_of

_YOUNGEST = 1024
"""A smaller log that cannot be read has only just been created by its server."""


@dataclass(frozen=True, slots=True)
class UnreadableLog:
    """A log that cannot be opened.

    Attributes:
        closed: whether a later log of its name exists, so that nobody is writing it.
    """

    path: str
    error: BinxError
    closed: bool

    @property
    def name(self) -> str:
        """The binary log's name."""
        return log_name(Path(self.path).name)

    @property
    def is_damaged(self) -> bool:
        """Whether its first bytes are damaged; otherwise there is another reason."""
        return isinstance(self.error, (NotABinlogError, DamagedError))

    def is_within(self, first: str, last: str) -> bool:
        """Whether its name is between those of two logs, or equal to one."""
        bases = {base_of(name) for name in (self.name, first, last)}
        return len(bases) == 1 and number_of(first) <= number_of(self.name) <= number_of(last)


@dataclass(frozen=True, slots=True)
class SourceLogs:
    """The logs of a source.

    Attributes:
        closed: the logs that nobody is writing, in chain order.
        index: the server's index, if there is one.
    """

    closed: tuple[ChainLog, ...]
    open: tuple[ChainLog, ...]
    unreadable: tuple[UnreadableLog, ...]
    index: Path | None

    @property
    def names(self) -> set[str]:
        """The names of all its logs."""
        return {ends.file.name for ends in (*self.closed, *self.open)} | {log.name for log in self.unreadable}


def open_source_logs(source: str, stack: ExitStack) -> SourceLogs:
    """Open all logs of a source.

    A log is closed if it is not marked as in use and ends with ROTATE or STOP, or if a later log of its
    server exists. MariaDB writes ROTATE some time before it clears the mark, while it already writes to the
    next log: such a log is closed once there is a second later one.
    """
    logs = named_logs([source])
    opened: list[BinlogFile] = []
    errors: dict[str, BinxError] = {}
    for log in logs:
        try:
            opened.append(stack.enter_context(log.open()))
        except BinxError as error:
            if not (log is logs[-1] and _is_just_begun(log.path, error)):
                errors[log.path] = error.at(path=log.path)
    ordered = in_order(opened, known_facts)
    closed: list[ChainLog] = []
    being_written: list[ChainLog] = []
    later: Counter[int] = Counter()
    for ends in reversed(ordered):
        (closed if _is_closed(ends, later[ends.chain]) else being_written).append(ends)
        later[ends.chain] += 1
    return SourceLogs(
        tuple(reversed(closed)),
        tuple(reversed(being_written)),
        tuple(UnreadableLog(path, error, _has_later(path, ordered)) for path, error in errors.items()),
        server_index(source),
    )


def server_index(source: str) -> Path | None:
    """Return the server's index that a source is, or that is in its folder."""
    path = Path(source)
    if path.is_dir():
        indexes = (file for file in path.glob(f"*{INDEX_SUFFIX}") if file.is_file() and is_index(str(file)))
        return min(indexes, default=None)
    return path if source.endswith(INDEX_SUFFIX) and is_index(source) else None


def _is_closed(ends: ChainLog, later: int) -> bool:
    """Return whether nobody is writing a log that this many logs of its server follow."""
    ended = ends.facts.next_log is not None or ends.facts.stopped
    if not ends.file.format.in_use:
        return ended or later > 0
    return later > (1 if ended else 0)


def _has_later(path: str, logs: Sequence[ChainLog]) -> bool:
    name = log_name(Path(path).name)
    return any(ends.facts.base == base_of(name) and ends.facts.number > number_of(name) for ends in logs)


def _is_just_begun(path: str, error: BinxError) -> bool:
    """Return whether the last log's first event is not written yet."""
    try:
        if Path(path).stat().st_size >= _YOUNGEST:
            return False
        if isinstance(error, NotABinlogError):
            begun = Path(path).read_bytes()
            return len(begun) < MAGIC_SIZE and any(magic.value.startswith(begun) for magic in Magic)
        return isinstance(error, TruncatedError)
    except OSError:
        return False
