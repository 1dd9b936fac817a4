"""``to-parquet``: export binary logs to a data set of Parquet files, one commit per log."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.dataset.continuation import ChainState, find_beginning, place_of
from binx.dataset.dataset import DataSet
from binx.dataset.log_export import LogExport
from binx.dataset.options import ParquetOptions
from binx.dataset.personal.unmatched_rules import check_rules, check_tables
from binx.dataset.predecessors import (
    ChainPlace,
    SourceReport,
    check_log_numbers,
    packed,
    source_name,
    survey,
    unpacked,
)
from binx.dataset.transaction import Staged, StagedFiles, commit_staged
from binx.errors import ResourceError
from binx.event.gtid.sets import GtidSet
from binx.log.binlog_file import BinlogFile
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selection, Selector
from binx.rows.ddl.catalog import Catalog
from binx.source.plain import PlainFile
from binx.storage.store import open_store

if TYPE_CHECKING:
    from binx.where.matching_transactions import RowFilter


class ExportRequest(NamedTuple):
    """The parameters that all logs of an export share."""

    selection: Selection
    names: tuple[str, ...]
    options: ParquetOptions

    def row_filter(self, place: ChainPlace) -> RowFilter | None:
        """Return the row filter for the log at a place, or None."""
        options = self.options
        if options.where is None:
            return None
        from binx.where.matching_transactions import RowFilter

        takes_table = Selector(self.selection, self.names, in_parts=True).takes_table
        return RowFilter(
            options.where, unpacked(place.tables), takes_table, options.where_limit, in_parts=True
        )


class ExportedLog(NamedTuple):
    """An exported log, before its commit.

    Attributes:
        staged: what to commit; None if nothing was written.
        existing: the existing manifest, if the same request has already exported the log.
        found_gtids: the requested GTIDs that are in the log.
        notes: how positions were interpreted.
        next_place: the place of the next log, if it was requested.
    """

    staged: Staged | None
    existing: dict[str, Any] | None
    found_gtids: GtidSet
    notes: tuple[str, ...]
    next_place: ChainPlace

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest to commit, or the existing one."""
        return (self.existing or {}) if self.staged is None else self.staged.manifest


def export_log(
    dataset: DataSet,
    request: ExportRequest,
    file: BinlogFile,
    place: ChainPlace,
    begin: Callable[[], StagedFiles],
    progress: Callable[[int], None],
    *,
    row_filter: RowFilter | None = None,
    needs_next_place: bool = True,
    has_thread: bool = False,
) -> ExportedLog:
    """Decode a log and write its files; the caller commits them.

    Args:
        progress: called at intervals with the offset reached; an exception it raises ends the export.
        row_filter: removes row changes by their rows; updated.
        needs_next_place: whether the next log's place is needed, even if this log is already exported.
    """
    selector = Selector(request.selection, request.names, in_parts=True)
    selector.take_passed(place.passed)
    catalog, state = unpacked(place.tables), ChainState(place.epoch, place.seqno, is_given=place.is_given)
    export = LogExport(file, dataset, selector, catalog, request.options, state, row_filter)
    seeks = request.selection.gtids is not None or request.names or row_filter is not None
    staged = None
    existing = export.find_existing()
    if existing is None:
        staged = export.write(begin(), progress, has_thread=has_thread)
    elif needs_next_place or seeks or existing["damage"]:
        export.pass_over(progress)
    next_place = ChainPlace(packed(catalog), state.epoch, state.seqno, selector.passed)
    return ExportedLog(staged, existing, selector.found, tuple(selector.notes), next_place)


def to_parquet(
    files: Sequence[BinlogFile],
    folder: str | os.PathLike[str],
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
    state: ChainState | None = None,
) -> Iterator[SourceReport]:
    """Export the logs in the given order, with a commit after each.

    Args:
        files: binary logs in chain order, because DDL in one log names the columns in the next.
        folder: the data set's folder, created if missing, or a URI supported by ``pyarrow.fs``.
        selector: selects transactions, by default all; afterwards it reports what was not found.
        catalog: the tables known beforehand; updated. If neither it nor a state is given, the export
            continues from the log before the first one, if the data set has it.
        progress: called at intervals with the number of bytes done in all files, by one thread at a time.
        state: the first file's position in the chain, if logs came before it; advanced.

    Raises:
        RefusedError: a log comes from standard input, or has no number and is not the only log.
        UsageError: the folder is a URI of an unknown file system.
        OutputError: the data set cannot be written, or another process is writing to it.
        DamagedError, TruncatedError, UnsupportedError: a log cannot be read completely; it is not committed,
            the logs before it are.
        AbsentError: no table has the columns of the condition.
        UnmatchedRuleError: there is no table for a rule, and nothing is written; or a table has no column for
            its rule, and its log is not committed.
    """
    options = options or ParquetOptions()
    selector = selector or Selector(Selection(), in_parts=True)
    check_log_numbers(files, open_store(os.fspath(folder)))
    if state is None:
        catalog, state, _ = find_beginning(os.fspath(folder), files, catalog, options.personal)
    catalog = Catalog() if catalog is None else catalog
    dataset = DataSet(folder)
    check_tables(dataset, files, catalog, options)
    with dataset.locked():
        chain = _ExportedLogs(dataset, files, selector, options, progress)
        place = ChainPlace(packed(catalog), state.epoch, state.seqno, selector.passed, state.is_given)
        try:
            yield from chain.export(place)
        finally:
            if chain.next_place is not None:
                catalog.become(unpacked(chain.next_place.tables))
                state.epoch, state.seqno = chain.next_place.epoch, chain.next_place.seqno


