"""The Parquet files of one source, written as its batches come."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from binx.export.dataset import Transaction, WrittenFile, escape_name
from binx.export.file_columns import with_statistics
from binx.export.hashed_stream import Room
from binx.export.index_rows import IndexGroup
from binx.export.parquet_format.arrow_schema import ArrowColumns
from binx.export.parquet_format.compression import DEFAULT_ZSTD_LEVEL
from binx.export.parquet_output import Fragment, OutputKind, ParquetOutput, columns_written
from binx.export.schema_records import schema_path
from binx.export.statements import STATEMENTS_BATCH, statements_batch
from binx.export.workers import Workers
from binx.log.index import index_schema
from binx.log.on_damage import OnDamage
from binx.rows.alike import AlikeColumns
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.decoder import DecoderOptions
from binx.rows.statements import Statement

if TYPE_CHECKING:
    from binx.export.where import Condition

MEMORY_BYTES = 32 * 1024 * 1024
"""What all tables' rows may take before the largest is handed over; more makes larger row groups."""

OPEN_WRITERS = 128
"""Parquet files that are open at the same time; beyond, the one not written to for longest rests."""

WAITING_BYTES = 32 * 1024 * 1024
"""What files that rest may hold together of what they are: most of thousands are small, and opened once."""

_CHANGES, _TRANSACTIONS, _STATEMENTS = "changes", "transactions", "statements"


class ParquetOptions(NamedTuple):
    """How the data set is written.

    Attributes:
        compression: ``zstd``, ``snappy``, ``lz4`` or ``none``.
        compression_level: of zstd; None for the level that pays here, 1.
        decoder: batching, memory and Arrow types.
        verify: whether checksums of events are compared.
        force: whether a source that is committed already with the same request is written again.
        jobs: how many processors are used: by processes that decode slices of large logs, else by threads
            that encode and write. None for as many as there are, but for at most two processes, as each takes
            memory of its own. What is written is the same.
        on_damage: what is done where a source is damaged.
        where: a condition; only row changes that fulfil it are written, and the transactions that have some.
        where_limit: how many transactions have some, at most.
    """

    compression: str = "zstd"
    compression_level: int | None = None
    decoder: DecoderOptions = DecoderOptions(memory=MEMORY_BYTES)
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
            "unsigned_bigint": "decimal" if self.decoder.arrow.unsigned_as_decimal else "uint64",
        }

    @property
    def level(self) -> int | None:
        """The compression level; None where there is none to choose."""
        if self.compression != "zstd":
            return None
        return DEFAULT_ZSTD_LEVEL if self.compression_level is None else self.compression_level


