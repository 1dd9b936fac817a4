"""One binary log on its way into a data set: decoded, counted, handed over to be written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.event.payload import KeptPayloads
from binx.export import continuing
from binx.export.contract import CONTRACT
from binx.export.dataset import DataSet, Transaction
from binx.export.digest import LogDigest
from binx.export.finding import Finder
from binx.export.manifest import manifest, source_record
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.export.salvaging import Salvaging, damage_sentences
from binx.export.slice_export import SliceExport
from binx.export.source_told import Told
from binx.export.staging import ChainState, SourceReport, Staged, commit_staged, source_name
from binx.export.temporary_files import remove_folder
from binx.export.workers import Lane, Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.recent import windows_kept
from binx.log.scan import Scan
from binx.log.scanning import Ending
from binx.log.selection import Selector
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements
from binx.rows.resolving import ResolvedBefore
from binx.rows.undecodable import DecodingCheck
from binx.source.plain import PlainFile

if TYPE_CHECKING:
    from binx.export.slice_finder import SliceFinder
    from binx.export.slices import WrittenSlice


class ExportContext(NamedTuple):
    """What all sources of an export have in common.

    Attributes:
        dataset: where to.
        selector: the search for the wanted transactions; it tells afterwards what was not found.
        catalog: tables known beforehand; it is moved on.
        options: how to write.
        state: where in the chain the next source stands; it is moved on.
        workers: threads that encode, hash and write.
    """

    dataset: DataSet
    selector: Selector
    catalog: Catalog
    options: ParquetOptions
    state: ChainState
    workers: Workers


class SourceExport:
    """One source on its way into a data set.

    Args:
        context: the export.
        file: the source.
        is_sliced: whether slices of it are decoded side by side, and this puts together what was written.
        digest: of the source, where that was begun.
    """

    def __init__(
        self,
        context: ExportContext,
        file: BinlogFile,
        *,
        is_sliced: bool = False,
        digest: LogDigest | None = None,
    ) -> None:
        self.file = file
        self.source = source_name(file)
        self._context = context
        self._kept: dict[str, Any] | None = None
        self._transaction: Transaction | None = None
        self._writers: SourceWriters | None = None
        self._finder: Finder | None = None
        self._salvaging: Salvaging | None = None
        self._decoder: ChangeDecoder | None = None
        self._told = Told()
        self._ending: Ending | None = None
        self._behind: continuing.Behind | None = None
        self._slice_folders: list[Path] = []
        self._request = {
            **context.options.facts(),
            "selection": context.selector.selection.facts(),
            "known_tables": context.catalog.fingerprint(),
        }
        context.state.epoch += file.format.at_startup
        self._digest = digest or LogDigest(file, None if is_sliced else context.workers.lane())
        self._spare = context.options.decoder.spare()
        self._resolved = ResolvedBefore()

    def begin(self, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written; or see that the same request wrote them before.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        try:
            if self.find_kept():
                self.pass_over(progress)
            else:
                self.write(self._context.dataset.begin(self.source), progress)
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
        context = self._context
        known = None if context.options.force else context.dataset.manifest(self.source)
        if known is not None and self._is_same(known, self._digest.hexdigest()):
            self._kept = known
        return self._kept is not None

    def write(self, transaction: Transaction, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        context = self._context
        writers = self._begin_writing(transaction)
        scan, salvaging = self._begin_scan()
        scan.watch = self._digest.saw
        finder = self._finder = Finder(
            scan,
            context.selector,
            context.state,
            salvaging,
            self._lane_ahead(),
            context.options.decoder.payload_bytes,
        )
        with windows_kept(self.file, finder.walked):
            try:
                self._decode(finder, salvaging, writers, progress)
            finally:
                finder.stop()
        self._told.gtids = finder.gtids
        self._told.take_scan(scan)
        self._ending = scan.ending
        self.saw_end()
        writers.close()

    def begin_slices(self, transaction: Transaction) -> SliceFinder:
        """Begin to put together what is decoded slice by slice; gives what finds the slices.

        Args:
            transaction: where to.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        # Here and not above: most logs are not cut into slices.
        from binx.export.slice_finder import SliceFinder

        self._begin_writing(transaction)
        context = self._context
        return SliceFinder(self.file, context.catalog, context.state, self._digest.saw)

    def hash_later(self, later: bool) -> None:
        """Whether what is read now is hashed later, and read once more for that, as somebody waits."""
        self._digest.passes = later

    def saw_end(self) -> None:
        """Keep what is known at the log's end: the next one is begun before this is committed."""
        context = self._context
        self._behind = continuing.Behind(
            self.file.name, context.catalog.copy(), context.state.epoch, context.state.seqno
        )

    def take_slice(self, written: WrittenSlice) -> None:
        """Take in the next slice.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        if self._writers is None:
            raise ValueError(f"nobody asked for slices of {self.source}")
        self._slice_folders.append(written.folder)
        self._told.add(written.told)
        self._context.selector.take_found(written.found)
        self._context.selector.notes.extend(written.notes)
        for fragment in written.fragments:
            self._writers.append(fragment, is_last=written.ending is not None)
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
        damage = [] if self._salvaging is None else self._salvaging.damage()
        ending = "" if self._ending is None else self._ending.value
        behind = continuing.told_behind(self._behind, self.file, self._ending)
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), ending),
            self._request,
            str(told.gtids),
            told.sums,
            files,
            told.all_losses() + damage_sentences(damage),
            told.all_warnings(),
            damage,
            behind.record,
        )
        records = (record() for record in told.records.values())
        return Staged(document, tuple(self._writers.listed), records, behind.tables)

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
        context, state = self._context, self._context.state
        scan, salvaging = self._begin_scan()
        decoder = self._decoder = ChangeDecoder(
            self.file, context.catalog, context.selector.takes_table, context.options.decoder
        )
        payloads = KeptPayloads(context.options.decoder.payload_bytes)
        scan.payloads = decoder.payloads = payloads
        for table in scan:
            mask = context.selector.mask(self.file, scan, table)
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

    def _begin_scan(self) -> tuple[Scan, Salvaging]:
        """A scan of all that is in the log, and what sorts out that which cannot be decoded."""
        context, file = self._context, self.file
        options = context.options
        scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=options.on_damage)
        check = None
        if options.on_damage is OnDamage.SALVAGE:
            check = DecodingCheck(file, context.catalog.copy(), context.selector.takes_table, options.decoder)
        self._salvaging = Salvaging(scan, check, self._forget_tables)
        return scan, self._salvaging

    def _lane_ahead(self) -> Lane | None:
        """Where transactions are found ahead; None where finding them needs what was decoded before."""
        context = self._context
        is_alone = context.options.on_damage is OnDamage.SALVAGE or context.state.row_filter is not None
        if is_alone or context.workers.jobs == 1 or not isinstance(self.file.source, PlainFile):
            return None
        return context.workers.lane()

    def _remove_slices(self) -> None:
        for folder in self._slice_folders:
            remove_folder(folder, ignore_errors=True)

    def _begin_writing(self, transaction: Transaction) -> SourceWriters:
        self._transaction = transaction
        self._writers = SourceWriters(transaction, self._context.options, self._context.workers)
        return self._writers

    def _decode(
        self,
        finder: Finder,
        salvaging: Salvaging,
        writers: SourceWriters,
        progress: Callable[[int], None],
    ) -> None:
        """Decode slice by slice."""
        part = self._begin_slice(writers)
        for found in finder:
            if found.begins_slice:
                self._told.add(part.end(found.ended, self._told.records))
                part = self._begin_slice(writers)
            part.take(found)
            progress(found.position)
        salvaging.forget_behind_damage()
        self._told.add(part.end(finder.rest(), self._told.records, is_last=True))

    def _begin_slice(self, writers: SourceWriters) -> SliceExport:
        context = self._context
        part = SliceExport(
            self.file,
            context.selector,
            context.catalog,
            context.options,
            context.state.row_filter,
            writers,
            self._spare,
            self._resolved,
        )
        self._decoder = part.decoder
        return part

    def _forget_tables(self) -> None:
        if self._decoder is not None:
            self._decoder.forget_tables()
        if self._context.state.row_filter is not None:
            self._context.state.row_filter.forget_tables()


__all__ = ["ExportContext", "SourceExport"]
