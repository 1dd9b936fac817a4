"""Writes index files: Parquet with one row a transaction, and within it what binx looks things up by.

The log is scanned once. Its transactions become row groups; the same records, packed, go into a
temporary file, and from there behind the last row group. So memory holds a block, a row group and the
directory, whatever the size of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from binx.errors import OutputError
from binx.export.output import Sink
from binx.export.sidecar_rows import RowGroups
from binx.export.spool import Spool
from binx.export.store import open_file
from binx.kernels.crc32 import checksum
from binx.kernels.scan import Level
from binx.kernels.stored import (
    COUNTS_MAXIMUM,
    RECORDS_MAXIMUM,
    block_facts,
    counts_of,
    join,
    pack,
    sources_of,
)
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scan import Scan
from binx.log.scanning import ENDINGS
from binx.log.sidecar import log_facts
from binx.log.sidecar_directory import encode_directory
from binx.log.sidecar_layout import (
    Block,
    Directory,
    KeyFilter,
    encode_tail,
)

if TYPE_CHECKING:
    from binx.export.sidecar_keys import KeyFilters
    from binx.rows.catalog import Catalog

BLOCK_RECORDS = 4096
"""Transactions from which on a block is large enough; it ends with the scan's table."""

_SPOOLED_BYTES = 16 * 1024 * 1024
_GTID_RUNS = 64


class SidecarReport(NamedTuple):
    """What an index file holds.

    Attributes:
        transactions: how many.
        bytes: its size.
        unfinished: bytes of the log, behind its last whole transaction, that it says nothing of.
    """

    transactions: int
    bytes: int
    unfinished: int


def write_sidecar(
    file: BinlogFile,
    path: str,
    *,
    keys: Catalog | None = None,
    verify: bool = True,
) -> SidecarReport:
    """Write a log's index file; it appears when it is whole.

    Args:
        file: the log.
        path: where to, see :func:`binx.log.index_use.sidecar_path`.
        keys: the tables known beforehand, moved on by the log's schema statements, where Bloom filters of
            primary keys are wanted; None for none.
        verify: whether the checksums of all events are compared.

    Raises:
        DamagedError, UnsupportedError: the log cannot be read to its end; nothing was written.
        OutputError: the index file cannot be written.
    """
    with open_file(path) as stream:
        writer = SidecarWriter(file, keys=keys, verify=verify)
        writer.write(stream)
    return SidecarReport(writer.transactions, stream.bytes_written, writer.unfinished)


class SidecarWriter:
    """Makes the index of one log.

    Args:
        file: the log.
        keys: see :func:`write_sidecar`.
        verify: whether checksums are compared.
    """

    def __init__(self, file: BinlogFile, *, keys: Catalog | None = None, verify: bool = True) -> None:
        self._file = file
        self._keys: KeyFilters | None = None
        if keys is not None:
            from binx.export.sidecar_keys import KeyFilters

            self._keys = KeyFilters(file, keys)
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

    def write(self, sink: Sink) -> None:
        """Read the log, and write its index file.

        Args:
            sink: where to.

        Raises:
            DamagedError, UnsupportedError: the log cannot be read to its end.
            OutputError: the sink does not take what is written.
        """
        rows = RowGroups(sink, self._file, self._scan)
        with Spool(_SPOOLED_BYTES) as spool:
            seqno = 1
            for table in _blocks(self._scan):
                self._take(table, spool)
                rows.add(table, seqno)
                seqno += len(table)
            rows.close(partial(self._section, spool))

    def _section(self, spool: Spool, position: int) -> Iterator[bytes]:
        """The lookup section, piece by piece, for a place in the index file."""
        size = spool.size
        yield from spool.pieces()
        blocks = tuple(_moved(block, position) for block in self._blocks)
        directory = encode_directory(self._directory(blocks))
        yield directory
        yield encode_tail(position + size, directory)

    def _take(self, table: TransactionTable, spool: Spool) -> None:
        """Pack a table, and note what can be said of all its transactions."""
        data, counts = pack(table), counts_of(table)
        if len(table) > RECORDS_MAXIMUM or counts > COUNTS_MAXIMUM:
            raise OutputError(
                f"an index file cannot hold {len(table):,} transactions with {counts:,} counts at once",
                path=self._file.path,
            )
        offset = spool.size
        spool.write(data)
        every = table.mask()
        times, servers, sizes, xids, threads, steps = block_facts(table)
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
                times=times or (0, 0),
                xids=xids,
                threads=threads,
                servers=servers or (0, 0),
                largest=sizes[1] if sizes else 0,
                gtids=self._gtids(table, every),
                tables=tuple(counts[1:] for counts in table.sum_counts(every)),
                statements=steps,
                keys=self._filters(table, spool),
            )
        )

    def _filters(self, table: TransactionTable, spool: Spool) -> tuple[KeyFilter, ...]:
        """The filters of a table's transactions, put where its block is."""
        if self._keys is None:
            return ()
        from binx.export.sidecar_keys import HASHES

        made = []
        for one in self._keys.of_block(self._scan, table):
            made.append(KeyFilter(one.table, one.keys, spool.size, len(one.bits), checksum(one.bits), HASHES))
            spool.write(one.bits)
        return tuple(made)

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
            keys=None if self._keys is None else self._keys.columns,
        )


def _moved(block: Block, by: int) -> Block:
    """A block whose places are so many bytes further on."""
    keys = tuple(one._replace(offset=by + one.offset) for one in block.keys)
    return block._replace(offset=by + block.offset, keys=keys)


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


__all__ = ["BLOCK_RECORDS", "SidecarReport", "SidecarWriter", "write_sidecar"]
