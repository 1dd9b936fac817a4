"""``verify``: check files one by one and against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from binx.errors import BinxError, DamagedError, NotABinlogError, UnsupportedError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog, in_order
from binx.log.chain.ends import known_facts
from binx.log.chain.inputs import STANDARD_INPUT, copy_note, named_logs, without_copies
from binx.log.chain.relay import begins_before, join_relay_logs
from binx.log.scanning import OnDamage
from binx.log.succession import ChainProblemKind as LinkKind
from binx.log.succession import LogFacts, differences, missing_gtids, problems_between
from binx.source.plain import STANDARD_INPUT_NAME
from binx.source.wording import counted
from binx.verify.content import ContentCheck
from binx.verify.problems import FileReport, LogProblemKind, Problem, VerifyReport

if TYPE_CHECKING:
    from binx.source.keyring import ReplicationKeys

_UNREADABLE: tuple[tuple[type[BinxError], LogProblemKind], ...] = (
    (NotABinlogError, LogProblemKind.NOT_A_BINLOG),
    (UnsupportedError, LogProblemKind.ENCRYPTED),
    (DamagedError, LogProblemKind.FORMAT),
)
_KINDS = {
    LinkKind.GAP: LogProblemKind.MISSING_FILE,
    LinkKind.GTIDS_LOST: LogProblemKind.UNKNOWN_GTIDS,
    LinkKind.NOT_CLOSED: LogProblemKind.NOT_CLOSED,
    LinkKind.CUT: LogProblemKind.NOT_CLOSED,
    LinkKind.REPEATED: LogProblemKind.REPEATED,
}
_WITHOUT_END = (LinkKind.NOT_CLOSED, LinkKind.CUT)


def verify(
    paths: Sequence[str],
    *,
    checksums: bool = True,
    rows: bool = False,
    keys: ReplicationKeys | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Read files completely and check them against the format and against each other.

    Nothing is modified. Checked are all headers, lengths and checksums; the order of events, and the
    transaction lengths in GTID events; positions; the logical clock; payloads down to their last inner event;
    rows and their values against the table maps; all other events, each by the parser that reads it; and the
    names and GTIDs of the files against each other.

    Args:
        rows: whether to compare each before image with the last image of its row, too.
        keys: for encrypted logs; None uses those in the environment.
        progress: called from time to time with the number of bytes read and the total.
    """
    with ExitStack() as stack:
        files, unreadable, problems = [], [], []
        for log in named_logs(paths):
            try:
                files.append(stack.enter_context(log.open(keys)))
            except (NotABinlogError, UnsupportedError, DamagedError) as error:
                unreadable.append(_unread(log.path))
                problems.append(_unreadable(log.path, error))
        # What is equal to the beginning of another log needs no check of its own.
        files = without_copies(files)
        notes = [copy_note(file, path) for file in files for path in file.copies]
        # If a log cannot be read at this point, its own check reports why.
        problems += map(_without_beginning, join_relay_logs(files, OnDamage.SALVAGE))
        ends = in_order(files, known_facts)
        total = sum(file.size for file in files) * (1 + rows)
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
        for (before, content), (after, later) in pairwise(zip(ends, contents, strict=True)):
            if before.chain == after.chain:
                problems += link_problems(before.facts, content, after.facts, later)
        notes += gap_notes(ends, contents, problems)
        if rows:
            # Without it, verifying needs no pyarrow.
            from binx.verify.row_continuity import RowsCheck

            for _, chain in groupby(ends, attrgetter("chain")):
                of_rows = RowsCheck()
                for file in [one.file for one in chain]:
                    problems += of_rows.run(file, reached)
                    done += file.size
                notes += of_rows.notes()
    return VerifyReport((*reports, *unreadable), tuple(problems), tuple(notes), checksums)


def _without_beginning(file: BinlogFile) -> Problem:
    """Return the problem of a relay log whose first transaction begins in a missing one."""
    end = file.size if file.resumption is None else file.resumption.position
    return Problem(
        LogProblemKind.MISSING_FILE, file.path, begins_before(file).message, file.first_position, end
    )


def _unread(path: str) -> FileReport:
    """Return the report of a file of which only the name and size are known."""
    if path == STANDARD_INPUT:
        return FileReport(path=path, file=STANDARD_INPUT_NAME, bytes=0)
    size = Path(path).stat().st_size
    return FileReport(path=path, file=Path(path).name, bytes=size, damaged_bytes=size)


def _unreadable(path: str, error: BinxError) -> Problem:
    kind = next(kind for expected, kind in _UNREADABLE if isinstance(error, expected))
    return Problem(kind, path, error.message, error.offset)


def link_problems(before: LogFacts, content: GtidSet, after: LogFacts, later: GtidSet) -> Iterator[Problem]:
    """Yield the problems between two consecutive logs of a chain.

    Args:
        content: the GTIDs in the earlier log.
        later: those in the later one.
    """
    links = list(problems_between(before, after, lambda: content))
    for link in links:
        yield Problem(_KINDS[link.kind], (before if link.kind in _WITHOUT_END else after).path, link.message)
    # A log without an end, as after a crash, is still compared with the next one.
    if any(link.kind not in _WITHOUT_END for link in links):
        return
    lost, unknown = differences(before, content, after)
    if lost:
        yield Problem(
            LogProblemKind.LOST_GTIDS,
            before.path,
            f"{lost.count:,} of the GTIDs that {after.path} lists as logged before it are in no file",
            gtid=str(lost),
            transactions=lost.count,
        )
    if unknown:
        yield Problem(
            LogProblemKind.UNKNOWN_GTIDS,
            after.path,
            f"its list of previous GTIDs lacks {unknown.count:,} of {before.path}",
            gtid=str(unknown),
        )
    repeated = content & later
    if repeated and after.previous_gtids is None:
        yield Problem(
            LogProblemKind.DUPLICATE_GTID,
            after.path,
            f"expected each GTID once, found {repeated.count:,} that {before.path} has too",
            gtid=str(repeated),
        )


def gap_notes(
    ends: Sequence[ChainLog], contents: Sequence[GtidSet], problems: Sequence[Problem]
) -> Iterator[str]:
    """Yield notes on GTIDs in no file, although earlier and later ones of their source are.

    GTIDs already reported as lost are omitted.
    """
    logged = GtidSet()
    for content in contents:
        logged |= content
    missing = missing_gtids(logged, [file_ends.facts.previous_gtids for file_ends in ends])
    for problem in problems:
        if problem.gtid is not None and problem.transactions:
            missing -= GtidSet.parse(problem.gtid)
    if missing:
        yield (
            f"{counted(missing.count, 'GTID')} missing although later GTIDs of the same source are"
            f" present: {missing}; normal on replicas that filter or commit out of order, and in group"
            " replication"
        )
