"""The Parquet files of one source, written as its batches come."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.export.dataset import Transaction, WrittenFile, escape_name, output_errors, write_durably
from binx.export.encodings import column_settings, with_distinct_words
from binx.export.manifest import file_entry
from binx.export.statements import STATEMENTS_BATCH, statements_batch
from binx.log.index import index_schema
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.decoder import DecoderOptions
from binx.rows.records import avro_schema
from binx.rows.statements import Statement

OPEN_WRITERS = 128
"""Parquet files that are written at the same time; beyond, the one not written to for longest is closed."""


_IDENTIFIERS = ("transaction", "gtid")
"""Columns of GTIDs in the files of transactions and statements."""


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


@dataclass(slots=True)
class _OpenFile:
    name: str
    writer: pq.ParquetWriter
    facts: dict[str, Any]
    words: list[str]
    rows: int = 0
    first: int | None = None
    last: int | None = None


class SourceWriters:
    """The Parquet files of one source, written as batches come."""

    def __init__(self, transaction: Transaction, options: ParquetOptions) -> None:
        self.listed: list[WrittenFile] = []
        self._transaction = transaction
        self._options = options
        self._entries: list[dict[str, Any]] = []
        self._changes: OrderedDict[TableChanges, _OpenFile] = OrderedDict()
        self._parts: dict[tuple[str, str], int] = {}
        self._transactions: _OpenFile | None = None
        self._statements: _OpenFile | None = None
        self._pending: list[Statement] = []
        self._new_schemas: list[Path] = []

    def write_transactions(self, batch: pa.RecordBatch) -> None:
        """Add transactions, as :func:`~binx.log.index.index_batch` gives them with dictionaries."""
        if batch.num_rows:
            self._write(self._transactions_file(batch), batch)

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
            opened = self._changes[changes] = self._open_changes(batch, first)
        self._changes.move_to_end(changes)
        opened.first = first if opened.first is None else min(opened.first, first)
        opened.last = last if opened.last is None else max(opened.last, last)
        self._write(opened, batch.batch)

    def finish(self, tables: Sequence[TableChanges]) -> list[dict[str, Any]]:
        """Close all files; returns the manifest's entries, sorted by path."""
        self._flush_statements()
        for opened in self._changes.values():
            self._close(opened, "changes")
        self._close(self._transactions_file(None), "transactions")
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
        """Close what is open; files go with their folder, and schema records that are new are removed."""
        for opened in [self._transactions, *self._changes.values(), self._statements]:
            if opened is not None:
                with suppress(OSError, pa.ArrowException):
                    opened.writer.close()
        if not self._transaction.committed:
            for path in self._new_schemas:
                with suppress(OSError):
                    path.unlink()

    def write_schemas(self, tables: Sequence[TableChanges]) -> None:
        """Write the schema records; one that is there stays where its version began earlier."""
        folder = self._transaction.dataset.folder
        for changes in tables:
            record = folder / f"{_schema_path(changes)}.json"
            avro_record = record.with_suffix(".avsc")
            with output_errors(record):
                if _valid_from(record) <= changes.valid_from:
                    continue
                if not record.exists():
                    self._new_schemas += [record, avro_record]
                avro = json.dumps(avro_schema(changes.resolved), indent=1, ensure_ascii=False) + "\n"
                write_durably(avro_record, avro.encode("utf-8", "surrogatepass"))
                text = json.dumps(changes.record(), indent=1, ensure_ascii=False) + "\n"
                write_durably(record, text.encode("utf-8", "surrogatepass"))

    def _transactions_file(self, first: pa.RecordBatch | None) -> _OpenFile:
        if self._transactions is None:
            name = f"transactions/{self._transaction.source}.parquet"
            schema = index_schema(dictionaries=True)
            self._transactions = self._open(
                name, schema, {}, column_settings(schema, first, identifiers=_IDENTIFIERS)
            )
        return self._transactions

    def _open_changes(self, batch: ChangeBatch, first: int) -> _OpenFile:
        changes = batch.table
        table = (changes.db, changes.name)
        part = self._parts.get(table, 0)
        self._parts[table] = part + 1
        start = first & 0xFFFFFFFF
        name = (
            f"changes/{escape_name(changes.db)}/{escape_name(changes.name)}/"
            f"{self._transaction.source}-{start}-{part}.parquet"
        )
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        settings = column_settings(changes.schema, batch.batch, changes.resolved.primary_key)
        return self._open(name, changes.schema, facts, settings)

    def _open(
        self, name: str, schema: pa.Schema, facts: dict[str, Any], settings: dict[str, Any]
    ) -> _OpenFile:
        options = self._options
        path = self._transaction.path(name)
        with output_errors(path):
            writer = pq.ParquetWriter(
                str(path),
                schema,
                compression=options.compression,
                compression_level=options.level,
                version="2.6",
                **settings,
            )
        return _OpenFile(name, writer, facts, settings["use_dictionary"])

    def _write(self, opened: _OpenFile, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            with output_errors(Path(opened.name)):
                opened.writer.write_batch(
                    with_distinct_words(batch, opened.words), row_group_size=batch.num_rows
                )
            opened.rows += batch.num_rows

    def _flush_statements(self) -> None:
        if not self._pending:
            return
        batch = statements_batch(self._pending)
        if self._statements is None:
            name = f"statements/{self._transaction.source}.parquet"
            self._statements = self._open(
                name, batch.schema, {}, column_settings(batch.schema, batch, identifiers=_IDENTIFIERS)
            )
        self._write(self._statements, batch)
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
