"""Export one binary log: decode it, count its rows, and write its files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from binx.dataset.continuation import ChainState, before_record, behind_record
from binx.dataset.dataset import DataSet
from binx.dataset.finder import Finder, Salvaging, damage_sentences
from binx.dataset.manifest import LogReport, TableVersion, manifest, source_record
from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.personal.masked_rows import Masks
from binx.dataset.personal.masked_statements import scrub
from binx.dataset.predecessors import source_name
from binx.dataset.source_files import SourceFiles
from binx.dataset.transaction import SchemaRecord, Staged, StagedFiles, schema_record_of
from binx.errors import RefusedError
from binx.event.payload import PayloadCache
from binx.event.rows_events import UNFOLLOWED, RowsFlag, unmapped_rows
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.log.scanning import ENDINGS, OnDamage
from binx.log.selection.selection import Selector
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.logged_statements import Statement
from binx.rows.reading import DecodingCheck, Reading, guesses
from binx.source import READ_BYTES
from binx.sql.dialect import SqlDialect

if TYPE_CHECKING:
    from binx.where.matching_transactions import RowFilter


class LogDigest:
    """The SHA-256 of a log, computed as a scan reads it, while the bytes are in the CPU cache."""

    def __init__(self, file: BinlogFile) -> None:
        self._source = file.source
        self._digest = hashlib.sha256()
        self._done = 0

    def saw(self, start: int, window: memoryview) -> None:
        """Hash a window that was read. Bytes before it that were not read yet are read here."""
        if start + len(window) > self._done:
            self._read(start)
            self._update(window[self._done - start :])

    def hexdigest(self) -> str:
        """Read the bytes not seen yet, and return the digest."""
        self._read(self._source.size)
        return self._digest.hexdigest()

    def _read(self, stop: int) -> None:
        source = self._source
        while self._done < stop:
            start = self._done
            self._update(source.window(start, min(start + READ_BYTES, stop)))
            source.release(start, self._done)

    def _update(self, data: memoryview) -> None:
        self._digest.update(data)
        self._done += len(data)


class LogExport:
    """The export of one log.

    Args:
        selector: selects transactions; afterwards it reports what was not found.
        catalog: the tables known beforehand; updated.
        state: the log's position in the chain; advanced.
        row_filter: removes transactions and row changes by their rows, or None.
    """

    def __init__(
        self,
        file: BinlogFile,
        dataset: DataSet,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
        row_filter: RowFilter | None,
    ) -> None:
        self.file = file
        self.source = source_name(file)
        self._dataset = dataset
        self._selector = selector
        self._catalog = catalog
        self._options = options
        self._state = state
        self._row_filter = row_filter
        self._report = LogReport(file, selector.takes_table)
        self._records: dict[TableVersion, SchemaRecord] = {}
        self._masks = Masks(options.personal)
        self._masks.take_definitions(catalog)
        scrub(catalog, options.personal)
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        self._before = ChainState(state.epoch, state.seqno, is_given=state.is_given)
        state.epoch += file.format.at_startup
        self._digest = LogDigest(file)
        decoding = options.decoder._replace(texts=options.statements is not StatementTexts.NONE)
        self._reading = Reading(catalog, selector.takes_table, decoding)
        self._decoder = self._reading.of(file)
        self._dialect = SqlDialect.of(file.format)

    def find_existing(self) -> dict[str, Any] | None:
        """Return the existing manifest, if the same request has already exported the log.

        Raises:
            RefusedError: the data set has transactions from after the end of this copy of the log.
        """
        existing = None if self._options.force else self._dataset.manifest(self.source)
        if existing is None:
            return None
        last = existing.get("last_commit_version")
        start = -1 if last is None else last - self.file.commit_version(0)
        if start >= self.file.size:
            raise RefusedError(
                f"it has {self.file.size:,} bytes, and the data set has a transaction of this log that begins"
                f" at {start:,}: copy the log again, it may have been cut; --force replaces what the"
                " data set has",
                path=self.file.path,
            )
        # How much memory there was is no reason to export the log again.
        if {**existing["request"], "memory": self._request["memory"]} != self._request:
            return None
        return existing if existing["source"]["sha256"] == self._digest.hexdigest() else None

    def pass_over(self, progress: Callable[[int], None]) -> None:
        """Advance catalog, chain state and selector over a log that is already exported."""
        state, row_filter = self._state, self._row_filter
        scan, salvaging, payloads = self._begin_scan()
        scan.payloads = payloads
        for table in scan:
            mask = self._selector.mask(self.file, scan, table)
            if row_filter is not None:
                row_filter.keep(self.file, table, mask, salvaging.undecodable(table, bytearray(mask)))
            state.seqno += len(table)
            self._reading.follow(self.file, table, salvaging.undecodable)
            payloads.clear()
            progress(scan.position)
        if row_filter is not None:
            # The existing manifest has them.
            row_filter.take_warnings()
        salvaging.forget_after_damage()

    def write(self, transaction: StagedFiles, progress: Callable[[int], None], *, has_thread: bool) -> Staged:
        """Decode the log and write its files.

        Args:
            has_thread: whether a separate thread writes the files.
        """
        files = SourceFiles(transaction, self._options, has_thread=has_thread)
        try:
            return self._write_files(files, progress)
        finally:
            files.abandon()

    def _write_files(self, files: SourceFiles, progress: Callable[[int], None]) -> Staged:
        decoder, report, rules = self._decoder, self._report, self._options.personal
        before, tables_before = before_record(self._catalog, self._before, rules)
        scan, salvaging, payloads = self._begin_scan()
        scan.watch = self._digest.saw
        finder = Finder(scan, self._selector, self._state, salvaging, payloads, report, self._row_filter)
        for table, marks, ids in finder:
            if (group := finder.take_group()) is not None:
                files.write_transactions(group)
            for item in decoder.decode(table, marks, ids):
                if isinstance(item, Statement):
                    files.write_statement(item)
                    report.take_statement(item)
                else:
                    self._take_batch(item, files)
                # Otherwise its memory is held until the next batch is full.
                del item
            progress(scan.position)
        self.file.source.release(0, self.file.size)
        salvaging.forget_after_damage()
        if (group := finder.take_group(is_last=True)) is not None:
            files.write_transactions(group)
        files.end_files(map(self._masks.table, decoder.tables))
        for batch in decoder.finish():
            self._take_batch(batch, files)
        files.close()
        report.take_ends(scan, decoder.report)
        report.losses += unmapped_rows(decoder.unmapped)
        self._take_tables()
        self._masks.take_definitions(self._catalog)
        scrub(self._catalog, rules)
        behind, tables = None, None
        if scan.ending in ENDINGS:
            behind, tables = behind_record(self.file, self._catalog, self._state, rules)
        entries, written = files.finish(self._records)
        report.sums.check(self.file.path)
        damage = salvaging.damage()
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), scan.ending),
            self._request,
            report.sums,
            entries,
            gtid_set=str(finder.gtids),
            gtids_left_out=str(finder.left_out),
            losses=report.all_losses() + damage_sentences(damage),
            warnings=report.all_warnings(),
            damage=damage,
            before=before,
            behind=behind,
            rules=self._masks.facts(),
        )
        records = [record for record in (tables_before, tables) if record is not None]
        return Staged(document, written, tuple(self._records.values()), records)

    def _begin_scan(self) -> tuple[Scan, Salvaging, PayloadCache]:
        """Return a scan of the whole log, its salvaging, and the cache of decompressed payloads."""
        file, options = self.file, self._options
        scan = Scan(
            file,
            Level.LEVEL_TABLES,
            verify=options.verify,
            on_damage=options.on_damage,
            texts=self._selector.selection.texts,
        )
        check = None
        if options.on_damage is OnDamage.SALVAGE:
            check = DecodingCheck(file, self._catalog.copy(), self._selector.takes_table, options.decoder)
        payloads = self._decoder.payloads = PayloadCache(options.decoder.payload_bytes)
        return scan, Salvaging(scan, check, self._forget_tables), payloads

    def _take_batch(self, batch: ChangeBatch, files: SourceFiles) -> None:
        name = (batch.table.db, batch.table.name)
        sums = self._report.sums.tables[name]
        if batch.rows_flags is not None:
            flags = np.asarray(batch.rows_flags)
            sums.cascades_unlogged |= bool((flags & UNFOLLOWED == 0).any())
            self._report.replaced[name] += int(np.count_nonzero(flags & RowsFlag.REPLACED))
        if self._row_filter is not None:
            batch, dropped = self._row_filter.chosen(batch)
            self._report.filter_out(name, dropped)
            if not batch.rows:
                return
        if not self._options.decoder.arrow.exact_values:
            sums.typed_documents += batch.typed_documents
        files.write_changes(self._masks.batch(batch))
        sums.written += batch.rows

    def _take_tables(self) -> None:
        """Collect what decoder, filter and masks report about tables, for the manifest."""
        report = self._report
        if self._row_filter is not None:
            report.warnings |= self._row_filter.take_warnings()
        report.warnings |= self._masks.warnings
        report.losses += self._masks.losses()
        report.warnings |= dict.fromkeys(guesses(map(self._masks.table, self._decoder.tables)))
        for table in self._decoder.tables:
            changes = self._masks.table(table)
            version = (changes.db, changes.name, changes.version)
            if version not in self._records:
                self._records[version] = schema_record_of(changes, self._dialect)
            for column, count in table.undecodable.items():
                report.undecodable[version, column] += count

    def _forget_tables(self) -> None:
        self._decoder.forget_tables()
        if self._row_filter is not None:
            self._row_filter.forget_tables()
