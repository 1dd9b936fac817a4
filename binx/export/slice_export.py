"""One slice of a log on its way into a data set: decoded, counted, handed over to be written.

A log is written slice by slice, and how one is written depends on nothing of the slices before but the tables
that were known, so that several can be decoded side by side.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import TYPE_CHECKING

from binx.export.decoder_warnings import has_unnamed_columns
from binx.export.finding import Found
from binx.export.index_rows import IndexGroup
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.export.schema_records import schema_record_of
from binx.export.source_sums import SourceSums
from binx.export.source_told import TableVersion, Told
from binx.kernels.memory import Spare
from binx.log.file import BinlogFile
from binx.log.selection import Selector
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.rows.resolving import ResolvedBefore
from binx.rows.statements import Statement

if TYPE_CHECKING:
    from binx.export.where_rows import RowFilter


class SliceExport:
    """Takes the transactions of one slice.

    Args:
        file: the log.
        selector: tells which tables' rows are wanted.
        catalog: the tables known at its beginning; it is moved on.
        options: how to write.
        row_filter: takes out row changes by what they hold; None for nothing.
        writers: where rows go.
        spare: memory of rows, shared with other slices of the log.
        resolved: what table maps were read as, shared with them too.

    Attributes:
        decoder: of its rows.
    """

    def __init__(
        self,
        file: BinlogFile,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        row_filter: RowFilter | None,
        writers: SourceWriters,
        spare: Spare | None = None,
        resolved: ResolvedBefore | None = None,
    ) -> None:
        self._told = Told()
        self._sums = SourceSums(file, selector.takes_table, self._told)
        self._row_filter = row_filter
        self._writers = writers
        self.decoder = ChangeDecoder(file, catalog, selector.takes_table, options.decoder, spare, resolved)

    def take(self, found: Found) -> None:
        """Decode transactions, and hand the rows over to be written.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        decoder, writers = self.decoder, self._writers
        self._take_group(found.group)
        if found.span is not None:
            self._told.sums.saw(*found.span)
        self._sums.take_counted(found.counts)
        decoder.payloads = found.payloads
        for item in decoder.decode(found.table, found.marks, found.ids):
            if isinstance(item, Statement):
                writers.write_statement(item)
                self._sums.take_statement(item)
            else:
                self._take_batch(item)
            # Else its memory would be held until the next batch is full.
            del item

    def end(
        self, group: IndexGroup | None, known: Container[TableVersion] = (), *, is_last: bool = False
    ) -> Told:
        """Hand over what is held back; gives what the slice has come to.

        Args:
            group: the last row group of its transactions.
            known: tables whose records are not wanted.
            is_last: whether no other slice comes behind it, of which rows would go to the same files.

        Raises:
            BinxError: as :func:`~binx.export.parquet.to_parquet`.
        """
        decoder, told = self.decoder, self._told
        self._take_group(group)
        if is_last:
            self._writers.end_files(decoder.tables)
        for batch in decoder.finish():
            self._take_batch(batch)
        self._writers.end_slice()
        for name, images in decoder.report.filtered.items():
            told.sums.of(name).filtered += images
        for name, counts in decoder.report.undone.items():
            self._sums.filter_out(name, counts)
            told.undone[name] += sum(counts)
        told.warnings = decoder.report.warnings
        if self._row_filter is not None:
            told.warnings = told.warnings | self._row_filter.take_warnings()
        told.shapes = decoder.shapes
        for changes in decoder.tables:
            version = (changes.db, changes.name, changes.version)
            if version not in known and version not in told.records:
                told.records[version] = partial(schema_record_of, changes)
                if has_unnamed_columns(changes):
                    told.unnamed[changes.db, changes.name] = None
            for column, count in changes.undecodable.items():
                told.undecodable[version, column] += count
        return told

    def _take_group(self, group: IndexGroup | None) -> None:
        if group is not None:
            self._writers.write_transactions(group)

    def _take_batch(self, batch: ChangeBatch) -> None:
        name = (batch.table.db, batch.table.name)
        if self._row_filter is not None:
            batch, dropped = self._row_filter.chosen(batch)
            self._sums.filter_out(name, dropped)
            if not batch.rows:
                return
        self._writers.write_changes(batch)
        self._told.sums.of(name).written += batch.rows


__all__ = ["SliceExport"]
