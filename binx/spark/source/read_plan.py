"""Plan a read on the driver: cut logs into slices of whole transactions, and find a table's schema.

Each log is walked once. If it has a valid index file, that is read; otherwise the headers of transactions, or
of events if tables must be known (statements may name the columns of rows, and what a statement did depends
on the tables before it). Statements that define tables are followed, so that each slice has the tables as
they are at its start.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from binx.dataset.predecessors import packed, unpacked
from binx.errors import AbsentError, BinxWarning, TruncatedError
from binx.event.format import FormatDescription
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile, TransactionScan
from binx.log.chain.chain import ChainLog, chain_problems, in_order
from binx.log.chain.inputs import open_logs
from binx.log.index.lookup import IndexUse
from binx.log.scan import Scan, find_transactions
from binx.log.scanning import Resumption
from binx.log.selection.selection import Selector, required_level
from binx.rows.columns.arrow_schema import united_schema
from binx.rows.ddl.catalog import Catalog
from binx.rows.ddl.schema_dump import read_dump
from binx.rows.decoder import STATEMENTS_ONLY, ChangeDecoder
from binx.rows.reading import Reading, no_table
from binx.spark.log_place import LogPlace
from binx.spark.source.request import ScanRequest, What, shares

_TABLES_NAMED = 10


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a log that one task reads."""

    log: LogPlace
    start: int
    stop: int
    transactions: int
    format: FormatDescription
    epoch: int
    seqno: int
    tables: bytes

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.stop - self.start

    def catalog(self) -> Catalog:
        """The tables known at the start."""
        return unpacked(self.tables)


@contextmanager
def opened(part: Slice, request: ScanRequest) -> Iterator[BinlogFile]:
    """Open the log of a slice; scans of it return only the slice's transactions."""
    with part.log.opened(request.keys(), part.stop) as file:
        file.resumption = Resumption(part.start, part.format, part.stop)
        yield file


@contextmanager
def opened_chain(request: ScanRequest) -> Iterator[list[ChainLog]]:
    """Open the logs of a request, in chain order."""
    with open_logs(request.paths, IndexUse(), request.keys()) as files:
        yield in_order(files)


def known_tables(request: ScanRequest, files: Sequence[BinlogFile] = ()) -> Catalog:
    """Return the tables that the request's dump defines for these logs."""
    return Catalog() if request.schema is None else read_dump(request.schema).known_in(files)


def plan(request: ScanRequest) -> list[list[Slice]]:
    """Cut the logs of a request into the slices that each task reads."""
    with opened_chain(request) as chain:
        for problem in chain_problems(chain):
            warnings.warn(problem.sentence, BinxWarning, stacklevel=2)
        files = [ends.file for ends in chain]
        tables = None if request.what is What.TRANSACTIONS else known_tables(request, files)
        planner = SlicePlanner(request, [file.name for file in files], tables)
        slices = (part for ends in chain for part in planner.slices(ends))
        return shares(slices, lambda part: part.size, request.split_bytes)


@dataclass(slots=True)
class _OpenSlice:
    """A slice that is still growing; ``count`` transactions end at or before ``stop``."""

    start: int
    stop: int
    count: int
    format: FormatDescription
    seqno: int
    tables: bytes


