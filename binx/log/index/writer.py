"""Writes index files: Parquet with one row a transaction, and what is known of the log as a whole."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from binx import __version__
from binx.kernels.crc32 import checksum
from binx.kernels.transactions.index_tables import COLUMN_NAMES, COUNT_COLUMNS, join, sources_of
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.file import BinlogFile
from binx.log.index.file import FACTS_KEY
from binx.log.index.log_facts import IndexFacts, RowGroup, encode_facts, log_checksums, values_checksum
from binx.log.index.transactions import TransactionRows, index_schema
from binx.log.scan import Scan
from binx.log.scanning import ENDINGS
from binx.storage.output import Sink
from binx.storage.store import open_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

GROUP_ROWS = 32_768
"""Transactions from which on a row group is large enough."""

_WORDS = (
    "kind",
    "how",
    "file",
    "commit_time_source",
    "tables.list.element.db",
    "tables.list.element.table",
)
_TEXTS = ("transaction", "gtid")
_PRUNED = ("commit_version", "server_id", "start", "end", "commit_timestamp")
"""Whose least and largest values readers of Parquet pass over row groups by."""

_TIME = pa.timestamp("us", tz="UTC")
_COMPRESSION_LEVEL = 1


class IndexReport(NamedTuple):
    """What an index file holds.

    Attributes:
        transactions: how many.
        bytes: its size.
        unfinished: bytes of the log, behind its last whole transaction, that it says nothing of.
    """

    transactions: int
    bytes: int
    unfinished: int


def write_index(file: BinlogFile, path: str, *, verify: bool = True) -> IndexReport:
    """Write a log's index file; it appears when it is whole.

    Args:
        file: the log.
        path: where to, see :func:`binx.log.index.lookup.index_path`.
        verify: whether the checksums of all events are compared.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end; nothing was written.
        OutputError: the index file cannot be written.
    """
    with open_file(path) as stream:
        transactions, unfinished = write_index_to(file, stream, verify=verify)
    return IndexReport(transactions, stream.bytes_written, unfinished)


def write_index_to(file: BinlogFile, sink: Sink, *, verify: bool = True) -> tuple[int, int]:
    """Read a log once, and write its index file into a sink; memory holds one row group.

    Returns:
        How many transactions it has; how many bytes of the log it says nothing of.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end.
        OutputError: the sink does not take what is written.
    """
    scan = file.scan(Level.LEVEL_TABLES, verify=verify)
    data = _ChecksumFile(sink)
    groups: list[RowGroup] = []
    formats: list[int] = []
    sources: list[bytes] = []
    seqno = 1
    schema = index_schema(records=True)
    numbers = [name for name in schema.names if schema.field(name).type in (pa.int64(), _TIME)]
    with pq.ParquetWriter(
        pa.PythonFile(data, mode="w"),
        schema,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        write_statistics=list(_PRUNED),
        use_dictionary=list(_WORDS),
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED")
        | dict.fromkeys(_TEXTS, "DELTA_BYTE_ARRAY"),
    ) as writer:
        for table in _row_groups(scan):
            rows = TransactionRows(file, scan, table, int(file.format.at_startup), seqno)
            writer.write_batch(rows.batch(records=True), row_group_size=len(table))
            position = table.format.position
            if position not in formats:
                formats.append(position)
            start, end = table.value("start", 0), table.value("end", len(table) - 1)
            groups.append(RowGroup(len(table), formats.index(position), start, end, _checksum(rows)))
            sources = sources_of(table)
            seqno += len(table)
        facts = _facts(file, scan, tuple(sources), tuple(formats), tuple(groups))
        facts = facts._replace(data_bytes=data.written, data=data.crc)
        writer.add_key_value_metadata({FACTS_KEY.decode(): encode_facts(facts), "binx.version": __version__})
    return seqno - 1, scan.unfinished


def _checksum(rows: TransactionRows) -> int:
    """CRC32 of what the records of a row group are made of, as whoever reads them computes it."""
    numbers = [*map(rows.numbers, COLUMN_NAMES), *map(rows.counts, range(COUNT_COLUMNS))]
    return values_checksum(column.buffers()[1] for column in numbers)


def _facts(
    file: BinlogFile,
    scan: Scan,
    sources: tuple[bytes, ...],
    formats: tuple[int, ...],
    groups: tuple[RowGroup, ...],
) -> IndexFacts:
    totals = scan.totals()
    head, tail_bytes, tail = log_checksums(file)
    return IndexFacts(
        size=file.size,
        covered=scan.accounted,
        ending=ENDINGS.index(scan.ending) if scan.ending is not None else 0,
        head=head,
        tail_bytes=tail_bytes,
        tail=tail,
        data_bytes=0,
        data=0,
        sources=sources,
        tables=tuple(scan.table_keys()),
        maps=tuple(scan.table_maps()),
        formats=formats,
        controls=tuple(scan.control_events),
        totals=tuple(
            (number, totals.events.get(number, 0), totals.bytes.get(number, 0), totals.inner.get(number, 0))
            for number in sorted(totals.events.keys() | totals.inner.keys())
        ),
        groups=groups,
    )


def _row_groups(scan: Scan) -> Iterator[TransactionTable]:
    """The tables of a scan, small ones of one format joined."""
    held: TransactionTable | None = None
    for table in scan:
        if held is None:
            held = table
        elif held.format == table.format:
            join(held, table)
        else:
            yield held
            held = table
        if len(held) >= GROUP_ROWS:
            yield held
            held = None
    if held is not None:
        yield held


class _ChecksumFile(io.RawIOBase):
    """A sink as pyarrow writes files, with the checksum of what it was given.

    Attributes:
        written: bytes.
        crc: CRC32 of these.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self.written = 0
        self.crc = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Bytes written so far."""
        return self.written

    def write(self, data: Buffer, /) -> int:
        """Write all bytes."""
        size = memoryview(data).nbytes
        self._sink.write(data)
        self.crc = checksum(data, self.crc)
        self.written += size
        return size


__all__ = ["GROUP_ROWS", "IndexReport", "write_index", "write_index_to"]
