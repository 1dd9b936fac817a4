"""The Parquet files of one source, written as its batches come."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binx.errors import OutputError
from binx.export.dataset import Transaction, WrittenFile, escape_name
from binx.export.file_columns import with_statistics
from binx.export.index_rows import IndexGroup
from binx.export.parquet_format.compression import DEFAULT_ZSTD_LEVEL
from binx.export.parquet_output import ParquetOutput
from binx.export.statements import STATEMENTS_BATCH, statements_batch
from binx.export.store import Store
from binx.export.workers import Workers
from binx.log.index import index_schema
from binx.log.on_damage import OnDamage
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.decoder import DecoderOptions
from binx.rows.records import avro_schema
from binx.rows.statements import Statement

if TYPE_CHECKING:
    from binx.export.where import Condition

OPEN_WRITERS = 128
"""Parquet files that are written at the same time; beyond, the one not written to for longest is closed."""


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """How the data set is written.

    Attributes:
        compression: ``zstd``, ``snappy``, ``lz4`` or ``none``.
        compression_level: of zstd; None for the level that pays here, 1.
        decoder: batching, memory and Arrow types.
        verify: whether checksums of events are compared.
        force: whether a source that is committed already with the same request is written again.
        jobs: threads that encode and write; None for as many as there are processors. What is written is the
            same.
        on_damage: what is done where a source is damaged.
        where: a condition; only row changes that fulfil it are written, and the transactions that have some.
        where_limit: how many transactions have some, at most.
    """

    compression: str = "zstd"
    compression_level: int | None = None
    decoder: DecoderOptions = field(default_factory=DecoderOptions)
    verify: bool = True
    force: bool = False
    jobs: int | None = None
    on_damage: OnDamage = OnDamage.STOP
    where: Condition | None = None
    where_limit: int | None = None

    def facts(self) -> dict[str, Any]:
        """What of it decides the bytes written, for the manifest."""
        salvages = self.on_damage is OnDamage.SALVAGE
        return {
            **({"on_damage": self.on_damage.value} if salvages else {}),
            **({} if self.where is None else {"where": self.where.text, "limit": self.where_limit}),
            "compression": self.compression,
            "compression_level": self.level,
            "row_group_rows": self.decoder.row_group_rows,
            "memory": self.decoder.memory,
            "unsigned_bigint": self.decoder.arrow.unsigned_bigint,
        }

    @property
    def level(self) -> int | None:
        """The compression level; None where there is none to choose."""
        if self.compression != "zstd":
            return None
        return DEFAULT_ZSTD_LEVEL if self.compression_level is None else self.compression_level


class SourceWriters:
    """The Parquet files of one source, written as batches come."""

    def __init__(self, transaction: Transaction, options: ParquetOptions, workers: Workers) -> None:
        self.listed: list[WrittenFile] = []
        self._transaction = transaction
        self._options = options
        self._workers = workers
        self._outputs: list[ParquetOutput] = []
        self._changes: OrderedDict[TableChanges, ParquetOutput] = OrderedDict()
        self._parts: dict[tuple[str, str], int] = {}
        self._transactions: ParquetOutput | None = None
        self._statements: ParquetOutput | None = None
        self._pending: list[Statement] = []

    def write_transactions(self, group: IndexGroup) -> None:
        """Add a row group of transactions."""
        self._transactions_file().write_rows(*group)

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
        output = self._changes.get(changes)
        if output is None:
            if len(self._changes) >= OPEN_WRITERS:
                self._changes.popitem(last=False)[1].close()
            output = self._changes[changes] = self._open_changes(changes, first)
        self._changes.move_to_end(changes)
        output.saw(first, last)
        output.write(batch.batch)

    def close(self) -> None:
        """Have all files closed behind what was added.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self._flush_statements()
        for output in self._changes.values():
            output.close()
        self._changes.clear()
        self._transactions_file().close()
        if self._statements is not None:
            self._statements.close()

    def finish(self, tables: Sequence[TableChanges]) -> list[dict[str, Any]]:
        """Wait for the closed files; returns the manifest's entries, sorted by path.

        Raises:
            OutputError: one cannot be written.
        """
        entries = []
        for output in self._outputs:
            written, entry = output.result()
            self.listed.append(written)
            entries.append(entry)
        used = {(entry["db"], entry["table"], entry["schema_version"]) for entry in entries if "db" in entry}
        for changes in tables:
            if (changes.db, changes.name, changes.version) in used:
                used.discard((changes.db, changes.name, changes.version))
                facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
                entries.append({"path": f"{_schema_path(changes)}.json", "kind": "schema", **facts})
        return sorted(entries, key=lambda entry: entry["path"])

    def abandon(self) -> None:
        """Close what is open; files go with their folder."""
        for output in self._outputs:
            output.abandon()

    def _transactions_file(self) -> ParquetOutput:
        if self._transactions is None:
            name = f"transactions/{self._transaction.source}.parquet"
            schema = index_schema(dictionaries=True)
            self._transactions = self._open(name, "transactions", schema)
        return self._transactions

    def _open_changes(self, changes: TableChanges, first: int) -> ParquetOutput:
        table = (changes.db, changes.name)
        part = self._parts.get(table, 0)
        self._parts[table] = part + 1
        start = first & 0xFFFFFFFF
        name = (
            f"changes/{escape_name(changes.db)}/{escape_name(changes.name)}/"
            f"{self._transaction.source}-{start}-{part}.parquet"
        )
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        return self._open(name, "changes", changes.schema, changes.resolved.primary_key, facts)

    def _open(
        self,
        name: str,
        kind: str,
        schema: pa.Schema,
        keys: Sequence[str] = (),
        facts: dict[str, Any] | None = None,
    ) -> ParquetOutput:
        output = ParquetOutput(
            self._transaction,
            name,
            kind,
            schema,
            with_statistics(schema, keys),
            (self._options.compression, self._options.level),
            facts or {},
            self._workers.lane(),
        )
        self._outputs.append(output)
        return output

    def _flush_statements(self) -> None:
        if not self._pending:
            return
        batch = statements_batch(self._pending)
        if self._statements is None:
            name = f"statements/{self._transaction.source}.parquet"
            self._statements = self._open(name, "statements", batch.schema)
        self._statements.write(batch)
        self._pending = []