class SlicePlanner:
    """Cuts the logs of a chain, in order, into slices."""

    def __init__(
        self,
        request: ScanRequest,
        names: Sequence[str],
        catalog: Catalog | None = None,
        epoch: int = 0,
        seqno: int = 1,
    ) -> None:
        selection = request.selection
        if selection.limit is None:
            # Selections that need event bodies are left to the tasks.
            selection = selection._replace(
                databases=(), tables=(), thread_ids=(), xids=(), kinds=(), texts=()
            )
        self._request = request
        self._selector = Selector(selection, names, in_parts=True)
        # The effect of a statement depends on the tables before it.
        self._follows = request.what is not What.TRANSACTIONS
        least = Level.LEVEL_EVENTS if self._follows else Level.LEVEL_INDEX
        self._level = max(required_level(selection), least)
        self.catalog = Catalog()
        if self._follows:
            self.catalog = known_tables(request) if catalog is None else catalog
        self.epoch = epoch
        self.seqno = seqno
        self._decoder: ChangeDecoder | None = None
        self._begun: _OpenSlice | None = None

    def slices(self, ends: ChainLog, *, resumed: bool = False, growing: bool = False) -> Iterator[Slice]:
        """Cut a log."""
        file = ends.file
        if not resumed:
            self.epoch += file.format.at_startup
        find = Scan if resumed or growing else find_transactions
        scan = find(file, self._level, verify=False)
        self._decoder = Reading(self.catalog, no_table).of(file) if self._follows else None
        try:
            for table in scan:
                mask = self._selector.mask(file, scan, table)
                for begun in self._cut(table, mask):
                    yield _slice(file, begun, self.epoch)
                self.seqno += len(table)
        except TruncatedError:
            if not growing:
                raise
        begun_last, self._begun = self._begun, None
        if begun_last is not None:
            yield _slice(file, begun_last, self.epoch)

    def _cut(self, table: TransactionTable, mask: bytearray) -> Iterator[_OpenSlice]:
        """Process some transactions; yield the slices that end among them."""
        starts = memoryview(table.column("start")).cast("q")
        ends = memoryview(table.column("end")).cast("q")
        split, count, index = self._request.split_bytes, len(table), 0
        while index < count:
            begun = self._begun
            if begun is None:
                first = mask.find(1, index)
                first = count if first < 0 else first
                self._follow(table, index, first)
                index = first
                if index == count:
                    return
                begun = self._begun = _OpenSlice(
                    start=starts[index],
                    stop=ends[index],
                    count=1,
                    format=table.format,
                    seqno=self.seqno + index,
                    tables=packed(self.catalog),
                )
            behind = min(bisect_left(ends, begun.start + split, index, count) + 1, count)
            last = mask.rfind(1, index, behind)
            if last >= 0:
                begun.stop = ends[last]
                begun.count = self.seqno + last + 1 - begun.seqno
            self._follow(table, index, behind)
            index = behind
            if ends[behind - 1] - begun.start >= split:
                self._begun = None
                yield begun

    def _follow(self, table: TransactionTable, first: int, behind: int) -> None:
        """Apply the statements of some transactions to the catalog."""
        if self._decoder is None or first == behind:
            return
        marks = bytearray(len(table))
        table.mark_statements(marks)
        marks[:first] = bytes(first)
        marks[behind:] = bytes(len(table) - behind)
        if STATEMENTS_ONLY in marks:
            for _ in self._decoder.decode(table, marks):
                pass


def _slice(file: BinlogFile, begun: _OpenSlice, epoch: int) -> Slice:
    return Slice(
        log=LogPlace.of(file),
        start=begun.start,
        stop=begun.stop,
        transactions=begun.count,
        format=begun.format,
        epoch=epoch,
        seqno=begun.seqno,
        tables=begun.tables,
    )


def table_schema(request: ScanRequest) -> pa.Schema:
    """Return the columns of a table's row changes in all versions; the pass decodes no rows."""
    seen: dict[str, None] = {}
    with opened_chain(request) as chain:
        catalog = known_tables(request, [ends.file for ends in chain])
        reading = Reading(
            catalog, lambda db, name: (db, name) == request.table, resolve_only=True, keeps=True
        )
        for ends in chain:
            file = ends.file
            scan = find_transactions(file, Level.LEVEL_TABLES, verify=False)
            for table in scan:
                mask = table.mask()
                keep_touching(scan, table, mask, request.table)
                table.mark_statements(mask)
                for _ in reading.items(file, table, mask):
                    pass
            seen |= dict.fromkeys(".".join(scan.table_name(number)) for number in range(scan.table_count))
    schemas = [changes.schema for changes in reading.tables]
    if not schemas:
        named = ", ".join([*seen][:_TABLES_NAMED]) + (", …" if len(seen) > _TABLES_NAMED else "")
        raise AbsentError(
            f"no row changes of {'.'.join(request.table)} in {', '.join(request.paths)}; tables with"
            f" row changes: {named or 'none'}"
        )
    return united_schema(schemas)


def keep_touching(
    scan: TransactionScan, table: TransactionTable, mask: bytearray, name: tuple[str, str]
) -> None:
    """Unmark transactions that change no row of a table."""
    wanted = bytes(scan.table_name(number) == name for number in range(scan.table_count))
    table.keep_tables(mask, wanted)
