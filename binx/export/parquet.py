"""``to-parquet``: binary logs as a data set of Parquet files, one commit a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binx.errors import RefusedError
from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet, escape_name
from binx.export.manifest import CONTRACT, Sums, file_sha256, manifest, source_record
from binx.export.parquet_files import ParquetOptions, SourceWriters
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.index import index_batch
from binx.log.selection import Selection, Selector, source_of
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import STATEMENTS_ONLY, TAKE, WITHOUT_ROWS, ChangeDecoder
from binx.rows.statements import Statement
from binx.source.spooled import STANDARD_INPUT_NAME

_INSERT, _UPDATE, _DELETE = range(3)


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source.

    Attributes:
        source: its name in the data set.
        path: its path as given.
        kept: it had been committed before, by the same request; nothing was written.
        manifest: the manifest that is committed.
    """

    source: str
    path: str
    kept: bool
    manifest: dict[str, Any]

    @property
    def rows(self) -> int:
        """Rows in the changes' files."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "changes")

    @property
    def transactions(self) -> int:
        """Transactions taken."""
        return sum(entry["rows"] for entry in self.manifest["files"] if entry["kind"] == "transactions")


def to_parquet(
    files: Sequence[BinlogFile],
    folder: Path,
    selector: Selector | None = None,
    catalog: Catalog | None = None,
    options: ParquetOptions | None = None,
    progress: Callable[[int], None] = lambda position: None,
) -> Iterator[SourceReport]:
    """Write the sources one after another, in the order given, and commit each.

    Args:
        files: binary logs in the order of their chain, as DDL in one names the columns in the next.
        folder: the data set's folder; made where it is not there.
        selector: the search for the wanted transactions; it tells afterwards what was not found. All by
            default.
        catalog: tables known beforehand.
        options: how to write.
        progress: called with the bytes of the file that are done, now and then.

    Raises:
        RefusedError: a log comes from standard input, and so has no number.
        OutputError: the data set cannot be written, or another process is writing to it.
        DamagedError, TruncatedError, UnsupportedError: a source cannot be read whole; sources before it
            are committed, it is not.
    """
    catalog = catalog or Catalog()
    options = options or ParquetOptions()
    selector = selector or Selector(Selection())
    if any(file.name == STANDARD_INPUT_NAME for file in files):
        raise RefusedError(
            "a log from standard input has no name, and the data set orders changes by the number in it;"
            " save the log under its own name first"
        )
    dataset = DataSet(folder)
    state = ChainState()
    with dataset.locked():
        for file in files:
            export = SourceExport(dataset, file, selector, catalog, options, state)
            yield export.run(progress)


@dataclass(slots=True)
class ChainState:
    """Where in the chain of the sources given the next transaction stands.

    Attributes:
        epoch: logs so far that a server began at its start.
        seqno: number of the next transaction, from 1.
    """

    epoch: int = 0
    seqno: int = 1


class SourceExport:
    """One source on its way into a data set."""

    def __init__(
        self,
        dataset: DataSet,
        file: BinlogFile,
        selector: Selector,
        catalog: Catalog,
        options: ParquetOptions,
        state: ChainState,
    ) -> None:
        self.dataset = dataset
        self.file = file
        self.source = f"{escape_name(file.name)}.{file.identity}"
        self._selector = selector
        self._options = options
        self._state = state
        self._sums = Sums()
        self._gtids = GtidSet()
        self._losses: list[str] = []
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        state.epoch += file.format.at_startup
        self._scan = file.scan(Level.LEVEL_TABLES, verify=options.verify)
        self._decoder = ChangeDecoder(file, catalog, selector.takes_table, options.decoder)

    def run(self, progress: Callable[[int], None]) -> SourceReport:
        """Decode, write, commit; or keep what the same request wrote before.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        sha256 = file_sha256(self.file)
        known = None if self._options.force else self.dataset.manifest(self.source)
        if known is not None and self._is_same(known, sha256):
            self._pass_over(progress)
            return SourceReport(self.source, self.file.path, True, known)
        transaction = self.dataset.begin(self.source)
        writers = None
        try:
            writers = SourceWriters(transaction, self._options)
            self._write(writers, progress)
            files = writers.finish(self._decoder.tables)
            self._sums.check(self.file.path)
            for number, count in self._scan.totals().unknown.items():
                self._decoder.report.warnings[
                    f"{count} events of type {number}, which binx does not know, are marked as ignorable and"
                    " were passed over"
                ] = None
            ending = "" if self._scan.ending is None else self._scan.ending.value
            document = manifest(
                source_record(self.file, sha256, ending),
                self._request,
                str(self._gtids),
                self._sums,
                files,
                self._losses,
                list(self._decoder.report.warnings),
            )
            writers.write_schemas(self._decoder.tables)
            transaction.commit(document, writers.listed)
        except BaseException:
            if writers is not None:
                writers.abandon()
            transaction.abandon()
            raise
        return SourceReport(self.source, self.file.path, False, document)

    def _is_same(self, known: dict[str, Any], sha256: str) -> bool:
        return (
            known["contract"] == CONTRACT
            and known["source"]["sha256"] == sha256
            and known.get("request") == self._request
        )

    def _pass_over(self, progress: Callable[[int], None]) -> None:
        """Move catalog, chain and search on over a source that is written already."""
        for table in self._scan:
            self._selector.mask(self.file, self._scan, table)
            self._state.seqno += len(table)
            statements_only = bytearray(len(table))
            table.mark_statements(statements_only)
            for _ in self._decoder.decode(table, statements_only):
                pass
            progress(self._scan.position)

    def _write(self, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        for table in self._scan:
            mask = self._selector.mask(self.file, self._scan, table)
            self._gtids |= GtidSet(
                (source_of(key), first, last) for key, first, last in table.gtid_runs(mask)
            )
            self._write_index(table, mask, writers)
            self._count(table, mask)
            for item in self._decoder.decode(table, mask):
                if isinstance(item, Statement):
                    self._take_statement(item, writers)
                else:
                    self._take_batch(item, writers)
            progress(self._scan.position)
        for batch in self._decoder.finish():
            self._take_batch(batch, writers)
        for name, images in self._decoder.report.filtered.items():
            self._sums.of(name).filtered += images
        for name, counts in self._decoder.report.undone.items():
            self._leave_out(name, counts)
        for changes in self._decoder.tables:
            for column, count in changes.undecodable.items():
                self._losses.append(
                    f"{changes.db}.{changes.name}: {count} values of column {column} have bytes that their"
                    r" character set does not have; they stand as \xNN in the text"
                )

    def _leave_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Account for the changes of a table that their own transactions undid."""
        inserts, updates, deletes = counts
        self._sums.of(name).filtered += inserts + 2 * updates + deletes
        taken = self._sums.changes[name]
        for place, count in enumerate(counts):
            taken[place] -= count
        self._decoder.report.warnings[
            f"{name[0]}.{name[1]}: {sum(counts)} changes of rows are left out, as ROLLBACK TO SAVEPOINT undid"
            " them within their transactions"
        ] = None

    def _write_index(self, table: TransactionTable, mask: bytearray, writers: SourceWriters) -> None:
        state = self._state
        batch = index_batch(
            self.file, self._scan, table, epoch=state.epoch, first_seqno=state.seqno, dictionaries=True
        )
        state.seqno += len(table)
        if 0 in mask:
            marks = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(bytes(mask))], 0)
            batch = batch.filter(marks.cast(pa.bool_()))
        if batch.num_rows:
            versions = batch.column("commit_version")
            times = pc.min_max(batch.column("commit_timestamp").cast(pa.int64()))
            self._sums.saw(
                versions[0].as_py(), versions[-1].as_py(), times["min"].as_py(), times["max"].as_py()
            )
        writers.write_transactions(batch)

    def _take_batch(self, batch: ChangeBatch, writers: SourceWriters) -> None:
        writers.write_changes(batch)
        self._sums.of((batch.table.db, batch.table.name)).written += batch.batch.num_rows

    def _take_statement(self, statement: Statement, writers: SourceWriters) -> None:
        writers.write_statement(statement)
        if statement.file_bytes:
            self._losses.append(
                f"{statement.transaction}: the {statement.file_bytes} bytes of the file that LOAD DATA"
                " read are in the binary log and not in this data set"
            )

    def _count(self, table: TransactionTable, mask: bytearray) -> None:
        """Take in what the scan counted, and mark what is looked at only for DDL, or not for its rows."""
        table.mark_work(mask)
        for mark in (0, TAKE, STATEMENTS_ONLY, WITHOUT_ROWS):
            for number, inserts, updates, deletes in table.sum_counts(mask, mark):
                name = self._scan.table_name(number)
                sums = self._sums.of(name)
                images = inserts + 2 * updates + deletes
                sums.images += images
                if mark != TAKE:
                    sums.filtered += images
                elif self._selector.takes_table(*name):
                    changes = self._sums.changes.setdefault(name, [0, 0, 0])
                    changes[_INSERT] += inserts
                    changes[_UPDATE] += updates
                    changes[_DELETE] += deletes
