"""``--check``: verify that an archive's objects are intact, and that no logs are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from binx.archive.chains import manifest_facts, without_superseded
from binx.archive.closed_logs import open_source_logs
from binx.archive.manifest import (
    INDEX,
    ArchivedLog,
    StoredObject,
    find_log,
    manifest_name,
    manifest_names,
    object_names,
    read_manifests,
)
from binx.archive.objects import check_object
from binx.errors import AbsentError, BinxError, SourceError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.identifiers import gtids_of
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.succession import LogFacts, is_counted_on, list_gtids, missing_gtids, ordered
from binx.source.log_names import unencrypted_name
from binx.source.wording import counted
from binx.storage.store import Store
from binx.verify.problems import LogProblemKind
from binx.verify.verification import link_problems


class CheckedLog(NamedTuple):
    """A log of the archive or of the source, the GTIDs in it, and the number of its chain."""

    facts: LogFacts
    gtids: GtidSet
    chain: int = 0


class Finding(Enum):
    """Kinds of problems of an archive; problems between its logs have the names that ``verify`` uses."""

    MANIFEST = "manifest"
    """A manifest cannot be read."""
    MANIFEST_MISSING = "manifest_missing"
    """A log's objects exist, and its manifest does not."""
    OBJECT_MISSING = "object_missing"
    """An object listed in a manifest does not exist, or cannot be read."""
    OBJECT_CHANGED = "object_changed"
    """An object's hash does not match."""
    DAMAGED = "damaged"
    """A log was already damaged when it was archived, and is kept as it was."""
    NOT_ARCHIVED = "not_archived"
    """A log of the source is not archived, although later ones are."""
    OVERLAP = "overlap"
    """Several logs of one server contain the same GTIDs."""


_MISSING = frozenset(
    {
        Finding.MANIFEST_MISSING.value,
        Finding.OBJECT_MISSING.value,
        Finding.NOT_ARCHIVED.value,
        LogProblemKind.MISSING_FILE.value,
    }
)


@dataclass(frozen=True, slots=True)
class CheckProblem:
    """A problem found.

    Attributes:
        kind: a Finding's name, or a kind of ``verify``.
        gtid: the GTIDs concerned.
    """

    kind: str
    path: str
    message: str
    gtid: str | None = None


@dataclass(frozen=True, slots=True)
class TailLog:
    """A log of the source that the archive lacks, or of which a dump has only the beginning.

    Attributes:
        bytes: its size.
        gtid_set: its GTIDs that the archive lacks.
    """

    path: str
    closed: bool
    bytes: int
    gtid_set: GtidSet