@dataclass(frozen=True, slots=True)
class SchemaRecord:
    """The record of a table's schema version, as text.

    Attributes:
        path: below the data set's folder.
        valid_from: commit version of the first transaction that was read so.
        text: the record.
        avro: the same as an Avro schema.
    """

    path: str
    valid_from: int
    text: str
    avro: str


def schema_records(tables: Iterable[TableChanges]) -> Iterator[SchemaRecord]:
    """The schema records of tables, each made when it is asked for."""
    for changes in tables:
        yield SchemaRecord(
            f"{_schema_path(changes)}.json",
            changes.valid_from,
            json.dumps(changes.record(), indent=1, ensure_ascii=False) + "\n",
            json.dumps(avro_schema(changes.resolved), indent=1, ensure_ascii=False) + "\n",
        )


class SchemaWriter:
    """Writes the schema records of a source; those that are new can be taken back."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._new: list[str] = []

    def write(self, records: Iterable[SchemaRecord]) -> None:
        """Write records; one that is there stays where its version began earlier.

        Raises:
            OutputError: one cannot be written.
            SourceError: one that is there cannot be read.
        """
        for one in records:
            avro_path = f"{one.path.removesuffix('.json')}.avsc"
            there = self._store.read(one.path)
            if _valid_from(there) <= one.valid_from:
                continue
            if there is None:
                self._new += [one.path, avro_path]
            self._store.put(avro_path, one.avro.encode("utf-8", "surrogatepass"))
            self._store.put(one.path, one.text.encode("utf-8", "surrogatepass"))

    def take_back(self) -> None:
        """Remove what was not there before."""
        for name in self._new:
            with suppress(OutputError):
                self._store.remove(name)


def _schema_path(changes: TableChanges) -> str:
    return f"schemas/{escape_name(changes.db)}/{escape_name(changes.name)}/{changes.version}"


def _valid_from(record: bytes | None) -> float:
    """The commit version that a schema record is valid from; infinite where there is none."""
    if record is None:
        return float("inf")
    try:
        found: dict[str, Any] = json.loads(record)
        return int(found["valid_from"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return float("inf")
