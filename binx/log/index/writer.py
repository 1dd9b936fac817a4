"""Write index files for logs that have no valid one.

They are Parquet with one row per transaction, and metadata about the log as a whole.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import BinxError, StaleError
from binx.kernels.crc32 import checksum
from binx.kernels.transactions.table import TransactionTable, join, sources_of
from binx.kernels.walk.scan import Level
from binx.log.arrow import ENCODED_ROWS
from binx.log.binlog_file import BinlogFile
from binx.log.chain.relay import begins_before, begins_inside
from binx.log.index.index_file import (
    CRC_KEY,
    FACTS_KEY,
    NO_CRC,
    IndexFacts,
    IndexFile,
    encode_facts,
    log_checksums,
    with_crc,
)
from binx.log.index.lookup import index_path, index_places
from binx.log.index.transactions import TransactionRows, index_schema
from binx.log.scan import Scan
from binx.log.scanning import ENDINGS
from binx.source.remote import is_uri
from binx.storage.output import Sink, remove_leftovers
from binx.storage.output_errors import output_errors
from binx.storage.store import open_file
from binx.version import __version__

if TYPE_CHECKING:
    from typing_extensions import Buffer

GROUP_ROWS = 32_768
"""Minimum number of transactions in a row group."""

_LISTED_NUMBERS = (
    *(f"tables.list.element.{name}" for name in ("inserts", "updates", "deletes")),
    "table_numbers.list.element",
    "table_bytes.list.element",
)
_PRUNED = ("commit_version", "server_id", "start", "end", "commit_timestamp")
"""Columns with statistics, by which Parquet readers skip row groups."""

_COMPRESSION_LEVEL = 1


class IndexState(StrEnum):
    """State of a log's index file."""

    TRUE = "true"
    """It is intact and matches the log."""
    ABSENT = "absent"
    STALE = "stale"
    """It was made from another log, or this log has changed since."""
    DAMAGED = "damaged"
    """It cannot be read, or its checksum does not match."""
    WRITTEN = "written"
    """It was written by this call."""


class IndexedLog(NamedTuple):
    """A log's index file and its state.

    Attributes:
        transactions: number of transactions in it; None if it is not valid.
        index_bytes: its size; None if it is not valid.
        unfinished_bytes: bytes of the log after its last whole transaction, which it does not cover.
    """

    path: str
    index_path: str
    state: IndexState
    transactions: int | None = None
    index_bytes: int | None = None
    unfinished_bytes: int | None = None
    error: str | None = None

    @property
    def is_true(self) -> bool:
        """Whether the log has a usable index file."""
        return self.transactions is not None


def write_index(file: BinlogFile, path: str, *, verify: bool = True) -> IndexedLog:
    """Write a log's index file; it appears once complete.

    Args:
        path: the destination, see :func:`binx.log.index.lookup.index_path`.
    """
    with open_file(path) as stream:
        transactions, unfinished = write_index_to(file, stream, verify=verify)
    return IndexedLog(
        file.path, path, IndexState.WRITTEN, transactions, stream.bytes_written, unfinished_bytes=unfinished
    )


def write_index_to(file: BinlogFile, sink: Sink, *, verify: bool = True) -> tuple[int, int]:
    """Read a log once and write its index file into a sink; memory holds one row group.

    Returns:
        The number of transactions; how many bytes of the log it does not cover.
    """
    scan = Scan(file, Level.LEVEL_TABLES, verify=verify)
    data = _ChecksumFile(sink)
    groups: list[tuple[int, int]] = []
    formats: list[int] = []
    sources: list[bytes] = []
    seqno = 1
    schema = index_schema(records=True)
    numbers = [col.name for col in schema if pa.types.is_integer(col.type) or pa.types.is_timestamp(col.type)]
    with pq.ParquetWriter(
        pa.PythonFile(data, mode="w"),
        schema,
        compression="zstd",
        compression_level=_COMPRESSION_LEVEL,
        write_statistics=list(_PRUNED),
        use_dictionary=False,
        write_batch_size=ENCODED_ROWS,
        column_encoding=dict.fromkeys([*numbers, *_LISTED_NUMBERS], "DELTA_BINARY_PACKED"),
    ) as writer:
        for table in _row_groups(scan):
            rows = TransactionRows(file, scan, table, int(file.format.at_startup), seqno)
            writer.write_batch(rows.batch(records=True), row_group_size=len(table))
            position = table.format.position
            if position not in formats:
                formats.append(position)
            groups.append((len(table), formats.index(position)))
            sources = sources_of(table)
            seqno += len(table)
        facts = _facts(file, scan, tuple(sources), tuple(formats), tuple(groups))
        data.hold()
        writer.add_key_value_metadata(
            {
                FACTS_KEY.decode(): encode_facts(facts),
                "binx.version": __version__,
                CRC_KEY.decode(): NO_CRC.decode(),
            }
        )
    data.finish()
    return seqno - 1, scan.unfinished


