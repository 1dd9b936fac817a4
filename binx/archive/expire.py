"""``--expire``: old logs go from an archive, as far as those that are kept prove where they begin.

What goes is as a rule the only copy: servers have long purged such logs. So each is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from time import time

from binx.archive.manifest import ArchivedLog, manifest_name, read_manifests
from binx.archive.opening import by_chain, unopened_ends, without_superseded
from binx.archive.restore import check_object
from binx.archive.run_report import LogReport, State
from binx.errors import BinxError, DamagedError
from binx.event.gtid.sets import GtidSet
from binx.log.selection.moments import MICROSECONDS
from binx.storage.store import Store

_DAY = 24 * 60 * 60


def expire(store: Store, days: int, *, dry_run: bool = False) -> Iterator[LogReport]:
    """Remove the logs whose last transaction was committed so many days ago.

    Of each chain the oldest go, and none behind one that stays; the newest never goes. The first that is kept
    must be whole, and list the GTIDs of those before it as logged: so what is left has a known beginning.

    Raises:
        SourceError: the archive cannot be read.
        OutputError: the archive cannot be written, or another process is writing to it.
        UnsupportedError: a newer binx has written to the archive.
    """
    latest = time() - days * _DAY
    with nullcontext() if dry_run else store.locked():
        logs, errors = read_manifests(store)
        for error in errors:
            yield LogReport(State.FAILED, error.path or store.where, error=error)
        if errors:
            return
        for chain in _chains(store, [log for log in logs if not log.is_unidentified]):
            old = _old(chain, latest)
            if not old:
                continue
            kept = chain[len(old)]
            try:
                _prove(store, old, kept)
            except BinxError as error:
                yield LogReport(State.FAILED, store.path(kept.log.path), kept, error)
                continue
            for log in old:
                if not dry_run:
                    _remove(store, log)
                yield LogReport(State.WOULD_EXPIRE if dry_run else State.EXPIRED, log.stem, log)


def _chains(store: Store, logs: Sequence[ArchivedLog]) -> list[list[ArchivedLog]]:
    """The logs by chain, each in its order; a copy that a better one supersedes stands before that."""
    kept, superseded = without_superseded(logs)
    chains = by_chain((unopened_ends(store, log), log) for log in kept)
    return [[copy for _, log in chain for copy in _copies(log, superseded)] for chain in chains]


def _copies(log: ArchivedLog, superseded: Sequence[ArchivedLog]) -> list[ArchivedLog]:
    identity = (log.name, log.identity)
    return [*(other for other in superseded if (other.name, other.identity) == identity), log]


def _old(chain: Sequence[ArchivedLog], latest: float) -> list[ArchivedLog]:
    """The logs that may go: the oldest, and never the newest."""
    for place, log in enumerate(chain[:-1]):
        last = log.header_timestamp if log.last_commit is None else log.last_commit / MICROSECONDS
        if last > latest:
            return list(chain[:place])
    return list(chain[:-1])


def _prove(store: Store, old: Sequence[ArchivedLog], kept: ArchivedLog) -> None:
    """See that what is kept begins where it says.

    Raises:
        SourceError, DamagedError: the first log that is kept is not whole, or knows nothing of those before.
    """
    if kept.damage:
        raise DamagedError(
            "nothing expires before a log that was damaged when it was archived, as it may not prove what"
            " came before; archive a whole copy of it"
        )
    for stored in kept.objects:
        check_object(store, stored)
    if kept.previous_gtids is None:
        return
    unknown = GtidSet().union(*(log.gtids for log in old)) - GtidSet.parse(kept.previous_gtids)
    if unknown:
        raise DamagedError(
            f"expected the first log that is kept to list the GTIDs of those that expire, found {unknown}"
            " missing; nothing of its chain is removed; see --check"
        )


def _remove(store: Store, log: ArchivedLog) -> None:
    """Remove a log: first its manifest, without which nobody relies on the rest."""
    store.remove(manifest_name(log.stem))
    for stored in log.objects:
        store.remove(stored.path)