class SourceWriters:
    """The Parquet files of one source, written as batches come.

    Args:
        transaction: the source's files.
        options: how to write.
        workers: what encodes and writes.
        fragments: whether only fragments of the files are wanted, for another process.
    """

    def __init__(
        self, transaction: Transaction, options: ParquetOptions, workers: Workers, *, fragments: bool = False
    ) -> None:
        self.listed: list[WrittenFile] = []
        self._transaction = transaction
        self._options = options
        self._workers = workers
        self._are_fragments = fragments
        self._room = Room(WAITING_BYTES)
        self._outputs: dict[tuple[object, ...], ParquetOutput] = {}
        self._busy: OrderedDict[tuple[object, ...], ParquetOutput] = OrderedDict()
        self._parts: Counter[tuple[str, str]] = Counter()
        self._pending: list[Statement] = []
        self._ending: set[tuple[object, ...]] = set()
        self._alike: dict[tuple[AlikeColumns, tuple[str, ...]], tuple[list[str], ArrowColumns]] = {}

    def write_transactions(self, group: IndexGroup) -> None:
        """Add a row group of transactions."""
        output = self._transactions_file()
        self._take_up(output)
        output.write_rows(*group)

    def write_statement(self, statement: Statement) -> None:
        """Add a statement."""
        self._pending.append(statement)
        if len(self._pending) >= STATEMENTS_BATCH:
            self._flush_statements()

    def write_changes(self, batch: ChangeBatch) -> None:
        """Add row changes; each table and schema version has a file of its own."""
        output = self._outputs.get(_changes_key(batch.table))
        if output is None:
            output = self._open(*self._changes_kind(batch.table), first=batch.versions[0])
        self._take_up(output)
        output.write_changes(batch)
        if output.kind.key in self._ending:
            self._close(output)

    def end_files(self, tables: Iterable[TableChanges]) -> None:
        """Have the file of each of these tables be closed behind the next rows that it gets.

        Where several of them have one file, that is left open, as each may have rows.
        """
        counts = Counter(map(_changes_key, tables))
        self._ending = {key for key, count in counts.items() if count == 1}

    def end_slice(self) -> None:
        """Write what is held back, and let all files rest: how they go on depends on nothing before.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self._flush_statements()
        for output in self._busy.values():
            output.rest()
        self._busy.clear()

    def fragments(self) -> list[Fragment]:
        """Wait for the fragments of all files, in the order in which the files were begun.

        Raises:
            OutputError: one cannot be written.
        """
        return [output.fragment() for output in self._outputs.values()]

    def append(self, fragment: Fragment, *, is_last: bool = False) -> None:
        """Add a fragment to its file.

        Args:
            fragment: the fragment.
            is_last: whether the file gets no more.

        Raises:
            OutputError: what was added before cannot be written.
        """
        output = self._outputs.get(fragment.kind.key)
        if output is None:
            output = self._open(fragment.kind, first=fragment.counts.first or 0)
        self._take_up(output)
        output.append(fragment)
        if is_last:
            self._close(output)

    def close(self) -> None:
        """Have all files closed behind what was added.

        Raises:
            OutputError: what was added before cannot be written.
        """
        self.end_slice()
        self._transactions_file()
        for output in self._outputs.values():
            if not output.is_closed:
                output.close()

    def finish(self, tables: Iterable[tuple[str, str, str]]) -> list[dict[str, Any]]:
        """Wait for the closed files.

        Args:
            tables: database, name and schema version of the tables that were met.

        Returns:
            The manifest's entries, sorted by path.

        Raises:
            OutputError: one cannot be written.
        """
        entries = []
        for output in self._outputs.values():
            written, entry = output.result()
            self.listed.append(written)
            entries.append(entry)
        used = {(entry["db"], entry["table"], entry["schema_version"]) for entry in entries if "db" in entry}
        for db, table, version in tables:
            if (db, table, version) in used:
                used.discard((db, table, version))
                facts = {"db": db, "table": table, "schema_version": version}
                entries.append({"path": f"{schema_path(db, table, version)}.json", "kind": "schema", **facts})
        return sorted(entries, key=lambda entry: entry["path"])

    def abandon(self) -> None:
        """Close what is open; files go with their folder."""
        for output in self._outputs.values():
            output.abandon()

    def _close(self, output: ParquetOutput) -> None:
        """Have a file closed while it is open, not opened once more at the end."""
        del self._busy[output.kind.key]
        output.close()

    def _take_up(self, output: ParquetOutput) -> None:
        """Let the file that was not written to for longest rest, where there are too many."""
        key = output.kind.key
        if key not in self._busy and len(self._busy) >= OPEN_WRITERS:
            self._busy.popitem(last=False)[1].rest()
        self._busy[key] = output
        self._busy.move_to_end(key)

    def _transactions_file(self) -> ParquetOutput:
        output = self._outputs.get((_TRANSACTIONS,))
        if output is None:
            output = self._open(_other_kind(_TRANSACTIONS, index_schema(dictionaries=True)))
        return output

    def _flush_statements(self) -> None:
        pending, self._pending = self._pending, []
        if not pending:
            return
        batch = statements_batch(pending)
        output = self._outputs.get((_STATEMENTS,))
        if output is None:
            output = self._open(_other_kind(_STATEMENTS, batch.schema))
        self._take_up(output)
        output.write(batch)

    def _changes_kind(self, changes: TableChanges) -> tuple[OutputKind, ArrowColumns]:
        """What files of a table's changes are; tables that are alike share all but the names."""
        keys = changes.resolved.primary_key
        shared = self._alike.get((changes.alike, keys))
        if shared is None:
            shared = with_statistics(changes.schema, keys), columns_written(changes.schema)
            self._alike[changes.alike, keys] = shared
        statistics, columns = shared
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        return OutputKind(_changes_key(changes), _CHANGES, changes.schema, statistics, facts), columns

    def _open(
        self, kind: OutputKind, columns: ArrowColumns | None = None, *, first: int = 0
    ) -> ParquetOutput:
        """Begin a file; of row changes, whose first commit version is given."""
        source = self._transaction.source
        name = f"{kind.kind}/{source}.parquet"
        if kind.kind == _CHANGES:
            table = (kind.facts["db"], kind.facts["table"])
            part = self._parts[table]
            self._parts[table] += 1
            folder = f"{_CHANGES}/{escape_name(table[0])}/{escape_name(table[1])}"
            name = f"{folder}/{source}-{first & 0xFFFFFFFF}-{part}.parquet"
        output = self._outputs[kind.key] = ParquetOutput(
            self._transaction,
            name,
            kind,
            (self._options.compression, self._options.level),
            self._workers.lane(),
            self._room,
            columns=columns,
            is_fragment=self._are_fragments,
        )
        return output


def _changes_key(changes: TableChanges) -> tuple[object, ...]:
    return (changes.db, changes.name, changes.version, changes.stored)


def _other_kind(kind: str, schema: pa.Schema) -> OutputKind:
    return OutputKind((kind,), kind, schema, with_statistics(schema), {})
