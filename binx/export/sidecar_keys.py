"""Bloom filters over the primary keys that the transactions of an index file's block have changed.

A filter says of a key that none of its table's rows in the block has it, or that one may. So it has to hold
every key that any row image can be known by; where that is in doubt, as for a table without a known key, a
table whose key is another one than before, or an image that has a part of its key only, there is no filter,
and the block has to be read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.kernels.bloom import BASIS, hash_column, make_filter
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.key_texts import column_texts
from binx.log.scanning import TransactionScan
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import ChangeDecoder, DecoderOptions
from binx.rows.marks import TAKE

BITS_A_KEY = 10
HASHES = 7
"""With ten bits for each key and seven of them set, one key in 120 that is not there seems to be."""

KEYS_MAXIMUM = 4 * 1024 * 1024
"""Keys of a table in a block from which on a filter would be too large to be worth it."""

_POSTIMAGE = "update_postimage"


class TableFilter(NamedTuple):
    """A filter that was made.

    Attributes:
        table: the table's number.
        keys: how many distinct keys it holds.
        bits: the filter.
    """

    table: int
    keys: int
    bits: bytes


class KeyFilters:
    """Makes the filters of one log, block by block.

    Args:
        file: the log.
        catalog: the tables known beforehand; moved on by the log's schema statements.

    Attributes:
        columns: the names of the key's columns of each table that has filters, by the table's number.
    """

    def __init__(self, file: BinlogFile, catalog: Catalog) -> None:
        self.columns: dict[int, tuple[str, ...]] = {}
        self._file = file
        self._catalog = catalog
        self._numbers: dict[tuple[str, str], int] = {}

    def of_block(self, scan: TransactionScan, table: TransactionTable) -> Iterator[TableFilter]:
        """The filters of a block, table by table.

        Args:
            scan: the scan that gave the transactions.
            table: the block's transactions.

        Raises:
            DamagedError, UnsupportedError: a row cannot be decoded.
        """
        for number in range(len(self._numbers), scan.table_count):
            self._numbers[scan.table_name(number)] = number
        hashes: dict[int, pa.Array | None] = {}
        # Also of what was undone or rolled back, so that no row that anyone decodes is missed.
        decoder = ChangeDecoder(self._file, self._catalog, options=DecoderOptions(undone=True))
        for item in decoder.decode(table, bytearray([TAKE]) * len(table)):
            if isinstance(item, ChangeBatch):
                self._add(item, hashes)
        for batch in decoder.finish():
            self._add(batch, hashes)
        for number, distinct in sorted(hashes.items()):
            if distinct is not None:
                size = max(len(distinct) * BITS_A_KEY // 8, 8)
                yield TableFilter(number, len(distinct), make_filter(_plain(distinct), size, HASHES))

    def _add(self, batch: ChangeBatch, hashes: dict[int, pa.Array | None]) -> None:
        """Take in a batch's keys; None stands for a table that gets no filter in this block."""
        number = self._numbers[batch.table.db, batch.table.name]
        if number in hashes and hashes[number] is None:
            return
        columns = batch.table.resolved.primary_key
        known = self.columns.setdefault(number, columns) if columns else ()
        found = _hashes(batch.batch, columns) if columns and columns == known else None
        before = hashes.get(number)
        if found is not None and before is not None:
            found = pc.unique(pa.concat_arrays([before, found]))
        if found is not None and len(found) > KEYS_MAXIMUM:
            found = None
        hashes[number] = found


def _hashes(batch: pa.RecordBatch, columns: tuple[str, ...]) -> pa.Array | None:
    """The distinct hashes of a batch's keys; None where some key cannot be told."""
    absent = [pc.is_null(batch.column(name)) for name in columns]
    some, every = absent[0], absent[0]
    for one in absent[1:]:
        some, every = pc.or_(some, one), pc.and_(every, one)
    if some.true_count:
        # An image after an update that has nothing of the key has the one of the image before it.
        after = pc.equal(batch.column("_change_type").cast(pa.string()), _POSTIMAGE)
        if pc.and_not(some, pc.and_(every, after)).true_count:
            return None
        batch = batch.filter(pc.invert(some))
    hashes = array("Q", [BASIS]) * batch.num_rows
    for name in columns:
        texts = column_texts(batch.column(name))
        if texts is None:
            return None
        # A copy without offset, whose buffers begin with the first value.
        texts = pa.concat_arrays([texts, texts.slice(0, 0)])
        if batch.num_rows:
            _, offsets, text = texts.buffers()
            hash_column(hashes, memoryview(offsets).cast("B")[: 4 * (len(texts) + 1)].cast("i"), _bytes(text))
    return pc.unique(pa.Array.from_buffers(pa.uint64(), len(hashes), [None, pa.py_buffer(hashes)]))


def _bytes(buffer: pa.Buffer | None) -> memoryview:
    return memoryview(b"") if buffer is None else memoryview(buffer).cast("B")


def _plain(hashes: pa.Array) -> memoryview:
    """The numbers of an array of hashes."""
    whole = pa.concat_arrays([hashes, hashes.slice(0, 0)])
    return memoryview(whole.buffers()[1]).cast("B")[: 8 * len(whole)].cast("Q")


__all__ = ["BITS_A_KEY", "HASHES", "KeyFilters", "TableFilter"]
