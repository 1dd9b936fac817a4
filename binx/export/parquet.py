"""``to-parquet``: binary logs as a data set of Parquet files, one commit a source."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.event.gtid_set import GtidSet
from binx.export.dataset import DataSet, Transaction, escape_name, output_errors, write_durably
from binx.export.manifest import CONTRACT, Sums, file_entry, file_sha256, manifest, source_record
from binx.export.statements import STATEMENTS_BATCH, statements_batch, statements_schema
from binx.kernels.scan import Level
from binx.kernels.transactions import Kind, TransactionTable
from binx.log.file import BinlogFile
from binx.log.index import index_batch, index_schema
from binx.log.selection import Selection, Selector, source_of
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.catalog import Catalog
from binx.rows.decoder import STATEMENTS_ONLY, TAKE, WITHOUT_ROWS, ChangeDecoder, DecoderOptions
from binx.rows.records import avro_schema
from binx.rows.statements import Statement

OPEN_WRITERS = 128
"""Parquet files that are written at the same time; beyond, the one not written to for longest is closed."""

_INSERT, _UPDATE, _DELETE = range(3)


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """How the data set is written.

    Attributes:
        compression: ``zstd``, ``snappy``, ``lz4`` or ``none``.
        compression_level: of zstd; None for the level that pays here, 1.
        decoder: batching, memory and Arrow types.
        verify: whether checksums of events are compared.
        force: whether a source that is committed already with the same request is written again.
    """

    compression: str = "zstd"
    compression_level: int | None = None
    decoder: DecoderOptions = field(default_factory=DecoderOptions)
    verify: bool = True
    force: bool = False

    def facts(self) -> dict[str, Any]:
        """What of it decides the bytes written, for the manifest."""
        return {
            "compression": self.compression,
            "compression_level": self.level,
            "row_group_rows": self.decoder.row_group_rows,
            "memory": self.decoder.memory,
            "unsigned_bigint": self.decoder.arrow.unsigned_bigint,
        }

    @property
    def level(self) -> int | None:
        """The compression level as pyarrow takes it."""
        if self.compression != "zstd":
            return None
        return 1 if self.compression_level is None else self.compression_level


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
        OutputError: the data set cannot be written, or another process is writing to it.
        DamagedError, TruncatedError, UnsupportedError: a source cannot be read whole; sources before it
            are committed, it is not.
    """
    catalog = catalog or Catalog()
    options = options or ParquetOptions()
    selector = selector or Selector(Selection())
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
            mask = self._selector.mask(self.file, self._scan, table)
            self._state.seqno += len(table)
            for index in range(len(mask)):
                mask[index] = STATEMENTS_ONLY if table.value("statements", index) else 0
            for _ in self._decoder.decode(table, mask):
                pass
            progress(self._scan.position)

    def _write(self, writers: SourceWriters, progress: Callable[[int], None]) -> None:
        for table in self._scan:
            mask = self._selector.mask(self.file, self._scan, table)
            self._gtids |= GtidSet(
                (source_of(key), first, last) for key, first, last in table.gtid_runs(mask)
            )
            writers.write_transactions(self._index(table, mask))
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
        for changes in self._decoder.tables:
            for column, count in changes.undecodable.items():
                self._losses.append(
                    f"{changes.db}.{changes.name}: {count} values of column {column} have bytes that their"
                    r" character set does not have; they stand as \xNN in the text"
                )

    def _index(self, table: TransactionTable, mask: bytearray) -> pa.RecordBatch:
        state = self._state
        batch = index_batch(self.file, self._scan, table, epoch=state.epoch, first_seqno=state.seqno)
        state.seqno += len(table)
        if 0 not in mask:
            return batch
        marks = pa.Array.from_buffers(pa.uint8(), len(mask), [None, pa.py_buffer(bytes(mask))], 0)
        return batch.filter(marks.cast(pa.bool_()))

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
        versions = memoryview(table.column("start")).cast("q")
        for index in table.marked(mask):
            self._sums.saw(self.file.commit_version(versions[index]), table.value("commit_timestamp", index))
        for index, (kind, counts, statements) in enumerate(
            zip(
                memoryview(table.column("kind")).cast("q"),
                memoryview(table.column("counts")).cast("q"),
                memoryview(table.column("statements")).cast("q"),
                strict=True,
            )
        ):
            taken = mask[index] == TAKE and kind != Kind.KIND_ROLLBACK
            if counts:
                self._count_rows(table.counts_of(index), taken)
            if mask[index] == TAKE and kind == Kind.KIND_ROLLBACK:
                mask[index] = WITHOUT_ROWS
            elif not mask[index] and statements:
                mask[index] = STATEMENTS_ONLY

    def _count_rows(self, counts: list[tuple[int, int, int, int, int]], taken: bool) -> None:
        for number, inserts, updates, deletes, _ in counts:
            name = self._scan.table_name(number)
            sums = self._sums.of(name)
            images = inserts + 2 * updates + deletes
            sums.images += images
            if not taken:
                sums.filtered += images
            elif self._selector.takes_table(*name):
                changes = self._sums.changes.setdefault(name, [0, 0, 0])
                changes[_INSERT] += inserts
                changes[_UPDATE] += updates
                changes[_DELETE] += deletes


@dataclass(slots=True)
class _OpenFile:
    name: str
    writer: pq.ParquetWriter
    facts: dict[str, Any]
    rows: int = 0
    first: int | None = None
    last: int | None = None


