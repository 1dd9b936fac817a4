"""``archive``: archive closed logs that are not in the archive yet, log by log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from binx.archive.chains import archived_chains, open_archived, without_superseded
from binx.archive.closed_logs import SourceLogs, UnreadableLog, open_source_logs
from binx.archive.manifest import (
    ArchivedLog,
    find_log,
    manifest_name,
    manifest_names,
    object_names,
    read_manifests,
    stem_of,
)
from binx.archive.objects import Storage
from binx.archive.prune import prove, prunable, purge_statement, remove
from binx.archive.report import ArchiveLogReport, ArchiveLogState, ArchiveRequest, RunReport
from binx.archive.writing import KEEP, DamagedLogError, archive_log, damage_of_open, keep_unreadable
from binx.dataset.continuation import ChainState
from binx.dataset.dataset import DataSet, escape_name
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet import to_parquet
from binx.errors import AbsentError, BinxError, DamagedError, OutputError, RefusedError, UsageError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.chain.chain import ChainLog
from binx.log.scan import find_transactions
from binx.log.scanning import OnDamage
from binx.rows.ddl.catalog import Catalog
from binx.rows.reading import Reading
from binx.source.age import given_identities
from binx.source.log_names import ENCRYPTION_SUFFIX, own_name
from binx.source.opening import is_encrypted
from binx.source.plain import PlainFile
from binx.source.remote import is_uri
from binx.storage.hashing import digest_of
from binx.storage.store import MANIFESTS, Store, open_store

if TYPE_CHECKING:
    from binx.dataset.predecessors import SourceReport


@dataclass(slots=True)
class ArchiveRun:
    """One run; iterate it once for the logs' reports.

    Attributes:
        progress: called with the bytes done and the total of the logs to archive.
    """

    request: ArchiveRequest
    progress: Callable[[int, int], None] = lambda done, total: None
    report: RunReport = field(default_factory=RunReport)

    def __iter__(self) -> Iterator[ArchiveLogReport]:
        """Run, and yield a report per log."""
        begun = monotonic()
        for log in self._logs(begun):
            self.report.count(log)
            yield log
        self.report.seconds = round(monotonic() - begun, 3)

    def _logs(self, begun: float) -> Iterator[ArchiveLogReport]:
        request = self.request
        _check_tables(request)
        with ExitStack() as stack:
            store = open_store(request.archive)
            stack.enter_context(nullcontext() if request.dry_run else store.locked())
            if not request.dry_run:
                store.prepare([MANIFESTS])
            logs = open_source_logs(request.source, stack)
            self.report.open = tuple(ends.file.path for ends in logs.open)
            # Tables are made from the whole archive, since logs provide schemas that later ones need.
            content = read_content(store, logs.names if request.parquet is None else None)
            # A log whose manifest is unreadable is archived again if the source still has it.
            yield from map(self._failed, content.errors)
            yield from self._archive_all(logs, content, store, begun)
            self.report.held = len(content.logs) + content.unread
            if request.parquet is not None and not request.dry_run:
                yield from self._export(store, content.logs, request.parquet)
            # Storage that lost or changed what was written to it is not trusted with the only copy of a log.
            if request.prune_days is not None and not content.errors:
                yield from self._prune(store, logs, content.logs, request.prune_days)

    def _archive_all(
        self, logs: SourceLogs, content: ArchiveContent, store: Store, begun: float
    ) -> Iterator[ArchiveLogReport]:
        """Archive new logs; of logs that may still be written, report only damage."""
        storage, known = Storage(store, self.request.recipients), content.logs
        for unreadable in logs.unreadable:
            yield from self._report(unreadable.path, known, partial(self._keep, unreadable, storage, known))
        pending = [ends for ends in logs.closed if find_log(known, ends.file) is None]
        total = sum(ends.file.size for ends in pending)
        done = 0
        for index, ends in enumerate(pending):
            if self._is_enough(index, begun):
                self.report.remaining = len(pending) - index
                break
            progress = _shifted(self.progress, done, total)
            yield from self._report(ends.file.path, known, partial(self._archive, ends, storage, progress))
            done += ends.file.size
        for error in filter(None, map(damage_of_open, logs.open)):
            yield ArchiveLogReport(ArchiveLogState.DAMAGED, error.path or self.request.source, error=error)
        for log in content.lost_for_good(pending):
            known.append(log)
            content.errors.append(_lost(store, log))
            yield self._failed(content.errors[-1])

    def _report(
        self, path: str, known: list[ArchivedLog], archive: Callable[[], ArchivedLog | ArchiveLogState | None]
    ) -> Iterator[ArchiveLogReport]:
        """Archive one log, and yield its report."""
        try:
            result = archive()
        except OutputError:
            raise
        except DamagedLogError as error:
            yield ArchiveLogReport(ArchiveLogState.DAMAGED, path, error=error)
        except BinxError as error:
            yield ArchiveLogReport(ArchiveLogState.FAILED, path, error=error.at(path=path))
        else:
            if isinstance(result, ArchiveLogState):
                yield ArchiveLogReport(result, path)
            elif result is not None:
                known.append(result)
                yield ArchiveLogReport(
                    ArchiveLogState.KEPT if result.damage else ArchiveLogState.ARCHIVED, path, result
                )

    def _keep(
        self, log: UnreadableLog, storage: Storage, known: list[ArchivedLog]
    ) -> ArchivedLog | ArchiveLogState | None:
        if is_uri(log.path) or not (log.closed and log.is_damaged):
            raise log.error
        with closing(PlainFile.open(log.path)) as source:
            sha256 = digest_of(source)
            if any((kept.name, kept.sha256) == (log.name, sha256) for kept in known):
                return None
            if not self.request.keep_damaged:
                raise DamagedError(f"{log.error.message}; {KEEP}", path=log.path)
            if self.request.dry_run:
                return ArchiveLogState.WOULD_ARCHIVE
            return keep_unreadable(source, sha256, log.error, storage)

    def _archive(
        self, ends: ChainLog, storage: Storage, progress: Callable[[int], None]
    ) -> ArchivedLog | ArchiveLogState:
        if is_encrypted(ends.file.source) and not (storage.recipients or self.request.decrypt):
            raise RefusedError(
                "it is encrypted, and the archive would not be; archive it encrypted with"
                " --encrypt-to age1…, or decrypted with --decrypt to a place that is as well"
                " protected as the server's keyring",
                path=ends.file.path,
            )
        if self.request.dry_run:
            return ArchiveLogState.WOULD_ARCHIVE
        return archive_log(ends, storage, progress, keep_damaged=self.request.keep_damaged)

    def _failed(self, error: BinxError) -> ArchiveLogReport:
        return ArchiveLogReport(ArchiveLogState.FAILED, error.path or self.request.source, error=error)

    def _is_enough(self, count: int, begun: float) -> bool:
        request = self.request
        if request.max_files is not None and count >= request.max_files:
            return True
        return request.max_seconds is not None and monotonic() - begun >= request.max_seconds

    def _export(self, store: Store, known: list[ArchivedLog], path: str) -> Iterator[ArchiveLogReport]:
        try:
            for tables in export_tables(store, known, path):
                yield ArchiveLogReport(ArchiveLogState.TABLES, tables.path, tables=tables)
        except OutputError:
            raise
        except BinxError as error:
            yield ArchiveLogReport(ArchiveLogState.FAILED, error.path or store.where, error=error)

    def _prune(
        self, store: Store, logs: SourceLogs, known: list[ArchivedLog], days: int
    ) -> Iterator[ArchiveLogReport]:
        """Remove verified logs, oldest first; logs in a server's index are left to the server."""
        tables: DataSet | None = None
        if self.request.parquet is not None:
            if not is_uri(self.request.parquet) and not Path(self.request.parquet).is_dir():
                return
            tables = DataSet(self.request.parquet)
        stopped: set[int] = set()
        for ends, log in prunable(logs, known, days, lambda log: tables is None or has_tables(tables, log)):
            path = ends.file.path
            if ends.chain in stopped:
                continue
            try:
                prove(store, ends, log)
                if logs.index is not None:
                    self.report.purge = purge_statement(logs, ends) or self.report.purge
                    yield ArchiveLogReport(ArchiveLogState.PURGEABLE, path)
                elif self.request.dry_run:
                    yield ArchiveLogReport(ArchiveLogState.WOULD_PRUNE, path)
                else:
                    remove(ends)
                    yield ArchiveLogReport(ArchiveLogState.PRUNED, path)
            except BinxError as error:
                stopped.add(ends.chain)
                yield ArchiveLogReport(ArchiveLogState.FAILED, path, error=error)


