"""Remove logs: from the source once the archive provably holds them, and old ones from the archive.

``--expire`` usually removes the only copy from the archive, since servers have long purged such logs. So each
removed log is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from time import time

from binx.archive.chains import archived_chains, by_chain, without_superseded
from binx.archive.closed_logs import SourceLogs
from binx.archive.manifest import ArchivedLog, find_log, manifest_name, read_manifest, read_manifests
from binx.archive.objects import check_object
from binx.archive.report import ArchiveLogReport, ArchiveLogState
from binx.errors import BinxError, DamagedError, OutputError
from binx.event.gtid.sets import GtidSet
from binx.log.chain.chain import ChainLog
from binx.log.selection.times import MICROSECONDS
from binx.rows.columns.types import quote_text
from binx.source.log_names import base_of, number_of
from binx.source.remote import is_uri
from binx.storage.hashing import digest_of
from binx.storage.output import synchronize
from binx.storage.store import Store

_DAY = 24 * 60 * 60


def prunable(
    logs: SourceLogs, archived: Sequence[ArchivedLog], days: int, is_allowed: Callable[[ArchivedLog], bool]
) -> list[tuple[ChainLog, ArchivedLog]]:
    """Return each server's oldest logs that may be removed once they are verified in the archive.

    None is removed after a log that must stay, so that the source gets no gaps; nor is the newest one.
    Damaged logs, even if kept in the archive, and logs that cannot be opened must stay.
    """
    newest_time = time() - days * _DAY
    chosen: list[tuple[ChainLog, ArchivedLog]] = []
    for chain in by_chain((*logs.closed, *logs.open)):
        for ends in chain[:-1]:
            if any(log.is_within(chain[0].file.name, ends.file.name) for log in logs.unreadable):
                break
            log = find_log(archived, ends.file) if ends in logs.closed else None
            if log is None or log.damage or is_uri(ends.file.path) or not is_allowed(log):
                break
            if Path(ends.file.path).stat().st_mtime > newest_time:
                break
            chosen.append((ends, log))
    return chosen


def prove(store: Store, ends: ChainLog, log: ArchivedLog) -> None:
    """Verify that the archive holds a log: its manifest, every object's hash, and the log's own hash."""
    name = manifest_name(log.stem)
    if read_manifest(store, name) != log:
        raise DamagedError("the manifest has changed during the run", path=store.path(name))
    for stored in log.objects:
        check_object(store, stored)
    if digest_of(ends.file.source) != log.sha256:
        raise DamagedError(
            f"expected the bytes archived as {log.stem}, found others; the log is not deleted",
            path=ends.file.path,
        )


def remove(ends: ChainLog) -> None:
    """Remove a log after verification."""
    path = Path(ends.file.path)
    try:
        path.unlink()
    except OSError as error:
        raise OutputError(f"cannot be deleted: {error.strerror}", path=str(path)) from error
    # The log is removed; no guarantee depends on syncing that to disk.
    with suppress(OutputError):
        synchronize([path.parent])


def purge_statement(logs: SourceLogs, last: ChainLog) -> str | None:
    """Return the statement that purges a server's logs up to and including one of them.

    None if the next log has another base name than the newest: the server no longer knows it.
    """
    chain = next(chain for chain in by_chain((*logs.closed, *logs.open)) if last in chain)
    following = chain[chain.index(last) + 1]
    if following.facts.base != chain[-1].facts.base:
        return None
    next_name = following.file.name
    between = [log.name for log in logs.unreadable if log.is_within(last.file.name, next_name)]
    return f"PURGE BINARY LOGS TO {quote_text(min([next_name, *between], key=number_of))}"


def expire(store: Store, days: int, *, dry_run: bool = False) -> Iterator[ArchiveLogReport]:
    """Remove the logs whose last transaction was committed at least that many days ago.

    The oldest logs of each chain are removed, none after one that stays, and never the newest. The first log
    that is kept must be whole and list the GTIDs before it, so that the rest has a known beginning.
    """
    latest = time() - days * _DAY
    with nullcontext() if dry_run else store.locked():
        logs, errors = read_manifests(store)
        for error in errors:
            yield ArchiveLogReport(ArchiveLogState.FAILED, error.path or store.where, error=error)
        if errors:
            return
        for chain in _archived_chains(store, [log for log in logs if not log.is_unidentified]):
            old = _old(chain, latest)
            if not old:
                continue
            first_kept = chain[len(old)]
            try:
                _prove(store, old, first_kept)
            except BinxError as error:
                yield ArchiveLogReport(
                    ArchiveLogState.FAILED, store.path(first_kept.log.path), first_kept, error
                )
                continue
            for log in old:
                if not dry_run:
                    _remove(store, log)
                yield ArchiveLogReport(
                    ArchiveLogState.WOULD_EXPIRE if dry_run else ArchiveLogState.EXPIRED, log.stem, log
                )


def _archived_chains(store: Store, logs: Sequence[ArchivedLog]) -> list[list[ArchivedLog]]:
    """Return the logs by chain, each in order; a superseded copy comes before the better one."""
    kept, superseded = without_superseded(logs)
    chains = archived_chains(store, kept)
    return [[copy for log in chain for copy in (*_worse(log, superseded), log)] for chain in chains]


def _worse(log: ArchivedLog, superseded: Sequence[ArchivedLog]) -> list[ArchivedLog]:
    return [copy for copy in superseded if (copy.name, copy.identity) == (log.name, log.identity)]


def _old(chain: Sequence[ArchivedLog], latest: float) -> list[ArchivedLog]:
    """Return the logs that may be removed: the oldest, and never the newest."""
    for index, log in enumerate(chain[:-1]):
        last = log.header_timestamp if log.last_commit is None else log.last_commit / MICROSECONDS
        if last > latest:
            return list(chain[:index])
    return list(chain[:-1])


def _prove(store: Store, old: Sequence[ArchivedLog], kept: ArchivedLog) -> None:
    """Check that the first kept log is intact and lists the GTIDs of the logs that expire."""
    if kept.damage:
        raise DamagedError(
            "nothing expires before a log that was damaged when it was archived, as it may not prove what"
            " came before; archive a whole copy of it"
        )
    for stored in kept.objects:
        check_object(store, stored)
    if kept.previous_gtids is None:
        return
    # A server lists only what its logs of the same base name have.
    base = base_of(kept.name)
    namesakes = [log.gtids for log in old if base_of(log.name) == base]
    unknown = GtidSet().union(*namesakes) - GtidSet.parse(kept.previous_gtids)
    if unknown:
        raise DamagedError(
            f"expected the first log that is kept to list the GTIDs of those that expire, found {unknown}"
            " missing; nothing of its chain is removed; see --check"
        )


def _remove(store: Store, log: ArchivedLog) -> None:
    """Remove a log, its manifest first, so that nothing relies on the rest."""
    store.remove(manifest_name(log.stem))
    for stored in log.objects:
        store.remove(stored.path)
