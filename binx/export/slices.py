"""A log's slices: decoded by several processes, and put together again by the one that found them."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet
from binx.export.finding import Finder, resumed, slice_behind
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.export.parquet_format.compression import compressor
from binx.export.parquet_output import Fragment
from binx.export.salvaging import Salvaging
from binx.export.slice_export import SliceExport
from binx.export.source_told import TableVersion, Told
from binx.export.staging import ChainState, source_name
from binx.export.workers import Workers
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.log.recent import windows_kept
from binx.log.scan import Resumption
from binx.log.scanning import Ending
from binx.log.selection import Selection, Selector
from binx.rows.catalog import Catalog
from binx.rows.resolving import ResolvedBefore


class Slice(NamedTuple):
    """Whole transactions that follow each other in one log, with all that is needed to decode them.

    Attributes:
        start: offset where it begins; no transaction is open there.
        stop: those that begin before it are in the slice; None for the log's end.
        format: the format description in force at the start.
        epoch: logs of the chain, up to this one, that a server began at its start.
        seqno: number of the first transaction.
        tables: the tables known at the start, pickled.
    """

    start: int
    stop: int | None
    format: FormatDescription
    epoch: int
    seqno: int
    tables: bytes


class WrittenSlice(NamedTuple):
    """A slice that is decoded and written.

    Attributes:
        told: what it has come to.
        fragments: its row groups, in the order in which their files were begun.
        found: the GTIDs asked for that are in it.
        notes: how positions were understood.
        ending: how the log ends; None where it goes on behind the slice.
        folder: where the fragments are; it is of no use without them.
    """

    told: Told
    fragments: list[Fragment]
    found: GtidSet
    notes: list[str]
    ending: Ending | None
    folder: Path


class SliceWriter:
    """Decodes and writes slices, in whichever process.

    Args:
        dataset: where to.
        files: the logs.
        selection: which transactions.
        options: how to write.
    """

    def __init__(
        self, dataset: DataSet, files: Sequence[BinlogFile], selection: Selection, options: ParquetOptions
    ) -> None:
        self._dataset = dataset
        self._files = files
        self._selection = selection
        self._options = options
        self._spare = options.decoder.spare()
        self._resolved = ResolvedBefore()
        self._tables: tuple[bytes, Catalog] | None = None
        self._told: defaultdict[int, dict[TableVersion, int]] = defaultdict(dict)
        # So that what compresses is loaded once, and not by each process.
        compressor(options.compression, options.level)

    def __call__(self, place: int, part: Slice) -> WrittenSlice:
        """Decode and write a slice of the log at a place.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        begin = Resumption(part.start, part.format, part.stop)
        state = ChainState(part.epoch, part.seqno)
        return self.write(place, begin, self._catalog(part.tables), state)[0]

    def write(
        self,
        place: int,
        begin: Resumption,
        catalog: Catalog,
        state: ChainState,
        watch: Callable[[int, memoryview], None] | None = None,
    ) -> tuple[WrittenSlice, Resumption | None]:
        """Decode and write a slice of the log at a place.

        Args:
            place: of the log.
            begin: where the slice begins and ends.
            catalog: the tables known there; it is moved on.
            state: where in the chain it stands; it is moved on.
            watch: is told of each window that is read.

        Returns:
            The slice, and the one behind it; None at the log's end.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        file, options = self._files[place], self._options
        selector = Selector(self._selection, [one.name for one in self._files], in_parts=True)
        transaction = self._dataset.attempt(source_name(file), f"slice-{begin.position}")
        with Workers(1, 0) as workers, resumed(file, begin):
            writers = SourceWriters(transaction, options, workers, fragments=True)
            decoded = SliceExport(
                file, selector, catalog, options, None, writers, self._spare, self._resolved
            )
            scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=OnDamage.STOP)
            scan.watch = watch
            salvaging = Salvaging(scan, None, decoded.decoder.forget_tables)
            finder = Finder(scan, selector, state, salvaging, None, options.decoder.payload_bytes)
            with windows_kept(file, finder.walked):
                for found in finder:
                    decoded.take(found)
            # Who gets the slices has records from those before.
            records, start = self._told[place], begin.position
            told = decoded.end(
                finder.rest(), {version for version, first in records.items() if first < start}
            )
            told.make_records()
            records.update(dict.fromkeys(told.records, start))
            told.gtids = finder.gtids
            told.take_scan(scan)
            written = WrittenSlice(
                told, writers.fragments(), selector.found, selector.notes, scan.ending, transaction.folder
            )
            return written, slice_behind(scan)

    def _catalog(self, pickled: bytes) -> Catalog:
        """Tables that came with a slice, to be moved on: the same definitions where they are as before."""
        if self._tables is None or self._tables[0] != pickled:
            self._tables = pickled, pickle.loads(pickled)
        return self._tables[1].copy()


__all__ = ["Slice", "SliceWriter", "WrittenSlice"]