def _lost(store: Store, log: ArchivedLog) -> AbsentError:
    """Return the error for a log that lacks an object."""
    return AbsentError(
        "an object of it is missing, and the source no longer has the log; take the object from"
        f" another copy of the archive, or delete {manifest_name(log.stem)} to give up the log",
        path=store.path(log.stem),
    )


def _check_tables(request: ArchiveRequest) -> None:
    """Reject unencrypted tables without consent, and tables of an archive that cannot be decrypted."""
    if request.parquet is None or not request.recipients:
        return
    if not request.decrypt:
        raise UsageError(
            "--encrypt-to with --parquet requires --decrypt, because Parquet files are not encrypted;"
            " or leave out --parquet"
        )
    if not given_identities().keys:
        raise UsageError(
            "--encrypt-to with --parquet requires --identity, because Parquet is made from the archive"
        )


def _shifted(progress: Callable[[int, int], None], done: int, total: int) -> Callable[[int], None]:
    return lambda position: progress(done + position, total)


@dataclass(frozen=True, slots=True)
class ArchiveContent:
    """The content of an archive.

    Attributes:
        logs: those with a readable manifest and all objects; extended by a run.
        lost: those that lack an object.
        unread: number of logs whose manifests did not have to be read.
    """

    logs: list[ArchivedLog]
    lost: list[ArchivedLog]
    errors: list[BinxError]
    unread: int

    def lost_for_good(self, pending: Sequence[ChainLog]) -> list[ArchivedLog]:
        """Return the logs that lack an object and are neither archived again nor pending."""
        pending_logs = [find_log(self.lost, ends.file) for ends in pending] if self.lost else []
        stems = {log.stem for log in (*self.logs, *pending_logs) if log is not None}
        return [log for log in self.lost if log.stem not in stems]


