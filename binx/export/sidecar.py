"""Writes index files: Parquet with one row a transaction, and within it what binx looks things up by.

The log is scanned once. Its transactions become row groups at once; the same records, packed, go into a
temporary file, and from there behind the last row group. So memory holds one block and the directory,
whatever the size of the log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self, cast

from binx import __version__
from binx.errors import OutputError
from binx.export.dataset import output_errors
from binx.export.manifest import CONTRACT
from binx.export.output import Sink, open_output
from binx.kernels.crc32 import checksum
from binx.kernels.scan import Level
from binx.kernels.stored import (
    COUNTS_MAXIMUM,
    RECORDS_MAXIMUM,
    counts_of,
    extent,
    join,
    pack,
    sources_of,
)
from binx.kernels.transactions import FLAG_HAS_THREAD, FLAG_HAS_XID, TransactionTable
from binx.log.file import BinlogFile, Scan
from binx.log.index_use import sidecar_path
from binx.log.scanning import ENDINGS, TransactionScan
from binx.log.sidecar import Sidecar, log_facts
from binx.log.sidecar_layout import (
    Block,
    Directory,
    encode_directory,
    encode_tail,
)
from binx.log.sidecar_state import SidecarState, examine_sidecar
from binx.source.names import printable

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from typing_extensions import Buffer

BLOCK_RECORDS = 4096
"""Transactions from which on a block is large enough; it ends with the scan's table."""

_IDENTIFIERS = ("transaction", "gtid")
_SPOOLED_BYTES = 16 * 1024 * 1024
_COPIED_BYTES = 1024 * 1024
_GTID_RUNS = 64


@dataclass(frozen=True, slots=True)
class SidecarReport:
    """What an index file holds.

    Attributes:
        transactions: how many.
        bytes: its size.
        unfinished: bytes of the log, behind its last whole transaction, that it says nothing of.
    """

    transactions: int
    bytes: int
    unfinished: int


@dataclass(frozen=True, slots=True)
class IndexedLog:
    """What became of a log's index file.

    Attributes:
        log: the log's path.
        index: the index file's path.
        state: ``written``, or as :class:`~binx.log.sidecar.SidecarState` has it.
        transactions: how many it holds; None where it is not true.
        bytes: its size; None where it is not true.
        unfinished_bytes: of the log, behind its last whole transaction, that it says nothing of.
        problem: why it cannot be used.
    """

    log: str
    index: str
    state: str
    transactions: int | None = None
    bytes: int | None = None
    unfinished_bytes: int | None = None
    problem: str | None = None

    @property
    def is_true(self) -> bool:
        """Whether the log has an index file that can be used."""
        return self.problem is None and self.transactions is not None

    def as_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {**asdict(self), "log": printable(self.log), "index": printable(self.index)}


def index_log(
    file: BinlogFile,
    folder: str | None = None,
    *,
    check: bool = False,
    force: bool = False,
    verify: bool = True,
    on_progress: Callable[[int], None] | None = None,
) -> IndexedLog:
    """See to it that a log has an index file that is true.

    Args:
        file: the log.
        folder: a folder of index files, made where it is not there; None for beside the log.
        check: write nothing.
        force: write it also where it is true already.
        verify: whether the checksums of all events are compared.
        on_progress: called with the offset in the log up to which it was read.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end.
        OutputError: the index file cannot be written.
    """
    path = sidecar_path(file, folder)
    state, problem = (SidecarState.ABSENT, None) if force else examine_sidecar(file, path)
    if state is SidecarState.TRUE:
        with closing(Sidecar.open(path, file)) as sidecar:
            log = sidecar.directory.log
            return IndexedLog(
                file.path, path, state.value, sidecar.transactions, sidecar.size, log.size - log.covered
            )
    if check:
        return IndexedLog(file.path, path, state.value, problem=problem)
    if folder is not None:
        with output_errors(Path(folder)):
            Path(folder).mkdir(parents=True, exist_ok=True)
    report = write_sidecar(file, path, verify=verify, on_progress=on_progress)
    return IndexedLog(file.path, path, "written", report.transactions, report.bytes, report.unfinished)


