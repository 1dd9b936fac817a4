"""Read a task's slices as batches that Spark accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa

from binx.dataset.statement_batches import STATEMENTS_BATCH, statements_batch
from binx.errors import BinxError
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.index.transactions import index_batch
from binx.log.scan import Scan
from binx.log.selection.selection import Selector, required_level
from binx.rows.batches import ChangeBatch
from binx.rows.columns.arrow_schema import cast_array, with_presence_of
from binx.rows.decoder import DecoderOptions
from binx.rows.logged_statements import Statement
from binx.rows.reading import Reading, no_table
from binx.spark.source.read_plan import Slice, keep_touching, opened
from binx.spark.source.request import ScanRequest, What


def read_slices(
    request: ScanRequest, slices: Iterable[Slice], target: pa.Schema, *, whole: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of slices."""
    # The bounds of slices already include positions and limit.
    selection = request.selection._replace(start=None, stop=None, limit=None)
    for part in slices:
        with opened(part, request) as file:
            reader = _SliceReader(request, part, file, Selector(selection, in_parts=True))
            for batch in reader.batches():
                yield fitted(batch, target, whole=whole)


class _SliceReader:
    """Reads one slice in batches."""

    def __init__(self, request: ScanRequest, part: Slice, file: BinlogFile, selector: Selector) -> None:
        self._request = request
        self._part = part
        self._file = file
        self._selector = selector

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in log order."""
        what = self._request.what
        if what is What.TRANSACTIONS:
            return self._transactions()
        return self._statements() if what is What.STATEMENTS else self._changes()

    def _scan(self, least: Level) -> Scan:
        level = max(required_level(self._selector.selection), least)
        return Scan(self._file, level, verify=self._request.verify)

    def _transactions(self) -> Iterator[pa.RecordBatch]:
        scan, seqno = self._scan(Level.LEVEL_TABLES), self._part.seqno
        for table in scan:
            mask = self._selector.mask(self._file, scan, table)
            batch = index_batch(self._file, scan, table, epoch=self._part.epoch, first_seqno=seqno)
            seqno += len(table)
            for first in range(0, batch.num_rows, self._request.batch_rows):
                piece = batch.slice(first, self._request.batch_rows)
                marks = pa.array(memoryview(mask)[first : first + piece.num_rows], pa.uint8())
                yield piece.filter(marks.cast(pa.bool_()))

    def _statements(self) -> Iterator[pa.RecordBatch]:
        scan, pending = self._scan(Level.LEVEL_TABLES), list[Statement]()
        decoder = Reading(self._part.catalog(), no_table).of(self._file)
        for table in scan:
            for item in decoder.decode(table, self._marks(scan, table)):
                if isinstance(item, Statement):
                    pending.append(item)
                if len(pending) >= min(STATEMENTS_BATCH, self._request.batch_rows):
                    yield statements_batch(pending)
                    pending = []
        if pending:
            yield statements_batch(pending)

    def _changes(self) -> Iterator[pa.RecordBatch]:
        request, scan = self._request, self._scan(Level.LEVEL_TABLES)
        wanted = partial(_is_table, request.table)
        options = DecoderOptions(row_group_rows=request.batch_rows)
        decoder = Reading(self._part.catalog(), wanted, options).of(self._file)
        for table in scan:
            for item in decoder.decode(table, self._marks(scan, table)):
                if isinstance(item, ChangeBatch):
                    yield item.batch
        for batch in decoder.finish():
            yield batch.batch

    def _marks(self, scan: Scan, table: TransactionTable) -> bytearray:
        """Return what to do with each transaction."""
        mask = self._selector.mask(self._file, scan, table)
        if self._request.what is What.CHANGES:
            keep_touching(scan, table, mask, self._request.table)
        table.mark_work(mask)
        return mask


def _is_table(wanted: tuple[str, str], db: str, name: str) -> bool:
    return (db, name) == wanted


def fitted(batch: pa.RecordBatch, target: pa.Schema, *, whole: bool = False) -> pa.RecordBatch:
    """Return a batch with the columns, order and types that Spark expects."""
    if whole and (extra := [name for name in batch.schema.names if target.get_field_index(name) < 0]):
        raise BinxError(
            f"the table has columns that were added after the query started: {', '.join(extra)};"
            " restart the query to include them, or give the wanted columns with .schema(...)"
        )
    batch = with_presence_of(batch, target)
    arrays = []
    for field in target:
        place = batch.schema.get_field_index(field.name)
        if place < 0:
            arrays.append(pa.nulls(batch.num_rows, field.type))
            continue
        try:
            arrays.append(_fitted(batch.column(place), field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise BinxError(
                f"column {field.name}, which is {batch.column(place).type}, cannot be read as {field.type}:"
                f" {error}"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _fitted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    both_nested = pa.types.is_nested(array.type) and pa.types.is_nested(wanted)
    return array.cast(wanted) if both_nested else cast_array(array, wanted)