def read_content(store: Store, names: Collection[str] | None) -> ArchiveContent:
    """Determine the content of an archive.

    Args:
        names: of the logs whose manifests are needed, besides those that lack their compressed log; None for
            all.
    """
    stored = set(store.names())

    def is_wanted(stem: str) -> bool:
        log, _ = object_names(stem)
        return (
            names is None or own_name(stem) in names or stored.isdisjoint((log, f"{log}{ENCRYPTION_SUFFIX}"))
        )

    all_names = manifest_names(store)
    wanted = [name for name in all_names if is_wanted(stem_of(name))]
    readable, errors = read_manifests(store, wanted)
    logs: list[ArchivedLog] = []
    lost: list[ArchivedLog] = []
    for log in readable:
        (logs if all(entry.path in stored for entry in log.objects) else lost).append(log)
    return ArchiveContent(logs, lost, errors, len(all_names) - len(wanted))


def has_tables(dataset: DataSet, log: ArchivedLog) -> bool:
    """Whether a data set contains a log."""
    manifest = dataset.manifest(f"{escape_name(log.name)}.{log.identity}")
    return manifest is not None and manifest["source"]["sha256"] == log.sha256


def export_tables(store: Store, logs: Sequence[ArchivedLog], path: str) -> Iterator[SourceReport]:
    """Write Parquet of the archived logs that a data set lacks, with a commit per log.

    Of a damaged log the whole transactions are written; of one whose first event is damaged, nothing.

    The result is that of ``to-parquet`` over all logs at once: for logs already in the data set, the schema
    statements are read again at the offsets in the index files.
    """
    dataset = DataSet(path)
    readable = [log for log in logs if not log.is_unidentified]
    kept, _ = without_superseded(readable)
    # The previous run may have been killed right after committing the last pending log.
    dataset.tidy()
    if all(has_tables(dataset, log) for log in kept):
        return
    for chain in archived_chains(store, kept):
        yield from _export_chain(store, chain, dataset, path)


def _export_chain(
    store: Store, chain: list[ArchivedLog], dataset: DataSet, path: str
) -> Iterator[SourceReport]:
    pending = [not has_tables(dataset, log) for log in chain]
    if not any(pending):
        return
    catalog, state = Catalog(), ChainState()
    last = len(pending) - pending[::-1].index(True)
    for log, is_pending in zip(chain[:last], pending, strict=False):
        with ExitStack() as stack:
            file = open_archived(store, log, stack)
            if is_pending or log.damage:
                options = ParquetOptions(on_damage=OnDamage.SALVAGE if log.damage else OnDamage.STOP)
                reports = to_parquet([file], path, catalog=catalog, options=options, state=state)
                yield from (report for report in reports if not report.kept)
            else:
                _skip_log(file, log, catalog, state)


def _skip_log(file: BinlogFile, log: ArchivedLog, catalog: Catalog, state: ChainState) -> None:
    """Update catalog and state for a log that the data set already contains."""
    state.epoch += bool(log.create_timestamp)
    state.seqno += log.transactions
    reading = Reading(catalog)
    scan = find_transactions(file, Level.LEVEL_TABLES)
    for table in scan:
        reading.follow(file, table)