@dataclass(slots=True)
class CheckReport:
    """Results of a check.

    Attributes:
        missing_gtids: GTIDs in no log, although earlier and later ones of their source are.
        notes: normal conditions worth knowing, in sentences.
        tail: logs of the source that are not archived yet; None without a source.
    """

    logs: int = 0
    bytes: int = 0
    stored_bytes: int = 0
    transactions: int = 0
    encrypted: int = 0
    gtid_set: GtidSet = field(default_factory=GtidSet)
    missing_gtids: GtidSet = field(default_factory=GtidSet)
    problems: list[CheckProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tail: list[TailLog] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def has_missing(self) -> bool:
        """Whether anything is missing."""
        return any(problem.kind in _MISSING for problem in self.problems)

    def add(self, kind: Finding, path: str, message: str, gtid: str | None = None) -> None:
        """Record a problem."""
        self.problems.append(CheckProblem(kind.value, path, message, gtid))

    @property
    def check(self) -> str:
        """How it ended."""
        return "missing" if self.has_missing else "ok" if self.ok else "problems"


def check_archive(
    store: Store,
    source: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CheckReport:
    """Verify an archive; no key is needed.

    All objects are hashed; the logs are checked against each other as ``verify`` does, based on their
    manifests, followed by the logs of the source that are not archived yet.

    Args:
        source: where the logs come from; None reports nothing about logs that are not archived yet.
        progress: called with the bytes hashed and the total.
    """
    report = CheckReport()
    stored = set(store.names())
    logs, errors = read_manifests(store)
    if not logs and not errors:
        raise AbsentError(
            "expected an archive, found no logs in it; check the path, and that the file system is mounted",
            path=store.where,
        )
    for error in errors:
        report.add(Finding.MANIFEST, error.path or store.where, error.message)
    intact = _check_objects(store, logs, report, progress)
    _check_unlisted(store, stored, logs, report)
    if 0 < report.encrypted < report.logs:
        report.notes.append(
            f"{report.logs - report.encrypted} of {report.logs} logs are not encrypted: they were archived"
            " without --encrypt-to"
        )
    kept, superseded = without_superseded(intact)
    for log in superseded:
        better = "whole" if log.damage else "longer"
        report.notes.append(f"{log.stem}: a {better} copy of this log is archived too")
    for log in kept:
        for damage in log.damage:
            report.add(Finding.DAMAGED, store.path(log.log.path), damage)
    found = [CheckedLog(manifest_facts(store, log), log.gtids) for log in kept if not log.is_unidentified]
    report.gtid_set = GtidSet(interval for log in found for interval in log.gtids)
    with ExitStack() as stack:
        if source is not None:
            names = {log.name for log in logs}
            found += add_tail(source, names, lambda file: find_log(logs, file) is not None, report, stack)
        check_chains(found, report)
    return report


def check_chains(found: Sequence[CheckedLog], report: CheckReport) -> None:
    """Check logs against each other, chain by chain."""
    chains = ordered([log.facts for log in found])
    chain = [found[at]._replace(chain=number) for number, one in enumerate(chains) for at in one]
    _check_holes(chain, report)
    _check_links(chain, report)


def _check_objects(
    store: Store,
    logs: Sequence[ArchivedLog],
    report: CheckReport,
    progress: Callable[[int, int], None],
) -> list[ArchivedLog]:
    """Hash all objects; return the logs whose compressed bytes are intact."""
    intact: list[ArchivedLog] = []
    done, total = 0, sum(log.stored_bytes for log in logs)
    for log in logs:
        wrong = {stored.kind for stored in log.objects if not _is_intact(store, stored, report)}
        if wrong <= {INDEX}:
            intact.append(log)
        report.logs += 1
        report.bytes += log.bytes
        report.stored_bytes += log.stored_bytes
        report.transactions += log.transactions
        report.encrypted += bool(log.recipients)
        done += log.stored_bytes
        progress(done, total)
    return intact


def _is_intact(store: Store, stored: StoredObject, report: CheckReport) -> bool:
    try:
        check_object(store, stored)
    except BinxError as error:
        kind = Finding.OBJECT_MISSING if isinstance(error, SourceError) else Finding.OBJECT_CHANGED
        report.add(kind, store.path(stored.path), error.message)
        return False
    return True


def _check_unlisted(store: Store, stored: set[str], logs: Sequence[ArchivedLog], report: CheckReport) -> None:
    """Report objects without a manifest; not those that another run commits, removes or writes meanwhile."""
    listed = {entry.path for log in logs for entry in log.objects}
    active_since = store.locked_since()
    stems, manifests = {log.stem for log in logs}, set(manifest_names(store))
    for name in sorted(stored & set(store.names())):
        plain = unencrypted_name(name)
        suffix = next((suffix for suffix in object_names("") if plain.endswith(suffix)), None)
        if suffix is None or name.startswith(".") or name in listed:
            continue
        stem = plain.removesuffix(suffix)
        if stem in stems:
            report.notes.append(f"{name}: the manifest of its log does not list it")
        elif manifest_name(stem) in manifests:
            continue
        elif active_since is not None and store.modified(name) >= active_since:
            report.notes.append(f"{name}: another run is archiving this log")
        else:
            report.add(
                Finding.MANIFEST_MISSING,
                store.path(name),
                "expected a manifest that lists it, found none: it was lost, or a run that archives or"
                " expires the log was killed; archive it again, restore the manifest, or delete what expired",
            )


def add_tail(
    source: str,
    archived_names: Collection[str],
    is_archived: Callable[[BinlogFile], bool],
    report: CheckReport,
    stack: ExitStack,
) -> Iterator[CheckedLog]:
    """Report the logs of a source that are not archived, and yield them.

    Args:
        archived_names: names of the logs that are, which may be others of these names.
    """
    report.tail = []
    source_logs = open_source_logs(source, stack)
    for log in source_logs.unreadable:
        if log.closed and log.name not in archived_names:
            message = f"not archived, and cannot be read: {log.error.message}"
            report.add(Finding.NOT_ARCHIVED, log.path, message)
        else:
            report.notes.append(f"{log.path}: cannot be checked: {log.error.message}")
    for ends in (*source_logs.closed, *source_logs.open):
        if not is_archived(ends.file):
            gtids = gtids_of(Scan(ends.file, verify=False, on_damage=OnDamage.SALVAGE))
            report.tail.append(TailLog(ends.file.path, ends in source_logs.closed, ends.file.size, gtids))
            yield CheckedLog(ends.facts, gtids)


def _check_holes(chain: Sequence[CheckedLog], report: CheckReport) -> None:
    """Report logs of the source that are missing between archived ones."""
    tail = {log.path for log in report.tail or ()}
    archived: set[int] = set()
    holes = []
    for log in reversed(chain):
        if log.facts.path not in tail:
            archived.add(log.chain)
        elif log.chain in archived:
            holes.append(log.facts.path)
    for path in reversed(holes):
        report.add(
            Finding.NOT_ARCHIVED,
            path,
            "not archived, although later logs are: a run left it out, as it is damaged or was not readable;"
            " run binx verify on it, and archive it as it is with --on-damage keep",
        )


def _check_links(chain: Sequence[CheckedLog], report: CheckReport) -> None:
    """Check consecutive logs of a chain against each other."""
    for (before, content, chain_before), (after, later, chain_after) in pairwise(chain):
        if chain_before != chain_after:
            continue
        if not is_counted_on(before, after):
            what = "numbering restarted" if before.base == after.base else "the logs' name changed"
            report.notes.append(
                f"{what} with {after.path}; whether {before.path} contains"
                " everything logged before that is unknown"
            )
            continue
        problems = list(link_problems(before, content, after, later))
        lost = any(problem.kind is not LogProblemKind.NOT_CLOSED for problem in problems)
        for problem in problems:
            if problem.kind is LogProblemKind.NOT_CLOSED and not lost and list_gtids(before, after):
                report.notes.append(
                    f"{problem.path}: no ROTATE or STOP at its end because its server crashed; the next"
                    " log shows that no transaction is missing"
                )
                continue
            report.problems.append(
                CheckProblem(problem.kind.value, problem.path, problem.message, problem.gtid)
            )
    _check_overlaps(chain, report)
    report.missing_gtids = missing_gtids(
        GtidSet(interval for log in chain for interval in log.gtids),
        [log.facts.previous_gtids for log in chain],
    )
    if report.missing_gtids:
        report.notes.append(
            f"{counted(report.missing_gtids.count, 'GTID')} missing although later GTIDs of the same source"
            " are present; normal on replicas that filter or commit out of order, and in group"
            " replication"
        )


def _check_overlaps(chain: Sequence[CheckedLog], report: CheckReport) -> None:
    """Report GTIDs in several logs: a problem within a server, normal between a source and its replica."""
    chain_gtids: dict[int, GtidSet] = {}
    for facts, gtids, number in chain:
        earlier = chain_gtids.get(number, GtidSet())
        repeated = earlier & gtids
        if repeated:
            report.add(
                Finding.OVERLAP,
                facts.path,
                f"expected each GTID in only one log of a server, found {repeated.count:,} that another"
                " log has too",
                str(repeated),
            )
        chain_gtids[number] = earlier | gtids
    shared, seen = GtidSet(), GtidSet()
    for gtids in chain_gtids.values():
        shared |= seen & gtids
        seen |= gtids
    if shared:
        report.notes.append(
            f"{counted(shared.count, 'GTID')} in logs of several servers; a replica also logs the"
            " transactions of its source"
        )