class SourceWriters:
    """The Parquet files of one source, written as batches come."""

    def __init__(self, transaction: Transaction, options: ParquetOptions) -> None:
        self.listed: list[Any] = []
        self._transaction = transaction
        self._options = options
        self._entries: list[dict[str, Any]] = []
        self._changes: OrderedDict[TableChanges, _OpenFile] = OrderedDict()
        self._parts: dict[tuple[str, str], int] = {}
        self._transactions = self._open(f"transactions/{transaction.source}.parquet", index_schema(), {})
        self._statements: _OpenFile | None = None
        self._pending: list[Statement] = []

    def write_transactions(self, batch: pa.RecordBatch) -> None:
        """Add transactions."""
        self._write(self._transactions, batch)

    def write_statement(self, statement: Statement) -> None:
        """Add a statement."""
        self._pending.append(statement)
        if len(self._pending) >= STATEMENTS_BATCH:
            self._flush_statements()

    def write_changes(self, batch: ChangeBatch) -> None:
        """Add row changes; each table and schema version has files of its own."""
        changes = batch.table
        versions = batch.batch.column("_commit_version")
        first, last = versions[0].as_py(), versions[-1].as_py()
        opened = self._changes.get(changes)
        if opened is None:
            if len(self._changes) >= OPEN_WRITERS:
                self._close(self._changes.popitem(last=False)[1], "changes")
            opened = self._changes[changes] = self._open_changes(changes, first)
        self._changes.move_to_end(changes)
        opened.first = first if opened.first is None else min(opened.first, first)
        opened.last = last if opened.last is None else max(opened.last, last)
        self._write(opened, batch.batch)

    def finish(self, tables: Sequence[TableChanges]) -> list[dict[str, Any]]:
        """Close all files; returns the manifest's entries, sorted by path."""
        self._flush_statements()
        for opened in self._changes.values():
            self._close(opened, "changes")
        self._close(self._transactions, "transactions")
        if self._statements is not None:
            self._close(self._statements, "statements")
        used = {
            (entry["db"], entry["table"], entry["schema_version"]) for entry in self._entries if "db" in entry
        }
        for changes in tables:
            if (changes.db, changes.name, changes.version) in used:
                used.discard((changes.db, changes.name, changes.version))
                facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
                self._entries.append({"path": f"{_schema_path(changes)}.json", "kind": "schema", **facts})
        return sorted(self._entries, key=lambda entry: entry["path"])

    def abandon(self) -> None:
        """Close what is open; the files are removed with their folder."""
        for opened in [self._transactions, *self._changes.values(), self._statements]:
            if opened is not None:
                with suppress(OSError, pa.ArrowException):
                    opened.writer.close()

    def write_schemas(self, tables: Sequence[TableChanges]) -> None:
        """Write the schema records; one that is there stays where its version began earlier."""
        folder = self._transaction.dataset.folder
        for changes in tables:
            record = folder / f"{_schema_path(changes)}.json"
            with output_errors(record):
                if _valid_from(record) <= changes.valid_from:
                    continue
                avro = json.dumps(avro_schema(changes.resolved), indent=1, ensure_ascii=False) + "\n"
                write_durably(record.with_suffix(".avsc"), avro.encode("utf-8", "surrogatepass"))
                text = json.dumps(changes.record(), indent=1, ensure_ascii=False) + "\n"
                write_durably(record, text.encode("utf-8", "surrogatepass"))

    def _open_changes(self, changes: TableChanges, first: int) -> _OpenFile:
        table = (changes.db, changes.name)
        part = self._parts.get(table, 0)
        self._parts[table] = part + 1
        start = first & 0xFFFFFFFF
        name = (
            f"changes/{escape_name(changes.db)}/{escape_name(changes.name)}/"
            f"{self._transaction.source}-{start}-{part}.parquet"
        )
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        return self._open(name, changes.schema, facts)

    def _open(self, name: str, schema: pa.Schema, facts: dict[str, Any]) -> _OpenFile:
        options = self._options
        path = self._transaction.path(name)
        with output_errors(path):
            writer = pq.ParquetWriter(
                str(path),
                schema,
                compression=options.compression,
                compression_level=options.level,
                version="2.6",
                write_statistics=True,
            )
        return _OpenFile(name, writer, facts)

    def _write(self, opened: _OpenFile, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            with output_errors(Path(opened.name)):
                opened.writer.write_batch(batch, row_group_size=batch.num_rows)
            opened.rows += batch.num_rows

    def _flush_statements(self) -> None:
        if not self._pending:
            return
        if self._statements is None:
            name = f"statements/{self._transaction.source}.parquet"
            self._statements = self._open(name, statements_schema(), {})
        self._write(self._statements, statements_batch(self._pending))
        self._pending = []

    def _close(self, opened: _OpenFile, kind: str) -> None:
        with output_errors(Path(opened.name)):
            opened.writer.close()
        written = self._transaction.written(opened.name)
        self.listed.append(written)
        facts: dict[str, Any] = {**opened.facts, "rows": opened.rows}
        if opened.first is not None:
            facts |= {"first_commit_version": opened.first, "last_commit_version": opened.last}
        self._entries.append(file_entry(written, kind, **facts))


def _schema_path(changes: TableChanges) -> str:
    return f"schemas/{escape_name(changes.db)}/{escape_name(changes.name)}/{changes.version}"


def _valid_from(record: Path) -> float:
    """The commit version that a schema record on disk is valid from; infinite where there is none."""
    try:
        found: dict[str, Any] = json.loads(record.read_text("utf-8"))
        return int(found["valid_from"])
    except (FileNotFoundError, ValueError, KeyError):
        return float("inf")
