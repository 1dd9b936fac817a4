"""``verify``: check files one by one and against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from binx.errors import BinxError, DamagedError, NotABinlogError, UnsupportedError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import ProblemKind as LinkKind
from binx.log.chain.chain import ends_problems, order_ends
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.chain.inputs import STANDARD_INPUT, copy_note, named_logs, without_copies
from binx.log.chain.links import gtid_differences, missing_gtids
from binx.log.chain.relay import begins_before, join_relay_logs
from binx.log.file import BinlogFile
from binx.log.scanning import OnDamage
from binx.source.plain import STANDARD_INPUT_NAME
from binx.source.wording import counted
from binx.verify.content import ContentCheck
from binx.verify.report import FileReport, Problem, ProblemKind, VerifyReport

_UNREADABLE: tuple[tuple[type[BinxError], ProblemKind], ...] = (
    (NotABinlogError, ProblemKind.NOT_A_BINLOG),
    (UnsupportedError, ProblemKind.ENCRYPTED),
    (DamagedError, ProblemKind.FORMAT),
)
_KINDS = {
    LinkKind.GAP: ProblemKind.MISSING_FILE,
    LinkKind.GTIDS_LOST: ProblemKind.UNKNOWN_GTIDS,
    LinkKind.NOT_CLOSED: ProblemKind.NOT_CLOSED,
    LinkKind.CUT: ProblemKind.NOT_CLOSED,
    LinkKind.REPEATED: ProblemKind.REPEATED,
}
_WITHOUT_END = (LinkKind.NOT_CLOSED, LinkKind.CUT)


def verify(
    paths: Sequence[str],
    *,
    checksums: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Read files completely and check them against the format and against each other.

    Nothing is modified. Checked are all headers, lengths and checksums; the order of events, and the
    transaction lengths in GTID events; positions; the logical clock; payloads down to their last inner event;
    rows and their values against the table maps; all other events, each by the parser that reads it; and the
    names and GTIDs of the files against each other.

    Args:
        progress: called from time to time with the number of bytes read and the total.
    """
    with ExitStack() as stack:
        files, unreadable, problems = [], [], []
        for log in named_logs(paths):
            try:
                files.append(stack.enter_context(log.open()))
            except (NotABinlogError, UnsupportedError, DamagedError) as error:
                unreadable.append(_unread(log.path))
                problems.append(_unreadable(log.path, error))
        # What is equal to the beginning of another log needs no check of its own.
        files = without_copies(files)
        notes = [copy_note(file, path) for file in files for path in file.copies]
        # If a log cannot be read at this point, its own check reports why.
        problems += map(_without_beginning, join_relay_logs(files, OnDamage.SALVAGE))
        ends = order_ends([known_ends(file) for file in files])
        total = sum(file.size for file in files)
        reports: list[FileReport] = []
        contents: list[GtidSet] = []
        done = 0

        def reached(position: int) -> None:
            progress(done + position, total)

        for file_ends in ends:
            check = ContentCheck(file_ends, checksums=checksums)
            reports.append(check.run(reached))
            done += file_ends.file.size
            reached(0)
            problems += check.problems
            notes += check.notes
            contents.append(check.gtids)
        problems += link_problems(ends, contents)
        notes += gap_notes(ends, contents, problems)
    return VerifyReport((*reports, *unreadable), tuple(problems), tuple(notes), checksums)


def _without_beginning(file: BinlogFile) -> Problem:
    """Return the problem of a relay log whose first transaction begins in a missing one."""
    end = file.size if file.resumption is None else file.resumption.position
    return Problem(ProblemKind.MISSING_FILE, file.path, begins_before(file).message, file.first_position, end)


def _unread(path: str) -> FileReport:
    """Return the report of a file of which only the name and size are known."""
    if path == STANDARD_INPUT:
        return FileReport(path=path, name=STANDARD_INPUT_NAME, bytes=0)
    size = Path(path).stat().st_size
    return FileReport(path=path, name=Path(path).name, bytes=size, damaged_bytes=size)


def _unreadable(path: str, error: BinxError) -> Problem:
    kind = next(kind for expected, kind in _UNREADABLE if isinstance(error, expected))
    return Problem(kind, path, error.message, error.offset)


def link_problems(ends: Sequence[FileEnds], contents: Sequence[GtidSet]) -> Iterator[Problem]:
    """Yield the problems between consecutive files."""
    for (before, content), (after, later) in pairwise(zip(ends, contents, strict=True)):
        links = ends_problems([before, after], [content, later])
        for link in links:
            subject = before if link.kind in _WITHOUT_END else after
            yield Problem(_KINDS[link.kind], subject.file.path, link.message)
        # A log without an end, as after a crash, is still compared with the next one.
        if before.chain == after.chain and all(link.kind in _WITHOUT_END for link in links):
            yield from _gtid_problems(before, content, after)
            repeated = content & later
            if repeated and after.previous_gtids is None:
                yield Problem(
                    ProblemKind.DUPLICATE_GTID,
                    after.file.path,
                    f"expected each GTID once, found {repeated.count:,} that {before.file.path} has too",
                    gtid=str(repeated),
                )


def _gtid_problems(before: FileEnds, content: GtidSet, after: FileEnds) -> Iterator[Problem]:
    """Compare the GTIDs that the later file lists as previous with those of the earlier files."""
    differences = gtid_differences(before, content, after)
    if differences is None:
        return
    lost, unknown = differences
    if lost:
        yield Problem(
            ProblemKind.LOST_GTIDS,
            before.file.path,
            f"{lost.count:,} of the GTIDs that {after.file.path} lists as logged before it are in no file",
            gtid=str(lost),
            transactions=lost.count,
        )
    if unknown:
        yield Problem(
            ProblemKind.UNKNOWN_GTIDS,
            after.file.path,
            f"its list of previous GTIDs lacks {unknown.count:,} of {before.file.path}",
            gtid=str(unknown),
        )


def gap_notes(
    ends: Sequence[FileEnds], contents: Sequence[GtidSet], problems: Sequence[Problem]
) -> Iterator[str]:
    """Yield notes on GTIDs in no file, although earlier and later ones of their source are.

    GTIDs already reported as lost are omitted.
    """
    logged = GtidSet()
    for content in contents:
        logged |= content
    missing = missing_gtids(logged, [file_ends.previous_gtids for file_ends in ends])
    for problem in problems:
        if problem.gtid is not None and problem.transactions:
            missing -= GtidSet.parse(problem.gtid)
    if missing:
        yield (
            f"{counted(missing.count, 'GTID')} missing although later GTIDs of the same source are"
            f" present: {missing}; normal on replicas that filter or commit out of order, and in group"
            " replication"
        )
