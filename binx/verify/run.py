"""``verify``: checks of files one by one and against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from binx.errors import BinxError, DamagedError, NotABinlogError, UnsupportedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import order_ends
from binx.log.chain.ends import known_ends
from binx.log.chain.inputs import STANDARD_INPUT, named_logs
from binx.log.chain.relay import begins_before, join_relay_logs
from binx.log.damage.on_damage import OnDamage
from binx.log.file import BinlogFile
from binx.source.spooled import STANDARD_INPUT_NAME
from binx.verify.content import ContentCheck
from binx.verify.links import gap_notes, link_problems
from binx.verify.problems import Problem, ProblemKind
from binx.verify.report import FileReport, VerifyReport

_UNREADABLE: tuple[tuple[type[BinxError], ProblemKind], ...] = (
    (NotABinlogError, ProblemKind.NOT_A_BINLOG),
    (UnsupportedError, ProblemKind.ENCRYPTED),
    (DamagedError, ProblemKind.FORMAT),
)


def verify(
    paths: Sequence[str],
    *,
    checksums: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Read files completely and check them against the format and against each other.

    Nothing is changed. Checked are all headers, lengths and checksums; the order of events, and the
    transaction lengths in GTID events; positions; the logical clock; payloads down to their last inner event;
    rows against their table maps; session variables; and the names and GTIDs of the files against each other.

    Args:
        paths: files, ``.index`` files, ``-``.
        checksums: whether to verify checksums.
        progress: called from time to time with the number of bytes read and the total.

    Raises:
        SourceError: a file cannot be opened or read.
        UsageError, AbsentError: as :func:`binx.log.chain.inputs.named_logs`.
    """
    with ExitStack() as stack:
        files, unreadable, problems = [], [], []
        for log in named_logs(paths):
            try:
                files.append(stack.enter_context(log.open()))
            except (NotABinlogError, UnsupportedError, DamagedError) as error:
                unreadable.append(_unread(log.path))
                problems.append(_unreadable(log.path, error))
        # Where a log cannot be read so far, its own check tells why.
        problems += map(_without_beginning, join_relay_logs(files, OnDamage.SALVAGE))
        ends = order_ends([known_ends(file) for file in files])
        total = sum(file.size for file in files)
        notes: list[str] = []
        reports: list[FileReport] = []
        contents: list[GtidSet] = []
        done = 0
        for one in ends:
            check = ContentCheck(one, checksums=checksums)
            reports.append(check.run(partial(_advance, progress, done, total)))
            done += one.file.size
            progress(done, total)
            problems += check.problems
            notes += check.notes
            contents.append(check.gtids)
        problems += link_problems(ends, contents)
        notes += gap_notes(ends, contents, problems)
    return VerifyReport((*reports, *unreadable), tuple(problems), tuple(notes), checksums)


def _advance(progress: Callable[[int, int], None], before: int, total: int, position: int) -> None:
    """Report the progress over all files, given the position in one."""
    progress(before + position, total)


def _without_beginning(file: BinlogFile) -> Problem:
    """What is said of a relay log whose first transaction begins in one that is not there."""
    end = file.size if file.resumption is None else file.resumption.position
    return Problem(ProblemKind.MISSING_FILE, file.path, begins_before(file).message, file.first_position, end)


def _unread(path: str) -> FileReport:
    """The report of a file of which only the name and size are known."""
    if path == STANDARD_INPUT:
        return FileReport(path=path, name=STANDARD_INPUT_NAME, bytes=0)
    size = Path(path).stat().st_size
    return FileReport(path=path, name=Path(path).name, bytes=size, damaged_bytes=size)


def _unreadable(path: str, error: BinxError) -> Problem:
    kind = next(kind for expected, kind in _UNREADABLE if isinstance(error, expected))
    return Problem(kind, path, error.message, error.offset)