def write_sidecar(
    file: BinlogFile,
    path: str,
    *,
    verify: bool = True,
    on_progress: Callable[[int], None] | None = None,
) -> SidecarReport:
    """Write a log's index file; it appears when it is whole.

    Args:
        file: the log.
        path: where to, see :func:`binx.log.sidecar.sidecar_path`.
        verify: whether the checksums of all events are compared.
        on_progress: called with the offset in the log up to which it was read.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end; nothing was written.
        OutputError: the index file cannot be written.
    """
    with open_output(path) as stream:
        writer = SidecarWriter(file, verify=verify)
        writer.write(stream, on_progress)
    return SidecarReport(writer.transactions, stream.bytes_written, writer.unfinished)


class SidecarWriter:
    """Makes the index of one log.

    Args:
        file: the log.
        verify: whether checksums are compared.
    """

    def __init__(self, file: BinlogFile, *, verify: bool = True) -> None:
        self._file = file
        self._scan = file.scan(Level.LEVEL_TABLES, verify=verify)
        self._blocks: list[Block] = []
        self._sources: list[bytes] = []
        self._formats: list[int] = []

    @property
    def transactions(self) -> int:
        """How many the log has."""
        return sum(block.records for block in self._blocks)

    @property
    def unfinished(self) -> int:
        """Bytes behind the last whole transaction."""
        return self._scan.unfinished

    def write(self, sink: Sink, on_progress: Callable[[int], None] | None = None) -> None:
        """Read the log, and write its index file.

        Args:
            sink: where to.
            on_progress: called with the offset in the log up to which it was read.

        Raises:
            DamagedError, UnsupportedError: the log cannot be read to its end.
            OutputError: the sink does not take what is written.
        """
        with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as spool, _RowGroups(sink) as rows:
            seqno = 1
            for table in _blocks(self._scan):
                self._take(table, cast("IO[bytes]", spool))
                rows.write_rows(self._file, self._scan, table, seqno)
                seqno += len(table)
                if on_progress is not None:
                    on_progress(self._scan.position)
            rows.before_footer(partial(self._section, cast("IO[bytes]", spool)))

    def _section(self, spool: IO[bytes], position: int) -> Iterator[bytes]:
        """The lookup section, piece by piece, for a place in the index file."""
        spool.seek(0)
        size = 0
        while data := spool.read(_COPIED_BYTES):
            yield data
            size += len(data)
        blocks = tuple(block._replace(offset=position + block.offset) for block in self._blocks)
        directory = encode_directory(self._directory(blocks))
        yield directory
        yield encode_tail(position + size, directory)

    def _take(self, table: TransactionTable, spool: IO[bytes]) -> None:
        """Pack a table, and note what can be said of all its transactions."""
        data, counts = pack(table), counts_of(table)
        if len(table) > RECORDS_MAXIMUM or counts > COUNTS_MAXIMUM:
            raise OutputError(
                f"an index file cannot hold {len(table):,} transactions with {counts:,} counts at once",
                path=self._file.path,
            )
        offset = spool.tell()
        spool.write(data)
        every = table.mask()
        with_statements = table.mask()
        table.keep_range(with_statements, "statements", 1, 2**63 - 1)
        description = table.format
        if description.position not in self._formats:
            self._formats.append(description.position)
        self._blocks.append(
            Block(
                offset=offset,
                size=len(data),
                crc=checksum(data),
                records=len(table),
                counts=counts,
                format=self._formats.index(description.position),
                start=table.value("start", 0),
                end=table.value("end", len(table) - 1),
                times=_extent(table, "commit_timestamp"),
                xids=extent(table, "xid", FLAG_HAS_XID),
                threads=extent(table, "thread_id", FLAG_HAS_THREAD),
                servers=_extent(table, "server_id"),
                largest=_extent(table, "bytes")[1],
                gtids=self._gtids(table, every),
                tables=tuple(table.sum_counts(every, 1)),
                statements=with_statements.count(1),
            )
        )

    def _gtids(self, table: TransactionTable, every: bytearray) -> tuple[tuple[int, int, int], ...]:
        """Intervals that hold all GTIDs of a table; of very many, one for each source."""
        runs = table.gtid_runs(every)
        self._sources = sources_of(table)
        if len(runs) > _GTID_RUNS:
            whole: dict[bytes, tuple[int, int]] = {}
            for key, first, last in runs:
                before = whole.get(key, (first, last))
                whole[key] = min(first, before[0]), max(last, before[1])
            runs = [(key, first, last) for key, (first, last) in whole.items()]
        return tuple(sorted((self._sources.index(key), first, last) for key, first, last in runs))

    def _directory(self, blocks: tuple[Block, ...]) -> Directory:
        scan = self._scan
        ending = ENDINGS.index(scan.ending) if scan.ending is not None else 0
        totals = scan.totals()
        return Directory(
            log=log_facts(self._file, scan.accounted, ending),
            sources=tuple(self._sources),
            tables=scan.table_keys(),
            maps=tuple(scan.table_maps()),
            formats=tuple(self._formats),
            controls=tuple(scan.control_events),
            totals=tuple(
                (
                    number,
                    totals.events.get(number, 0),
                    totals.bytes.get(number, 0),
                    totals.inner.get(number, 0),
                )
                for number in sorted(totals.events.keys() | totals.inner.keys())
            ),
            blocks=blocks,
        )