def _facts(
    file: BinlogFile,
    scan: Scan,
    sources: tuple[bytes, ...],
    formats: tuple[int, ...],
    groups: tuple[tuple[int, int], ...],
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
        sources=sources,
        tables=tuple(scan.table_keys()),
        maps=tuple(scan.table_maps()),
        formats=formats,
        totals=tuple(
            (number, totals.events.get(number, 0), totals.bytes.get(number, 0), totals.inner.get(number, 0))
            for number in sorted(totals.events.keys() | totals.inner.keys())
        ),
        groups=groups,
    )


def _row_groups(scan: Scan) -> Iterator[TransactionTable]:
    """Yield the tables of a scan, joining small ones of one format."""
    group: TransactionTable | None = None
    for table in scan:
        if group is None:
            group = table
        elif group.format == table.format:
            join(group, table)
        else:
            yield group
            group = table
        if len(group) >= GROUP_ROWS:
            yield group
            group = None
    if group is not None:
        yield group


class _ChecksumFile(io.RawIOBase):
    """A file for pyarrow that inserts the checksum of everything into the footer."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self._written = 0
        self._crc = 0
        self._footer: bytearray | None = None

    def hold(self) -> None:
        """Buffer what is written from now on: the footer."""
        self._footer = bytearray()

    def finish(self) -> None:
        """Write the footer with the checksum in its place."""
        footer = bytes(self._footer or b"")
        self._sink.write(with_crc(footer, b"%08x" % checksum(footer, self._crc))[0])

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the bytes written."""
        return self._written

    def write(self, data: Buffer, /) -> int:
        """Write all bytes."""
        size = memoryview(data).nbytes
        self._written += size
        if self._footer is not None:
            self._footer += data
        else:
            self._sink.write(data)
            self._crc = checksum(data, self._crc)
        return size


def index_log(
    file: BinlogFile,
    folder: str | None = None,
    *,
    check: bool = False,
    force: bool = False,
    verify: bool = True,
) -> IndexedLog:
    """Make sure that a log has a valid index file.

    Args:
        folder: a folder of index files, created if missing; None for the log's own folder.
        force: write it even if it is valid.

    Raises:
        AbsentError: it is a relay log that begins inside a transaction.
    """
    for index in [] if force and not check else _existing(file, folder):
        if check or index.is_true:
            return index
    if file.is_relay_log and begins_inside(file):
        raise begins_before(file, "an index file describes one log alone, so these two are read without")
    path = index_path(file, folder)
    if folder is not None:
        with output_errors(Path(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
    if not is_uri(path):
        with output_errors(Path(path).parent):
            remove_leftovers(Path(path).parent)
    return write_index(file, path, verify=verify)


def examine_index(file: BinlogFile, path: str) -> IndexedLog:
    """Return the state of a log's index file, and why it cannot be used; all of it is read."""
    try:
        index = IndexFile.open(path, file)
        if index is None:
            return IndexedLog(file.path, path, IndexState.ABSENT)
        with closing(index):
            index.check()
            for _ in index:
                pass
    except BinxError as error:
        state = IndexState.STALE if isinstance(error, StaleError) else IndexState.DAMAGED
        return IndexedLog(file.path, path, state, error=error.message)
    return IndexedLog(
        file.path, path, IndexState.TRUE, index.transactions, index.size, unfinished_bytes=index.unfinished
    )


def _existing(file: BinlogFile, folder: str | None) -> list[IndexedLog]:
    """Return a log's index files, a valid one first; if it has none, one that is absent."""
    indexes = [examine_index(file, path) for path in index_places(file, folder)]
    return sorted(indexes, key=lambda index: (not index.is_true, index.state == IndexState.ABSENT))
