"""One binary log on its way into a data set: decoded, counted, handed over to be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from binx.event.header import EventType
from binx.event.payload import KeptPayloads
from binx.export.contract import CONTRACT
from binx.export.dataset import DataSet, Transaction
from binx.export.digest import LogDigest
from binx.export.finding import Finder
from binx.export.manifest import manifest, source_record
from binx.export.parquet_files import (
    ParquetOptions,
    SourceWriters,
    schema_records,
)
from binx.export.salvaging import Salvaging, damage_sentences
from binx.export.source_sums import SourceSums
from binx.export.staging import ChainState, SourceReport, Staged, commit_staged, source_name
from binx.export.workers import Lane, Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.recent import windows_kept
from binx.log.selection import Selector
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.statements import Statement
from binx.rows.undecodable import DecodingCheck
from binx.source.plain import PlainFile


class SourceExport:
    """One source on its way into a data set."""

    def __init__(
        self,
        dataset: DataSet,
        file: BinlogFile,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
        workers: Workers,
    ) -> None:
        self.dataset = dataset
        self.file = file
        self.source = source_name(file)
        self._selector = selector
        self._options = options
        self._state = state
        self._workers = workers
        self._kept: dict[str, Any] | None = None
        self._transaction: Transaction | None = None
        self._writers: SourceWriters | None = None
        self._finder: Finder | None = None
        self._sums = SourceSums(file, selector.takes_table)
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        state.epoch += file.format.at_startup
        self._scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=options.on_damage)
        self._digest = LogDigest(file, workers.lane())
        self._scan.watch = self._digest.saw
        salvages = options.on_damage is OnDamage.SALVAGE
        check = (
            DecodingCheck(file, catalog.copy(), selector.takes_table, options.decoder) if salvages else None
        )
        self._decoder = ChangeDecoder(file, catalog, selector.takes_table, options.decoder)
        self._salvaging = Salvaging(self._scan, check, self._forget_tables)

    def begin(self, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written; or see that the same request wrote them before.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        try:
            if self.find_kept():
                self.pass_over(progress)
            else:
                self.write(self.dataset.begin(self.source), progress)
        except BaseException:
            self.abandon()
            raise

    @property
    def kept(self) -> dict[str, Any] | None:
        """The manifest of before, where it is by the same request."""
        return self._kept

    def find_kept(self) -> bool:
        """Whether the same request wrote the source before.

        Raises:
            BinxError: the manifest, or the log, cannot be read.
        """
        known = None if self._options.force else self.dataset.manifest(self.source)
        if known is not None and self._is_same(known, self._digest.hexdigest()):
            self._kept = known
        return self._kept is not None

    def write(self, transaction: Transaction, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        self._transaction = transaction
        self._writers = SourceWriters(transaction, self._options, self._workers)
        self._write(self._writers, progress)
        self._writers.close()

    def finish(self) -> SourceReport:
        """Wait for the files, and commit them.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        if self._kept is not None:
            return SourceReport(self.source, self.file.path, True, self._kept)
        if self._transaction is None:
            raise ValueError(f"{self.source} is not decoded")
        try:
            staged = self.staged()
            commit_staged(self._transaction, staged)
        except BaseException:
            self.abandon()
            raise
        return SourceReport(self.source, self.file.path, False, staged.manifest)

    def staged(self) -> Staged:
        """Wait for the files that were written.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        if self._writers is None or self._finder is None:
            raise ValueError(f"{self.source} is not decoded")
        files = self._writers.finish(self._decoder.tables)
        self._sums.sums.check(self.file.path)
        self._warn()
        damage = self._salvaging.damage()
        ending = "" if self._scan.ending is None else self._scan.ending.value
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), ending),
            self._request,
            str(self._finder.gtids),
            self._sums.sums,
            files,
            self._sums.losses + damage_sentences(damage),
            list(self._decoder.report.warnings),
            damage,
        )
        return Staged(document, tuple(self._writers.listed), schema_records(self._decoder.tables))

    def abandon(self) -> None:
        """Remove what was staged."""
        if self._finder is not None:
            self._finder.stop()
        self._digest.drop()
        if self._writers is not None:
            self._writers.abandon()
        if self._transaction is not None:
            self._transaction.abandon()

    def _is_same(self, known: dict[str, Any], sha256: str) -> bool:
        return (
            known["contract"] == CONTRACT
            and known["source"]["sha256"] == sha256
            and known.get("request") == self._request
        )

    def pass_over(self, progress: Callable[[int], None]) -> None:
        """Move catalog, chain and search on over a source that is written already."""
        payloads = KeptPayloads(self._options.decoder.memory)
        self._scan.payloads = self._decoder.payloads = payloads
        for table in self._scan:
            mask = self._selector.mask(self.file, self._scan, table)
            if self._state.row_filter is not None:
                lost = self._salvaging.undecodable(table, bytearray(mask))
                self._state.row_filter.keep(self.file, table, mask, lost)
            self._state.seqno += len(table)
            statements_only = bytearray(len(table))
            table.mark_statements(statements_only)
            for index in self._salvaging.undecodable(table, statements_only):
                statements_only[index] = 0
            for _ in self._decoder.decode(table, statements_only):
                pass
            payloads.clear()
            progress(self._scan.position)
        self._salvaging.forget_behind_damage()

    def _write(self, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        finder = self._finder = Finder(
            self._scan,
            self._selector,
            self._state,
            self._salvaging,
            self._lane_ahead(),
            self._options.decoder.memory,
        )
        with windows_kept(self.file, finder.walked):
            try:
                self._decode(finder, writers, progress)
            finally:
                finder.stop()

    def _lane_ahead(self) -> Lane | None:
        """Where transactions are found ahead; None where finding them needs what was decoded before."""
        is_alone = self._salvaging.is_wanted or self._state.row_filter is not None
        if is_alone or self._workers.jobs == 1 or not isinstance(self.file.source, PlainFile):
            return None
        return self._workers.lane()

    def _decode(self, finder: Finder, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        decoder, sums = self._decoder, self._sums
        for found in finder:
            if found.group is not None:
                writers.write_transactions(found.group)
            if found.span is not None:
                sums.sums.saw(*found.span)
            sums.take_counted(found.counts)
            decoder.payloads = found.payloads
            for item in decoder.decode(found.table, found.marks, found.ids):
                if isinstance(item, Statement):
                    writers.write_statement(item)
                    sums.take_statement(item)
                else:
                    self._take_batch(item, writers)
                # Else its memory would be held until the next batch is full.
                del item
            progress(found.position)
        rest = finder.rest()
        if rest is not None:
            writers.write_transactions(rest)
        self._salvaging.forget_behind_damage()
        for batch in decoder.finish():
            self._take_batch(batch, writers)
        for name, images in decoder.report.filtered.items():
            sums.sums.of(name).filtered += images
        for name, counts in decoder.report.undone.items():
            sums.filter_out(name, counts)
            decoder.report.warnings[
                f"{name[0]}.{name[1]}: {sum(counts)} changes of rows are left out, as ROLLBACK TO SAVEPOINT"
                " undid them within their transactions"
            ] = None
        sums.tell(decoder.tables)

    def _take_batch(self, batch: ChangeBatch, writers: SourceWriters) -> None:
        name = (batch.table.db, batch.table.name)
        if self._state.row_filter is not None:
            batch, dropped = self._state.row_filter.chosen(batch)
            self._sums.filter_out(name, dropped)
            if not batch.batch.num_rows:
                return
        writers.write_changes(batch)
        self._sums.sums.of(name).written += batch.batch.num_rows

    def _forget_tables(self) -> None:
        self._decoder.forget_tables()
        if self._state.row_filter is not None:
            self._state.row_filter.forget_tables()

    def _warn(self) -> None:
        """Tell of what the scan has met and nobody can decode."""
        warnings = self._decoder.report.warnings
        totals = self._scan.totals()
        if incidents := totals.events.get(EventType.INCIDENT, 0):
            places = "1 place" if incidents == 1 else f"{incidents} places"
            warnings[f"the server says in {places} that changes are missing in its log (INCIDENT)"] = None
        for name, events in self._scan.uncounted().items():
            self._sums.sums.of(name).uncounted = events
            warnings[
                f"{'.'.join(name)}: {events} rows events are passed over and not counted, as a column has a"
                " type that binx does not know"
            ] = None
        for number, count in totals.unknown.items():
            warnings[
                f"{count} events of type {number}, which binx does not know, are marked as ignorable and"
                " were passed over"
            ] = None


__all__ = ["SourceExport"]