class _RowGroups:
    """A Parquet file with one row a transaction, which takes some bytes of ours before its footer.

    Args:
        sink: where it goes.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._section: Callable[[int], Iterator[bytes]] | None = None
        self._writer: pq.ParquetWriter | None = None
        self.position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with nullcontext() if error is None else suppress(Exception):
            if self._writer is not None:
                self._writer.close()

    closed = False
    """What Arrow asks of a stream."""

    def write(self, data: Buffer) -> None:
        """Take what Arrow writes; the first of it that belongs to the footer comes behind the section."""
        if self._section is not None:
            section, self._section = self._section, None
            for piece in section(self.position):
                self._sink.write(piece)
        self.position += memoryview(data).nbytes
        self._sink.write(data)

    def flush(self) -> None:
        """What Arrow asks of a stream; the sink holds nothing back."""

    def write_rows(
        self, file: BinlogFile, scan: TransactionScan, table: TransactionTable, seqno: int
    ) -> None:
        """Write a table's transactions as a row group."""
        from binx.log.index import index_batch

        epoch = int(file.format.at_startup)
        batch = index_batch(file, scan, table, epoch=epoch, first_seqno=seqno, dictionaries=True)
        self._opened(batch).write_batch(batch, row_group_size=batch.num_rows)

    def _opened(self, first: pa.RecordBatch | None) -> pq.ParquetWriter:
        """The writer; how it encodes columns is decided by the first rows."""
        if self._writer is None:
            import pyarrow.parquet as pq

            from binx.export.encodings import column_settings
            from binx.log.index import index_schema

            schema = index_schema(dictionaries=True)
            metadata = {"binx.contract": str(CONTRACT), "binx.version": __version__}
            self._writer = pq.ParquetWriter(
                self,
                schema.with_metadata(metadata),
                compression="zstd",
                compression_level=1,
                version="2.6",
                **column_settings(schema, first, identifiers=_IDENTIFIERS),
            )
        return self._writer

    def before_footer(self, section: Callable[[int], Iterator[bytes]]) -> None:
        """Take what shall stand between the last row group and the footer; it is told its offset."""
        self._opened(None)
        self._section = section


def _blocks(scan: Scan) -> Iterator[TransactionTable]:
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
        if len(held) >= BLOCK_RECORDS or counts_of(held) >= BLOCK_RECORDS:
            yield held
            held = None
    if held is not None:
        yield held


def _extent(table: TransactionTable, field: str) -> tuple[int, int]:
    """The least and the most of a field that each transaction has."""
    found = extent(table, field)
    return (0, 0) if found is None else found


__all__ = ["BLOCK_RECORDS", "IndexedLog", "SidecarReport", "SidecarWriter", "index_log", "write_sidecar"]
