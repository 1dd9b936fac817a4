"""One binary log on its way into a data set: decoded, counted, handed over to be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from binx.errors import BinxError
from binx.event.gtid_set import GtidSet
from binx.event.header import EventType
from binx.event.payload import KeptPayloads
from binx.export.contract import CONTRACT
from binx.export.dataset import DataSet, Transaction
from binx.export.digest import LogDigest
from binx.export.manifest import Sums, manifest, source_record
from binx.export.parquet_files import (
    ParquetOptions,
    SourceWriters,
    schema_records,
)
from binx.export.staging import ChainState, SourceReport, Staged, commit_staged, source_name
from binx.export.workers import Workers
from binx.kernels.index_columns import extents
from binx.kernels.scan import Level
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.identifiers import transaction_ids
from binx.log.index import index_batch
from binx.log.on_damage import OnDamage
from binx.log.recent import windows_kept
from binx.log.selection import Selector, source_of
from binx.rows.batches import ChangeBatch
from binx.rows.catalog import Catalog
from binx.rows.decoder import LOST, STATEMENTS_ONLY, TAKE, WITHOUT_ROWS, ChangeDecoder
from binx.rows.statements import Statement
from binx.rows.undecodable import DecodingCheck

_INSERT, _UPDATE, _DELETE = range(3)

_ROLLED_BACK_ALONE_SINCE = (5, 5, 2)
"""Since then (WL#2687; MariaDB 5.5) changes of tables without transactions are logged by themselves."""


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
        workers: Workers,
    ) -> None:
        self.dataset = dataset
        self.file = file
        self.source = source_name(file)
        self._selector = selector
        self._options = options
        self._state = state
        self._workers = workers
        self._kept: dict[str, Any] | None = None
        self._transaction: Transaction | None = None
        self._digest: LogDigest | None = None
        self._writers: SourceWriters | None = None
        self._sums = Sums()
        self._gtids = GtidSet()
        self._losses: list[str] = []
        self._doubtful: Counter[tuple[str, str]] = Counter()
        self._damage: list[dict[str, Any]] = []
        self._damages = 0
        self._request = {
            **options.facts(),
            "selection": selector.selection.facts(),
            "known_tables": catalog.fingerprint(),
        }
        state.epoch += file.format.at_startup
        self._scan = file.scan(Level.LEVEL_TABLES, verify=options.verify, on_damage=options.on_damage)
        salvages = options.on_damage is OnDamage.SALVAGE
        self._check = (
            DecodingCheck(file, catalog.copy(), selector.takes_table, options.decoder) if salvages else None
        )
        self._decoder = ChangeDecoder(file, catalog, selector.takes_table, options.decoder)
        self._payloads = KeptPayloads(options.decoder.memory)
        self._scan.payloads = self._decoder.payloads = self._payloads

    def begin(self, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written; or see that the same request wrote them before.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        try:
            if self.find_kept():
                self.pass_over(progress)
            else:
                self.write(self.dataset.begin(self.source), progress)
        except BaseException:
            self.abandon()
            raise

    @property
    def kept(self) -> dict[str, Any] | None:
        """The manifest of before, where it is by the same request."""
        return self._kept

    def find_kept(self) -> bool:
        """Whether the same request wrote the source before.

        Raises:
            BinxError: the manifest, or the log, cannot be read.
        """
        known = None if self._options.force else self.dataset.manifest(self.source)
        self._digest = LogDigest(self.file, self._workers.lane())
        self._scan.watch = self._digest.saw
        if known is not None and self._is_same(known, self._digest.hexdigest()):
            self._kept = known
        return self._kept is not None

    def write(self, transaction: Transaction, progress: Callable[[int], None]) -> None:
        """Decode, and hand the rows over to be written.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        self._transaction = transaction
        self._writers = SourceWriters(transaction, self._options, self._workers)
        self._write(self._writers, progress)
        self._writers.close()

    def finish(self) -> SourceReport:
        """Wait for the files, and commit them.

        Raises:
            BinxError: as :func:`to_parquet`; what was staged is removed.
        """
        if self._kept is not None:
            return SourceReport(self.source, self.file.path, True, self._kept)
        if self._transaction is None:
            raise ValueError(f"{self.source} is not decoded")
        try:
            staged = self.staged()
            commit_staged(self._transaction, staged)
        except BaseException:
            self.abandon()
            raise
        return SourceReport(self.source, self.file.path, False, staged.manifest)

    def staged(self) -> Staged:
        """Wait for the files that were written.

        Raises:
            BinxError: as :func:`to_parquet`.
        """
        if self._digest is None or self._writers is None:
            raise ValueError(f"{self.source} is not decoded")
        files = self._writers.finish(self._decoder.tables)
        self._tell_damage()
        self._sums.check(self.file.path)
        totals = self._scan.totals()
        if incidents := totals.events.get(EventType.INCIDENT, 0):
            places = "1 place" if incidents == 1 else f"{incidents} places"
            self._decoder.report.warnings[
                f"the server says in {places} that changes are missing in its log (INCIDENT)"
            ] = None
        for name, events in self._scan.uncounted().items():
            self._sums.of(name).uncounted = events
            self._decoder.report.warnings[
                f"{'.'.join(name)}: {events} rows events are passed over and not counted, as a column has a"
                " type that binx does not know"
            ] = None
        for number, count in totals.unknown.items():
            self._decoder.report.warnings[
                f"{count} events of type {number}, which binx does not know, are marked as ignorable and"
                " were passed over"
            ] = None
        ending = "" if self._scan.ending is None else self._scan.ending.value
        document = manifest(
            source_record(self.file, self._digest.hexdigest(), ending),
            self._request,
            str(self._gtids),
            self._sums,
            files,
            self._losses,
            list(self._decoder.report.warnings),
            self._damage,
        )
        return Staged(document, tuple(self._writers.listed), tuple(schema_records(self._decoder.tables)))

    def abandon(self) -> None:
        """Remove what was staged."""
        if self._digest is not None:
            self._digest.drop()
        if self._writers is not None:
            self._writers.abandon()
        if self._transaction is not None:
            self._transaction.abandon()

    def _is_same(self, known: dict[str, Any], sha256: str) -> bool:
        return (
            known["contract"] == CONTRACT
            and known["source"]["sha256"] == sha256
            and known.get("request") == self._request
        )

    def pass_over(self, progress: Callable[[int], None]) -> None:
        """Move catalog, chain and search on over a source that is written already."""
        for table in self._scan:
            mask = self._selector.mask(self.file, self._scan, table)
            if self._state.row_filter is not None:
                self._state.row_filter.keep(self.file, table, mask, self._undecodable(table, bytearray(mask)))
            self._state.seqno += len(table)
            statements_only = bytearray(len(table))
            table.mark_statements(statements_only)
            for index in self._undecodable(table, statements_only):
                statements_only[index] = 0
            for _ in self._decoder.decode(table, statements_only):
                pass
            self._payloads.clear()
            progress(self._scan.position)
        self._forget_behind_damage()

    def _write(self, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        with windows_kept(self.file):
            self._decode(writers, progress)

    def _decode(self, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        for table in self._scan:
            mask = self._selector.mask(self.file, self._scan, table)
            lost = self._unmark_lost(table, mask)
            if self._state.row_filter is not None:
                self._state.row_filter.keep(self.file, table, mask, lost)
            self._gtids |= GtidSet(
                (source_of(key), first, last) for key, first, last in table.gtid_runs(mask)
            )
            ids = transaction_ids(self.file, table)
            self._write_index(table, mask, ids, writers)
            self._count(table, mask, lost)
            for item in self._decoder.decode(table, mask, ids):
                if isinstance(item, Statement):
                    self._take_statement(item, writers)
                else:
                    self._take_batch(item, writers)
            self._payloads.clear()
            progress(self._scan.position)
        self._forget_behind_damage()
        for batch in self._decoder.finish():
            self._take_batch(batch, writers)
        for name, images in self._decoder.report.filtered.items():
            self._sums.of(name).filtered += images
        for name, counts in self._decoder.report.undone.items():
            self._leave_out(name, counts)
        for (db, table_name), count in self._doubtful.items():
            self._losses.append(
                f"{db}.{table_name}: {count} changes of rows are left out, as their transactions end in"
                " ROLLBACK; servers before 5.5 log so too what a table without transactions (MyISAM) kept: if"
                " it is one, these changes are missing"
            )
        for changes in self._decoder.tables:
            for column, count in changes.undecodable.items():
                self._losses.append(
                    f"{changes.db}.{changes.name}: {count} values of column {column} have bytes that their"
                    r" character set does not have; they stand as \xNN in the text"
                )

    def _undecodable(self, table: TransactionTable, marks: bytearray) -> dict[int, BinxError]:
        """The marked transactions that cannot be decoded; looked for only where damage is salvaged.

        Where statements that define tables may have been lost, no table's definition is known any more.
        """
        if self._check is None:
            return {}
        self._forget_behind_damage()
        errors = self._check.undecodable(table, marks)
        if any(table.value("statements", index) for index in errors):
            self._forget_tables()
        return errors

    def _forget_behind_damage(self) -> None:
        if len(self._scan.damage) > self._damages:
            self._forget_tables()

    def _forget_tables(self) -> None:
        self._damages = len(self._scan.damage)
        self._decoder.forget_tables()
        if self._check is not None:
            self._check.forget_tables()
        if self._state.row_filter is not None:
            self._state.row_filter.forget_tables()

    def _unmark_lost(self, table: TransactionTable, mask: bytearray) -> dict[int, int]:
        """Take out of a selection what cannot be decoded: by index, what it is to be counted as."""
        marks = bytearray(mask)
        table.mark_work(marks)
        lost = {}
        for index, error in self._undecodable(table, marks).items():
            lost[index] = LOST if mask[index] else 0
            mask[index] = 0
            if lost[index]:
                self._damage.append(
                    {
                        "start": table.value("start", index),
                        "end": table.value("end", index),
                        "offset": error.offset,
                        "cause": "undecodable",
                        "gtid": table.gtid(index),
                        "transactions": 1,
                        "message": error.message,
                    }
                )
        return lost

    def _tell_damage(self) -> None:
        """List what the scan has passed over beside what could not be decoded."""
        self._damage += [
            {
                "start": one.start,
                "end": one.end,
                "offset": one.offset,
                "cause": one.cause.value,
                "gtid": one.gtid,
                "transactions": one.transactions,
                "message": one.message,
            }
            for one in self._scan.damage
        ]
        self._damage.sort(key=lambda one: one["start"])
        for one in self._damage:
            gtid = "" if one["gtid"] is None else f" (transaction {one['gtid']})"
            self._losses.append(
                f"bytes {one['start']:,} to {one['end']:,}{gtid} could not be read and are left out,"
                f" at least {one['transactions']:,} transactions: {one['message']}"
            )

    def _leave_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Account for the changes of a table that their own transactions undid."""
        self._filter_out(name, counts)
        self._decoder.report.warnings[
            f"{name[0]}.{name[1]}: {sum(counts)} changes of rows are left out, as ROLLBACK TO SAVEPOINT undid"
            " them within their transactions"
        ] = None

    def _filter_out(self, name: tuple[str, str], counts: tuple[int, int, int]) -> None:
        """Count inserts, updates and deletes of a table as filtered that counted as taken before."""
        inserts, updates, deletes = counts
        self._sums.of(name).filtered += inserts + 2 * updates + deletes
        taken = self._sums.changes[name]
        for place, count in enumerate(counts):
            taken[place] -= count

    def _write_index(
        self, table: TransactionTable, mask: bytearray, ids: tuple[bytes, bytes], writers: SourceWriters
    ) -> None:
        state = self._state
        batch = index_batch(
            self.file,
            self._scan,
            table,
            epoch=state.epoch,
            first_seqno=state.seqno,
            dictionaries=True,
            ids=ids,
        )
        state.seqno += len(table)
        if 0 in mask:
            marks = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(bytes(mask))], 0)
            batch = batch.filter(marks.cast(pa.bool_()))
        seen = extents(table, mask)
        if seen is not None:
            first, last, *times = seen
            self._sums.saw(self.file.commit_version(first), self.file.commit_version(last), *times)
        writers.write_transactions(batch)

    def _take_batch(self, batch: ChangeBatch, writers: SourceWriters) -> None:
        name = (batch.table.db, batch.table.name)
        if self._state.row_filter is not None:
            batch, dropped = self._state.row_filter.chosen(batch)
            self._filter_out(name, dropped)
            if not batch.batch.num_rows:
                return
        writers.write_changes(batch)
        self._sums.of(name).written += batch.batch.num_rows

    def _take_statement(self, statement: Statement, writers: SourceWriters) -> None:
        writers.write_statement(statement)
        if statement.file_bytes:
            self._losses.append(
                f"{statement.transaction}: the {statement.file_bytes} bytes of the file that LOAD DATA"
                " read are in the binary log and not in this data set"
            )

    def _count(self, table: TransactionTable, mask: bytearray, lost: dict[int, int]) -> None:
        """Take in what the scan counted, and mark what is looked at only for DDL, or not for its rows."""
        table.mark_work(mask)
        for index, mark in lost.items():
            mask[index] = mark
        for mark in (0, TAKE, STATEMENTS_ONLY, WITHOUT_ROWS, LOST):
            for number, inserts, updates, deletes in table.sum_counts(mask, mark):
                name = self._scan.table_name(number)
                sums = self._sums.of(name)
                images = inserts + 2 * updates + deletes
                sums.images += images
                if mark == LOST and self._selector.takes_table(*name):
                    sums.undecodable += images
                elif mark != TAKE:
                    sums.filtered += images
                    if mark == WITHOUT_ROWS and self.file.format.version < _ROLLED_BACK_ALONE_SINCE:
                        self._doubtful[name] += inserts + updates + deletes
                elif self._selector.takes_table(*name):
                    changes = self._sums.changes.setdefault(name, [0, 0, 0])
                    changes[_INSERT] += inserts
                    changes[_UPDATE] += updates
                    changes[_DELETE] += deletes
        for index in lost:
            mask[index] = 0
