"""The transaction index as Arrow: one row a transaction, as far as a scan's level tells.

Columns, order and names are those of the data set's ``transactions``. A value that the scan's level does not
know is null: ``rows`` and ``tables`` need ``LEVEL_TABLES``; ``events``, ``statements``, ``xid`` and
``thread_id`` are known at ``LEVEL_EVENTS``, and at ``LEVEL_INDEX`` only where the scan met them on its way.
Within compressed transactions only ``LEVEL_TABLES`` looks.

``xid`` is uint64 as it is logged, all other numbers fit int64 (``epoch``: int32); times are
timestamp(us, UTC).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.kernels.index_columns import IndexColumns
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.arrow import arrow_array
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_ids
from binx.log.index_words import INDEX_WORDS, TableNames
from binx.log.scanning import TransactionScan

if TYPE_CHECKING:
    from typing_extensions import Buffer

_TIME = pa.timestamp("us", tz="UTC")
_WORD = pa.dictionary(pa.int8(), pa.string())
_NAME = pa.dictionary(pa.int32(), pa.string())


@cache
def index_schema(*, dictionaries: bool = False) -> pa.Schema:
    """The schema of the transaction index and of the data set's ``transactions``.

    Args:
        dictionaries: whether words from a short list, and names of tables, are dictionaries, as the data set
            has them.
    """
    word = _WORD if dictionaries else pa.string()
    name = _NAME if dictionaries else pa.string()
    counts = [("db", name), ("table", name)]
    counts += [(name, pa.int64()) for name in ("inserts", "updates", "deletes")]
    return pa.schema(
        [
            ("commit_version", pa.int64()),
            ("transaction", pa.string()),
            ("gtid", pa.string()),
            ("xid", pa.uint64()),
            ("server_id", pa.int64()),
            ("epoch", pa.int32()),
            ("seqno", pa.int64()),
            ("kind", word),
            ("how", word),
            ("file", word),
            ("start", pa.int64()),
            ("end", pa.int64()),
            ("bytes", pa.int64()),
            ("uncompressed_bytes", pa.int64()),
            ("commit_timestamp", _TIME),
            ("commit_time_source", word),
            ("original_commit_timestamp", _TIME),
            ("begin_timestamp", _TIME),
            ("last_committed", pa.int64()),
            ("sequence_number", pa.int64()),
            ("thread_id", pa.int64()),
            ("events", pa.int64()),
            ("rows", pa.int64()),
            ("statements", pa.int64()),
            ("tables", pa.list_(pa.struct(counts))),
        ]
    )


def index_batch(
    file: BinlogFile,
    scan: TransactionScan,
    table: TransactionTable,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
) -> pa.RecordBatch:
    """One table of a scan's transactions as Arrow.

    Args:
        file: the log.
        scan: the scan that gave the table.
        table: the transactions.
        epoch: how many logs of the chain, up to this one, began with a server's start.
        first_seqno: the number in the chain of the table's first transaction; the others count on.

    Raises:
        UnsupportedError: a transaction begins behind 4 GiB, where no commit version can be given.
    """
    schema = index_schema()
    count = len(table)
    if count:
        # The last transaction stands behind all others.
        file.commit_version(table.value("start", count - 1))
    gathered = IndexColumns()
    gathered.add(table, None, transaction_ids(file, table), file.commit_version(0), first_seqno, epoch)
    names = TableNames.of(scan, gathered)
    columns, ids, elements = gathered.finish(names.database_numbers, names.table_numbers)
    made = {
        "transaction": _strings(count, ids),
        "gtid": _strings(count, ids, *columns["gtid"][:2]),
        "file": _words(_values(bytes(count), pa.int8()), [file.name]),
        "tables": _tables(columns["tables"][2], elements, names)
        if scan.level == Level.LEVEL_TABLES
        else pa.nulls(count, schema.field("tables").type),
    }
    for name, words in INDEX_WORDS.items():
        made[name] = _words(_values(columns[name][2], pa.int8()), words)
    for field in schema:
        if field.name not in made:
            bits, nulls, data = columns[field.name]
            made[field.name] = _values(data, field.type, bits, nulls)
    return pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)


def index_table(
    file: BinlogFile,
    scan: TransactionScan,
    tables: Iterable[TransactionTable] | None = None,
    *,
    epoch: int = 0,
    first_seqno: int = 0,
) -> pa.Table:
    """All transactions of a scan as Arrow.

    Args:
        file: the log.
        scan: a scan of it.
        tables: the tables that the scan gave; by default the scan is run.
        epoch: as for :func:`index_batch`.
        first_seqno: the number in the chain of the scan's first transaction.

    Raises:
        DamagedError, UnsupportedError: as the scan does.
    """
    batches = []
    seqno = first_seqno
    for table in scan if tables is None else tables:
        batches.append(index_batch(file, scan, table, epoch=epoch, first_seqno=seqno))
        seqno += len(table)
    return pa.Table.from_batches(batches, schema=index_schema())


def _tables(offsets: Buffer, elements: tuple[Buffer, ...], names: TableNames) -> pa.Array:
    """What each transaction did to which table."""
    db, name, *counts = elements
    type_ = index_schema().field("tables").type
    arrays = [
        _words(_values(db, pa.int32()), names.databases),
        _words(_values(name, pa.int32()), names.tables),
        *(_values(data, pa.int64()) for data in counts),
    ]
    struct = pa.StructArray.from_arrays(arrays, fields=list(type_.value_type))
    count = len(memoryview(offsets)) // 4 - 1
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(offsets)], 0, children=[struct])


def _words(places: pa.Array, words: Sequence[str]) -> pa.Array:
    """The words at these places of a list."""
    return pa.DictionaryArray.from_arrays(
        places, arrow_array(words, pa.string()), safe=False
    ).dictionary_decode()


def _values(data: Buffer, type_: pa.DataType, bits: bytes | None = None, nulls: int = 0) -> pa.Array:
    """Values of one width, taken over without a copy."""
    validity = None if bits is None else pa.py_buffer(bits)
    return pa.Array.from_buffers(
        type_, len(memoryview(data)) * 8 // type_.bit_width, [validity, pa.py_buffer(data)], nulls
    )


def _strings(count: int, ids: tuple[Buffer, Buffer], bits: bytes | None = None, nulls: int = 0) -> pa.Array:
    validity = None if bits is None else pa.py_buffer(bits)
    offsets, text = ids
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), count, buffers, nulls)


__all__ = ["index_batch", "index_schema", "index_table"]
