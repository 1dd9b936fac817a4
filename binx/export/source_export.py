"""One binary log on its way into a data set: decoded, counted, handed over to be written."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from binx.event.payload import KeptPayloads
from binx.export.contract import CONTRACT
from binx.export.dataset import DataSet, Transaction
from binx.export.digest import LogDigest
from binx.export.finding import Finder
from binx.export.manifest import manifest, source_record
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.export.salvaging import Salvaging, damage_sentences
from binx.export.slice_export import SliceExport
from binx.export.slices import Slice, WrittenSlice, find_slices
from binx.export.source_told import Told
from binx.export.staging import ChainState, SourceReport, Staged, commit_staged, source_name
from binx.export.workers import Lane, Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.recent import windows_kept
from binx.log.scanning import Ending
from binx.log.selection import Selector
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
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
        self._told = Told()
        self._ending: Ending | None = None
        self._slice_folders: list[Path] = []
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        state.epoch += file.format.at_startup
        self._scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=options.on_damage)
        self._digest = LogDigest(file, workers.lane())
        self._scan.watch = self._digest.saw
        self._catalog = catalog
        self._spare = options.decoder.spare()
        self._decoder = ChangeDecoder(file, catalog, selector.takes_table, options.decoder)
        salvages = options.on_damage is OnDamage.SALVAGE
        check = (
            DecodingCheck(file, catalog.copy(), selector.takes_table, options.decoder) if salvages else None
        )
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
        writers = self._begin_writing(transaction)
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
        self._told.gtids = finder.gtids
        self._told.take_scan(self._scan)
        self._ending = self._scan.ending
        writers.close()

    def slices(self, transaction: Transaction, awaited: int) -> Iterator[Slice]:
        """Begin to write what others decode; gives the slices to be decoded, as they are found.

        Args:
            transaction: where to.
            awaited: for how many of them somebody waits, so that they are found as soon as can be.

        Raises:
            BinxError: as :func:`to_parquet`, of what stands behind the last slice.
        """
        self._begin_writing(transaction)
        self._digest.waits = not awaited
        for number, part in enumerate(
            find_slices(self.file, self._catalog, self._state, self._digest.saw), start=1
        ):
            self._digest.waits = number >= awaited
            yield part

    def take_slice(self, written: WrittenSlice) -> None:
        """Take in the next slice.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        if self._writers is None:
            raise ValueError(f"nobody asked for slices of {self.source}")
        self._slice_folders.append(written.folder)
        self._told.add(written.told)
        self._selector.take_found(written.found)
        self._selector.notes.extend(written.notes)
        for fragment in written.fragments:
            self._writers.append(fragment)
        self._writers.end_slice()
        if written.ending is not None:
            self._ending = written.ending
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
            self._remove_slices()
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
        if self._writers is None:
            raise ValueError(f"{self.source} is not decoded")
        told = self._told
        files = self._writers.finish(told.records)
        told.sums.check(self.file.path)
        told.count_uncounted()
        damage = self._salvaging.damage()
        ending = "" if self._ending is None else self._ending.value
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), ending),
            self._request,
            str(told.gtids),
            told.sums,
            files,
            told.all_losses() + damage_sentences(damage),
            told.all_warnings(),
            damage,
        )
        return Staged(document, tuple(self._writers.listed), (record() for record in told.records.values()))

    def abandon(self) -> None:
        """Remove what was staged."""
        if self._finder is not None:
            self._finder.stop()
        self._digest.drop()
        if self._writers is not None:
            self._writers.abandon()
        self._remove_slices()
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

    def _lane_ahead(self) -> Lane | None:
        """Where transactions are found ahead; None where finding them needs what was decoded before."""
        is_alone = self._salvaging.is_wanted or self._state.row_filter is not None
        if is_alone or self._workers.jobs == 1 or not isinstance(self.file.source, PlainFile):
            return None
        return self._workers.lane()

    def _remove_slices(self) -> None:
        for folder in self._slice_folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _begin_writing(self, transaction: Transaction) -> SourceWriters:
        self._transaction = transaction
        self._writers = SourceWriters(transaction, self._options, self._workers)
        return self._writers

    def _decode(self, finder: Finder, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        """Decode slice by slice."""
        part = self._begin_slice(writers)
        for found in finder:
            if found.begins_slice:
                self._told.add(part.end(found.ended, self._told.records))
                part = self._begin_slice(writers)
            part.take(found)
            progress(found.position)
        self._salvaging.forget_behind_damage()
        self._told.add(part.end(finder.rest(), self._told.records))

    def _begin_slice(self, writers: SourceWriters) -> SliceExport:
        row_filter = self._state.row_filter
        part = SliceExport(
            self.file, self._selector, self._catalog, self._options, row_filter, writers, self._spare
        )
        self._decoder = part.decoder
        return part

    def _forget_tables(self) -> None:
        self._decoder.forget_tables()
        if self._state.row_filter is not None:
            self._state.row_filter.forget_tables()


__all__ = ["SourceExport"]