class _StoppedError(Exception):
    """The export was stopped."""


class _PendingLog(NamedTuple):
    """A log whose decoding is running or pending."""

    file: BinlogFile
    transaction: StagedFiles
    row_filter: RowFilter | None
    exported: Callable[[], ExportedLog]


class _ExportedLogs:
    """The logs of an export.

    Attributes:
        next_place: the place of the log after the committed ones; None before the first commit.
    """

    def __init__(
        self,
        dataset: DataSet,
        files: Sequence[BinlogFile],
        selector: Selector,
        options: ParquetOptions,
        progress: Callable[[int], None],
    ) -> None:
        self.next_place: ChainPlace | None = None
        self._dataset = dataset
        self._files = files
        self._selector = selector
        selection = selector.selection
        has_positions = selection.start is not None or selection.stop is not None
        names = tuple(file.name for file in files) if has_positions else ()
        self._request = ExportRequest(selection, names, options)
        self._progress = progress
        self._done = [0] * len(files)
        self._lock = Lock()
        self._is_stopped = False

    def export(self, place: ChainPlace) -> Iterator[SourceReport]:
        """Export and commit the logs."""
        request, limit = self._request, self._request.options.where_limit
        chain_filter = request.row_filter(place)
        at_once = min(request.options.jobs_here // 2, len(self._files)) if self._can_be_shared() else 1
        begun: deque[_PendingLog] = deque()
        is_given = place.is_given
        # Decoding in sequence needs no thread, which the system might refuse to start.
        with ThreadPoolExecutor(at_once, "binx-log") if at_once > 1 else nullcontext() as pool:
            try:
                for number, file in enumerate(self._files):
                    if not is_given:
                        place = place_of(self._dataset.store, file, place, request.options.personal)
                    # The place after the last log is determined by decoding it.
                    is_shared = at_once > 1 and number + 1 < len(self._files)
                    surveyed = survey(file, request.selection, request.names) if is_shared else None
                    row_filter = chain_filter if limit is not None else request.row_filter(place)
                    is_known = surveyed is not None and surveyed.error is None
                    begun.append(self._begin(pool, number, place, row_filter, needs_next_place=not is_known))
                    if surveyed is not None and is_known:
                        place = surveyed.place_after(place, file)
                    while begun and (not is_known or len(begun) > at_once):
                        exported, report = self._commit(begun[0])
                        log_filter = begun.popleft().row_filter
                        if chain_filter is not None and log_filter is not None:
                            chain_filter.take_seen(log_filter.seen)
                        if not is_known:
                            place = self.next_place = exported.next_place
                        yield report
            finally:
                self._is_stopped = True
                if pool is not None:
                    pool.shutdown(cancel_futures=True)
                for log in begun:
                    log.transaction.abandon()
        if chain_filter is not None:
            chain_filter.check()

    def _can_be_shared(self) -> bool:
        """Whether logs can be decoded in parallel: nothing requires a single pass in order."""
        options = self._request.options
        return (
            options.where_limit is None
            # The state after damage is known only once the log is decoded.
            and options.on_damage is OnDamage.STOP
            and all(isinstance(file.source, PlainFile) for file in self._files)
            and len({source_name(file) for file in self._files}) == len(self._files)
        )

    def _begin(
        self,
        pool: ThreadPoolExecutor | None,
        number: int,
        place: ChainPlace,
        row_filter: RowFilter | None,
        *,
        needs_next_place: bool,
    ) -> _PendingLog:
        """Start decoding a log in the pool; without a pool, it is decoded when it is committed."""
        file = self._files[number]
        transaction = StagedFiles(self._dataset, source_name(file))
        work = partial(
            export_log,
            self._dataset,
            self._request,
            file,
            place,
            lambda: transaction,
            partial(self._reach, number),
            row_filter=row_filter,
            needs_next_place=needs_next_place,
            has_thread=self._request.options.jobs_here > 1,
        )
        if pool is None:
            return _PendingLog(file, transaction, row_filter, work)
        try:
            return _PendingLog(file, transaction, row_filter, pool.submit(work).result)
        except RuntimeError as error:
            transaction.abandon()
            raise ResourceError.of("threads", error) from error

    def _commit(self, begun: _PendingLog) -> tuple[ExportedLog, SourceReport]:
        """Wait until a log is decoded, and commit it."""
        exported = begun.exported()
        self._selector.take_found(exported.found_gtids)
        self._selector.note(*exported.notes)
        if exported.staged is None:
            begun.transaction.abandon()
        else:
            check_rules(self._dataset, self._request.options, exported.manifest, begun.file.path)
            commit_staged(begun.transaction, exported.staged)
        is_kept = exported.staged is None
        return exported, SourceReport(source_name(begun.file), begun.file.path, is_kept, exported.manifest)

    def _reach(self, number: int, position: int) -> None:
        """Report a log's progress.

        Raises:
            _StoppedError: the export was stopped.
        """
        if self._is_stopped:
            raise _StoppedError
        with self._lock:
            self._done[number] = position
            self._progress(sum(self._done))
