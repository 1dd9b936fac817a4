"""What does not fit between files: their order, their names, and the GTIDs that each says were before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import ProblemKind as LinkKind
from binx.log.chain.chain import ends_problems
from binx.log.chain.ends import FileEnds
from binx.log.chain.gtid_gaps import missing_gtids
from binx.log.chain.links import gtid_differences
from binx.source.wording import counted
from binx.verify.problems import Problem, ProblemKind

_KINDS = {
    LinkKind.GAP: ProblemKind.MISSING_FILE,
    LinkKind.GTIDS_LOST: ProblemKind.UNKNOWN_GTIDS,
    LinkKind.NOT_CLOSED: ProblemKind.NOT_CLOSED,
    LinkKind.REPEATED: ProblemKind.REPEATED,
}


def link_problems(ends: Sequence[FileEnds], contents: Sequence[GtidSet]) -> Iterator[Problem]:
    """What does not fit between files that follow each other."""
    for (before, content), (after, later) in pairwise(zip(ends, contents, strict=True)):
        found = ends_problems([before, after])
        for problem in found:
            about = before if problem.kind is LinkKind.NOT_CLOSED else after
            yield Problem(_KINDS[problem.kind], about.file.path, problem.message)
        # A log that a crash has left without an end is held against the next one all the same.
        if before.chain == after.chain and all(one.kind is LinkKind.NOT_CLOSED for one in found):
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
    """Hold what the later file says was before it against what was there."""
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
    """Sentences about numbers that no file holds though earlier and later ones of their source are there.

    Those of which a problem says that they are lost are not told again.
    """
    logged = GtidSet()
    for content in contents:
        logged |= content
    missing = missing_gtids(logged, [one.previous_gtids for one in ends])
    for problem in problems:
        if problem.gtid is not None and problem.transactions:
            missing -= GtidSet.parse(problem.gtid)
    if missing:
        yield (
            f"{counted(missing.count, 'GTID')} missing although later GTIDs of the same source are"
            f" present: {missing}; normal on replicas that filter or commit out of order, and in group"
            " replication"
        )
