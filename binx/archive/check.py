"""``--check``: whether an archive holds what it says, and all of it that there was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise

from binx.archive.manifest import INDEX, ArchivedLog, StoredObject, find_log, object_names, read_manifests
from binx.archive.opening import open_archived, unopened_ends, without_superseded
from binx.archive.restore import check_object
from binx.archive.run_report import CheckProblem, CheckReport, Finding, TailLog
from binx.archive.sources import open_source_logs
from binx.errors import AbsentError, BinxError, EncryptedError, SourceError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import missing_gtids, order_ends
from binx.log.chain.ends import FileEnds, known_ends
from binx.log.file import BinlogFile
from binx.log.identifiers import marked_gtids
from binx.log.scanning import OnDamage
from binx.source.names import unencrypted_name
from binx.source.wording import counted
from binx.storage.store import Store
from binx.verify.report import ProblemKind
from binx.verify.run import link_problems


def check_archive(
    store: Store,
    source: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CheckReport:
    """Prove what an archive covers.

    All objects are hashed; the logs are held against each other as ``verify`` does, and those of the source
    that are not archived yet follow them. What nobody here can decrypt is not opened: of such a log the
    manifest is asked.

    Args:
        store: the archive.
        source: where the logs come from; None: nothing is said of what is not archived yet.
        progress: called with the bytes of the objects that are hashed, and all there are.

    Raises:
        SourceError: archive or source cannot be read at all.
        UsageError: as :func:`binx.log.chain.inputs.expand_paths`, about the source.
        AbsentError: the same; or there is no log in the archive.
    """
    report = CheckReport()
    logs, errors = read_manifests(store)
    if not logs and not errors:
        raise AbsentError(
            "expected an archive, found no logs in it; check the path, and that the file system is mounted",
            path=store.where,
        )
    for error in errors:
        _add(report, Finding.MANIFEST, error.path or store.where, error.message)
    whole = _check_objects(store, logs, report, progress)
    _note_unlisted(store, logs, report)
    kept, superseded = without_superseded(whole)
    for log in superseded:
        better = "whole" if log.damage else "longer"
        report.notes.append(f"{log.stem}: a {better} copy of this log is archived too")
    for log in kept:
        for damage in log.damage:
            _add(report, Finding.DAMAGED, store.path(log.log.path), damage)
    with ExitStack() as stack:
        found = [(_ends_of(store, log, report, stack), log.gtids) for log in kept if not log.is_unidentified]
        _note_encrypted(report)
        report.gtids = GtidSet(interval for _, gtids in found for interval in gtids)
        if source is not None:
            found += _tail(source, logs, report, stack)
        contents = {id(ends.file): gtids for ends, gtids in found}
        chain = order_ends(ends for ends, _ in found)
        _check_holes(chain, report)
        _check_links(chain, [contents[id(ends.file)] for ends in chain], report)
    return report


def _ends_of(store: Store, log: ArchivedLog, report: CheckReport, stack: ExitStack) -> FileEnds:
    """What a log says of its place among others, or its manifest does."""
    try:
        return known_ends(open_archived(store, log, stack))
    except EncryptedError:
        if not log.recipients:
            raise
        report.unopened += 1
        return unopened_ends(store, log)


def _note_encrypted(report: CheckReport) -> None:
    if report.unopened:
        report.notes.append(
            f"{report.unopened} encrypted log{' was' if report.unopened == 1 else 's were'} not opened,"
            " because no given identity (--identity) is a recipient: their objects match their hashes,"
            " and their order and GTIDs are taken from the manifests"
        )
    if 0 < report.encrypted < report.logs:
        report.notes.append(
            f"{report.logs - report.encrypted} of {report.logs} logs are not encrypted: they were archived"
            " without --encrypt-to"
        )


def _check_objects(
    store: Store,
    logs: Sequence[ArchivedLog],
    report: CheckReport,
    progress: Callable[[int, int], None],
) -> list[ArchivedLog]:
    """Hash all objects; gives the logs whose compressed bytes are right."""
    whole: list[ArchivedLog] = []
    done, total = 0, sum(log.stored_bytes for log in logs)
    for log in logs:
        wrong = {one.kind for one in log.objects if not _is_right(store, one, report)}
        if wrong <= {INDEX}:
            whole.append(log)
        report.logs += 1
        report.bytes += log.bytes
        report.stored_bytes += log.stored_bytes
        report.transactions += log.transactions
        report.encrypted += bool(log.recipients)
        done += log.stored_bytes
        progress(done, total)
    return whole


def _is_right(store: Store, stored: StoredObject, report: CheckReport) -> bool:
    try:
        check_object(store, stored)
    except SourceError as error:
        _add(report, Finding.OBJECT_MISSING, store.path(stored.path), error.message)
    except BinxError as error:
        _add(report, Finding.OBJECT_CHANGED, store.path(stored.path), error.message)
    else:
        return True
    return False


def _note_unlisted(store: Store, logs: Sequence[ArchivedLog], report: CheckReport) -> None:
    listed = {one.path for log in logs for one in log.objects}
    for name in store.names():
        if (
            unencrypted_name(name).endswith(object_names(""))
            and not name.startswith(".")
            and name not in listed
        ):
            report.notes.append(
                f"{name}: not listed in any manifest: either a run was killed before its commit, and"
                " the next run archives the log again, or the manifest was lost"
            )


def _tail(
    source: str, logs: Sequence[ArchivedLog], report: CheckReport, stack: ExitStack
) -> Iterator[tuple[FileEnds, GtidSet]]:
    """The logs of the source that the archive does not hold."""
    report.tail = []
    there = open_source_logs(source, stack)
    held = {log.name for log in logs}
    for log in there.unreadable:
        if log.closed and log.name not in held:
            message = f"not archived, and cannot be read: {log.error.message}"
            _add(report, Finding.NOT_ARCHIVED, log.path, message)
        else:
            report.notes.append(f"{log.path}: cannot be checked: {log.error.message}")
    for ends in (*there.closed, *there.open):
        if find_log(logs, ends.file) is None:
            gtids = _gtids_of(ends.file)
            report.tail.append(TailLog(ends.file.path, ends in there.closed, ends.file.size, gtids))
            yield ends, gtids


def _check_holes(chain: Sequence[FileEnds], report: CheckReport) -> None:
    """Tell of logs of the source behind which the archive goes on."""
    tail = {log.log for log in report.tail or ()}
    archived: set[int] = set()
    holes = []
    for ends in reversed(chain):
        if ends.file.path not in tail:
            archived.add(ends.chain)
        elif ends.chain in archived:
            holes.append(ends.file.path)
    for path in reversed(holes):
        _add(
            report,
            Finding.NOT_ARCHIVED,
            path,
            "not archived, although later logs are: a run left it out, as it is damaged or was not readable;"
            " run binx verify on it, and archive it as it is with --on-damage keep",
        )


def _gtids_of(file: BinlogFile) -> GtidSet:
    intervals = []
    for table in file.scan(verify=False, on_damage=OnDamage.SALVAGE):
        intervals += marked_gtids(table, table.mask())
    return GtidSet(intervals)


def _check_links(chain: Sequence[FileEnds], contents: Sequence[GtidSet], report: CheckReport) -> None:
    """Hold logs against each other, in the order of their chains."""
    for (before, content), (after, later) in pairwise(zip(chain, contents, strict=True)):
        if before.chain != after.chain:
            continue
        if after.file.file_number <= before.file.file_number:
            report.notes.append(
                f"numbering restarted with {after.file.path}; whether {before.file.path} contains"
                " everything logged before that is unknown"
            )
            continue
        found = list(link_problems([before, after], [content, later]))
        lost = any(problem.kind is not ProblemKind.NOT_CLOSED for problem in found)
        for problem in found:
            if problem.kind is ProblemKind.NOT_CLOSED and not lost and _knows(before) and _knows(after):
                report.notes.append(
                    f"{problem.path}: no ROTATE or STOP at its end because its server crashed; the next"
                    " log shows that no transaction is missing"
                )
                continue
            report.problems.append(
                CheckProblem(problem.kind.value, problem.path, problem.message, problem.gtid)
            )
    _check_overlaps(chain, contents, report)
    report.missing = missing_gtids(
        GtidSet(interval for gtids in contents for interval in gtids),
        [ends.previous_gtids for ends in chain],
    )
    if report.missing:
        report.notes.append(
            f"{counted(report.missing.count, 'GTID')} missing although later GTIDs of the same source"
            " are present; normal on replicas that filter or commit out of order, and in group"
            " replication"
        )


def _knows(ends: FileEnds) -> bool:
    """Whether a log says which GTIDs were before it."""
    return ends.previous_gtids is not None or ends.gtid_list is not None


def _check_overlaps(chain: Sequence[FileEnds], contents: Sequence[GtidSet], report: CheckReport) -> None:
    """GTIDs that several logs hold: a problem within a server, normal between a source and its replica."""
    held: dict[int, GtidSet] = {}
    for ends, gtids in zip(chain, contents, strict=True):
        own = held.get(ends.chain, GtidSet())
        twice = own & gtids
        if twice:
            _add(
                report,
                Finding.OVERLAP,
                ends.file.path,
                f"expected each GTID in only one log of a server, found {twice.count:,} that another"
                " log has too",
                str(twice),
            )
        held[ends.chain] = own | gtids
    servers = list(held.values())
    shared = GtidSet()
    for place, gtids in enumerate(servers):
        for other in servers[place + 1 :]:
            shared |= gtids & other
    if shared:
        report.notes.append(
            f"{counted(shared.count, 'GTID')} in logs of several servers; a replica also logs the"
            " transactions of its source"
        )


def _add(report: CheckReport, kind: Finding, path: str, message: str, gtid: str | None = None) -> None:
    report.problems.append(CheckProblem(kind.value, path, message, gtid))
