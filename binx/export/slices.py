"""A log's slices: found by one process, decoded by others, and put together again by the first."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from binx.event.format import FormatDescription
from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet
from binx.export.finding import SLICE_BYTES, STEP_BYTES, Finder, slice_end
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.export.parquet_format.compression import compressor
from binx.export.parquet_output import Fragment
from binx.export.salvaging import Salvaging
from binx.export.slice_export import SliceExport
from binx.export.source_told import Told
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
from binx.rows.decoder import ChangeDecoder
from binx.rows.following import follow_statements
from binx.source.plain import PlainFile


@dataclass(frozen=True, slots=True)
class Slice:
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


@dataclass(frozen=True, slots=True)
class WrittenSlice:
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


def find_slices(
    file: BinlogFile, catalog: Catalog, state: ChainState, watch: Callable[[int, memoryview], None]
) -> Iterator[Slice]:
    """Give each slice of a log as soon as it is known where it begins; catalog and state are moved on.

    Only headers of events and statements are looked at.

    Args:
        file: the log.
        catalog: the tables known at its beginning.
        state: where in the chain it stands.
        watch: is told of each window that is read.

    Raises:
        BinxError: the log cannot be read on; whoever decodes the last slice may tell more.
    """
    size = file.size
    scan = file.scan(Level.LEVEL_EVENTS, verify=False, on_damage=OnDamage.STOP)
    scan.watch = watch
    scan.step, scan.slice_end = STEP_BYTES, partial(slice_end, size=size)
    decoder = ChangeDecoder(file, catalog, lambda database, table: False)
    tables = pickle.dumps(catalog)
    has_changed = False

    def begun() -> Slice:
        stop = slice_end(scan.position, size)
        return Slice(
            scan.position, stop if stop < size else None, scan.format, state.epoch, state.seqno, tables
        )

    last = begun()
    yield last
    for table in scan:
        state.seqno += len(table)
        has_changed |= follow_statements(decoder, table)
        if last.stop is not None and last.stop <= scan.accounted < size:
            if has_changed:
                tables = pickle.dumps(catalog)
                has_changed = False
            last = begun()
            yield last


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
        # So that what compresses is loaded once, and not by each process.
        compressor(options.compression, options.level)

    def __call__(self, place: int, part: Slice) -> WrittenSlice:
        """Decode and write a slice of the log at a place.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        file, options = self._files[place], self._options
        file.resumption = Resumption(part.start, part.format, part.stop)
        selector = Selector(self._selection, [one.name for one in self._files])
        catalog: Catalog = pickle.loads(part.tables)
        transaction = self._dataset.attempt(source_name(file), f"slice-{part.start}")
        with Workers(1, 0) as workers:
            writers = SourceWriters(transaction, options, workers, fragments=True)
            decoded = SliceExport(file, selector, catalog, options, None, writers, self._spare)
            scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=OnDamage.STOP)
            salvaging = Salvaging(scan, None, decoded.decoder.forget_tables)
            state = ChainState(part.epoch, part.seqno)
            finder = Finder(scan, selector, state, salvaging, None, options.decoder.payload_bytes)
            with windows_kept(file, finder.walked):
                for found in finder:
                    decoded.take(found)
            told = decoded.end(finder.rest())
            told.make_records()
            told.gtids = finder.gtids
            told.take_scan(scan)
            return WrittenSlice(
                told, writers.fragments(), selector.found, selector.notes, scan.ending, transaction.folder
            )


def can_be_sliced(files: Sequence[BinlogFile], selection: Selection, options: ParquetOptions) -> bool:
    """Whether slices of logs can be decoded side by side: nothing asks for one pass in order, and it pays."""
    return (
        sum(file.size for file in files) >= 2 * SLICE_BYTES
        and options.on_damage is OnDamage.STOP
        and options.where is None
        and selection.limit is None
        and all(isinstance(file.source, PlainFile) for file in files)
        and len({source_name(file) for file in files}) == len(files)
    )


__all__ = ["Slice", "SliceWriter", "WrittenSlice", "can_be_sliced", "find_slices"]
