"""One binary log on its way into a data set: decoded, counted, handed over to be written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from binx.dataset.chain import ChainState, Staged, source_name
from binx.dataset.dataset import DataSet, Transaction
from binx.dataset.finder import Finder, Found, Salvaging, damage_sentences
from binx.dataset.manifest import CONTRACT, Counted, LogReport, manifest, source_record
from binx.dataset.options import ParquetOptions, StatementTexts
from binx.dataset.personal.rows import Masks
from binx.dataset.personal.statements import scrub
from binx.dataset.schema_records import Behind, behind_record, schema_record_of
from binx.dataset.source_files import Background, SourceFiles
from binx.event.payload import KeptPayloads
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.scanning import OnDamage
from binx.log.selection.selection import Selector
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import TAKE, ChangeDecoder
from binx.rows.following import DecodingCheck, follow_statements, has_unnamed_columns
from binx.rows.statements import Statement
from binx.source import READ_BYTES

if TYPE_CHECKING:
    from binx.log.scanning import Ending


class LogDigest:
    """The SHA-256 of a log's bytes, taken as a scan reads them, while they are in the processor's cache."""

    def __init__(self, file: BinlogFile) -> None:
        self._source = file.source
        self._digest = hashlib.sha256()
        self._done = 0

    def saw(self, start: int, window: memoryview) -> None:
        """Take in bytes of the log that were read; those that were not and stand before them are read."""
        if start + len(window) > self._done:
            self._read(start)
            self._update(window[self._done - start :])

    def hexdigest(self) -> str:
        """Read what was not seen; gives the digest."""
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
    """One log on its way into a data set.

    Args:
        selector: the search for the wanted transactions; it tells afterwards what was not found.
        catalog: tables known beforehand; it is moved on.
        state: where in the chain the log stands; it is moved on.
        has_thread: whether files are written by a thread beside the one that decodes.
    """

    def __init__(
        self,
        file: BinlogFile,
        dataset: DataSet,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
        *,
        has_thread: bool = False,
    ) -> None:
        self.file = file
        self.source = source_name(file)
        self._dataset = dataset
        self._selector = selector
        self._catalog = catalog
        self._options = options
        self._state = state
        self._has_thread = has_thread
        self._files: SourceFiles | None = None
        self._salvaging: Salvaging | None = None
        self._report = LogReport(file, selector.takes_table)
        self._ending: Ending | None = None
        self._behind: Behind | None = None
        self._masks = Masks(options.personal)
        scrub(catalog, options.personal)
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        state.epoch += file.format.at_startup
        self._digest = LogDigest(file)
        decoding = options.decoder._replace(texts=options.statements is not StatementTexts.NONE)
        self._decoder = ChangeDecoder(file, catalog, selector.takes_table, decoding)

    def find_kept(self) -> dict[str, Any] | None:
        """The manifest of before, where the same request wrote the log already."""
        known = None if self._options.force else self._dataset.manifest(self.source)
        return known if known is not None and self._is_same(known, self._digest.hexdigest()) else None

    def pass_over(self, progress: Callable[[int], None]) -> None:
        """Move catalog, chain and search on over a log that is written already."""
        state, decoder = self._state, self._decoder
        scan, salvaging = self._begin_scan()
        payloads = KeptPayloads(self._options.decoder.payload_bytes)
        scan.payloads = decoder.payloads = payloads
        for table in scan:
            mask = self._selector.mask(self.file, scan, table)
            if state.row_filter is not None:
                lost = salvaging.undecodable(table, bytearray(mask))
                state.row_filter.keep(self.file, table, mask, lost)
            state.seqno += len(table)
            follow_statements(decoder, table, salvaging.undecodable)
            payloads.clear()
            progress(scan.position)
        if state.row_filter is not None:
            # The manifest that is kept has them.
            state.row_filter.take_warnings()
        salvaging.forget_behind_damage()

    def write(self, transaction: Transaction, progress: Callable[[int], None]) -> None:
        """Decode the log, and have its files written."""
        decoder = self._decoder
        background = Background(self._options.decoder.memory // 2, has_thread=self._has_thread)
        files = self._files = SourceFiles(transaction, self._options, background)
        scan, salvaging = self._begin_scan()
        scan.watch = self._digest.saw
        payloads = decoder.payloads = KeptPayloads(self._options.decoder.payload_bytes)
        finder = Finder(scan, self._selector, self._state, salvaging, payloads)
        for found in finder:
            if (group := finder.take_group()) is not None:
                files.write_transactions(group)
            self._take(found, files)
            progress(scan.position)
        self.file.source.release(0, self.file.size)
        salvaging.forget_behind_damage()
        if (group := finder.take_group(is_last=True)) is not None:
            files.write_transactions(group)
        files.end_files(self._masks.tables(decoder.tables))
        for batch in decoder.finish():
            self._take_batch(batch, files)
        files.close()
        self._report.gtids = finder.gtids
        self._report.sums.statements_left_out = finder.statements_left_out
        self._report.take_scan(scan)
        self._ending = scan.ending
        self._tell_tables()
        scrub(self._catalog, self._options.personal)
        self._behind = Behind(self.file.name, self._catalog.copy(), self._state.epoch, self._state.seqno)

    def staged(self) -> Staged:
        """Wait for the files that were written."""
        if self._files is None:
            raise ValueError(f"{self.source} is not decoded")
        report = self._report
        files = self._files.finish(report.records)
        report.sums.check(self.file.path)
        report.count_uncounted()
        damage = [] if self._salvaging is None else self._salvaging.damage()
        ending = "" if self._ending is None else self._ending.value
        behind = behind_record(self._behind, self.file, self._ending, self._options.personal)
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), ending),
            self._request,
            str(report.gtids),
            report.sums,
            files,
            report.all_losses() + damage_sentences(damage),
            report.all_warnings(),
            damage,
            behind.record,
        )
        records = (record() for record in report.records.values())
        return Staged(document, tuple(self._files.listed), records, behind.tables)

    def close(self) -> None:
        """Let go of what was written and is not staged; nothing more is written."""
        if self._files is not None:
            self._files.abandon()

    def _is_same(self, known: dict[str, Any], sha256: str) -> bool:
        return (
            known["contract"] == CONTRACT
            and known["source"]["sha256"] == sha256
            and known.get("request") == self._request
        )

    def _begin_scan(self) -> tuple[Scan, Salvaging]:
        """A scan of all that is in the log, and what sorts out that which cannot be decoded."""
        file, options = self.file, self._options
        scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=options.on_damage)
        check = None
        if options.on_damage is OnDamage.SALVAGE:
            check = DecodingCheck(file, self._catalog.copy(), self._selector.takes_table, options.decoder)
        self._salvaging = Salvaging(scan, check, self._forget_tables)
        return scan, self._salvaging

    def _take(self, found: Found, files: SourceFiles) -> None:
        """Decode transactions, and hand the rows over to be written."""
        if found.span is not None:
            self._report.sums.saw(*found.span)
        self._report.take_counted(found.counts)
        for item in self._decoder.decode(found.table, found.marks, found.ids):
            if isinstance(item, Statement):
                files.write_statement(item)
                self._report.take_statement(item)
            else:
                self._take_batch(item, files)
            # Else its memory would be held until the next batch is full.
            del item

    def _take_batch(self, batch: ChangeBatch, files: SourceFiles) -> None:
        name = (batch.table.db, batch.table.name)
        row_filter = self._state.row_filter
        if row_filter is not None:
            batch, dropped = row_filter.chosen(batch)
            self._report.filter_out(name, dropped)
            if not batch.rows:
                return
        files.write_changes(self._masks.batch(batch))
        self._report.sums.of(name).written += batch.rows

    def _tell_tables(self) -> None:
        """Keep what the decoder tells of tables, for the manifest."""
        report, decoded = self._report, self._decoder.report
        for name, images in decoded.filtered.items():
            report.sums.of(name).filtered += images
        for name, (events, recounted) in decoded.recounted.items():
            self._report.take_counted([Counted(name, TAKE, *recounted)])
            report.uncounted[name] -= events
        for name, counts in decoded.undone.items():
            self._report.filter_out(name, counts)
            report.undone[name] += sum(counts)
        report.warnings = dict(decoded.warnings)
        if self._state.row_filter is not None:
            report.warnings |= self._state.row_filter.take_warnings()
        report.warnings |= self._masks.unused
        report.losses += self._masks.told()
        for table in self._decoder.tables:
            changes = self._masks.table(table)
            version = (changes.db, changes.name, changes.version)
            if version not in report.records:
                report.records[version] = partial(schema_record_of, changes)
                if has_unnamed_columns(changes):
                    report.unnamed[changes.db, changes.name] = None
            for column, count in table.undecodable.items():
                report.undecodable[version, column] += count

    def _forget_tables(self) -> None:
        self._decoder.forget_tables()
        if self._state.row_filter is not None:
            self._state.row_filter.forget_tables()
