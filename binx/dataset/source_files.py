"""The Parquet files of one log, written as its rows come."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa

from binx.dataset.dataset import Transaction, WrittenFile, escape_name
from binx.dataset.manifest import file_entry
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet_file import FileKind, ParquetFile, Shared, with_statistics
from binx.dataset.schema_records import schema_path
from binx.dataset.statements import STATEMENTS_BATCH, statements_batch, statements_schema
from binx.errors import ResourceError
from binx.log.index.transactions import index_schema
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.statements import Statement

_CHANGES, _TRANSACTIONS, _STATEMENTS = "changes", "transactions", "statements"
_IDENTIFIERS = {
    _CHANGES: ("_transaction",),
    _TRANSACTIONS: ("transaction", "gtid"),
    _STATEMENTS: ("transaction",),
}
CHUNKS = 32_768
"""Columns of all row groups that a file gets: what its foot says of each is held until it is closed."""


class _Output:
    """A file, and what the manifest says of its rows.

    Attributes:
        file: the file; what it does is done in the background.
        partial: how many of them lack columns.
        versions: first and last commit version of rows; None where that is not told.
        chunks: columns of all row groups so far, about.
    """

    __slots__ = ("chunks", "file", "is_finished", "kind", "partial", "rows", "versions")

    def __init__(self, shared: Shared, name: str, kind: FileKind) -> None:
        self.kind = kind
        self.file = ParquetFile(shared, name, kind)
        self.rows = 0
        self.partial = 0
        self.versions: tuple[int, int] | None = None
        self.is_finished = False
        self.chunks = 0

    def count(self, batch: ChangeBatch) -> None:
        """Take in what a batch of row changes has."""
        first, last = batch.versions
        self.rows += batch.rows
        self.partial += batch.partial_rows
        before = self.versions or (first, last)
        self.versions = min(before[0], first), max(before[1], last)

    def entry(self, written: WrittenFile) -> dict[str, Any]:
        """The manifest's line."""
        facts = {**self.kind.facts, "rows": self.rows}
        if self.kind.kind == _CHANGES:
            facts["partial_rows"] = self.partial
        if self.versions is not None:
            facts["first_commit_version"], facts["last_commit_version"] = self.versions
        return file_entry(written, self.kind.kind, **facts)


class SourceFiles:
    """The Parquet files of one log.

    An OutputError about what was added before may come with any call.
    """

    def __init__(self, transaction: Transaction, options: ParquetOptions, background: Background) -> None:
        self.listed: list[WrittenFile] = []
        self._source = transaction.source
        self._background = background
        self._shared = Shared(transaction, options)
        self._options = options
        self._outputs: dict[tuple[object, ...], _Output] = {}
        self._parts: Counter[tuple[str, str]] = Counter()
        self._pending: list[Statement] = []
        self._ending: set[tuple[object, ...]] = set()

    def write_transactions(self, batch: pa.RecordBatch) -> None:
        """Add transactions."""
        self._write(self._output(_TRANSACTIONS, index_schema()), batch)

    def write_statement(self, statement: Statement) -> None:
        """Add a statement."""
        self._pending.append(statement)
        if len(self._pending) >= STATEMENTS_BATCH:
            self._write_statements()

    def write_changes(self, batch: ChangeBatch) -> None:
        """Add row changes; each table and schema version has files of its own, mostly one."""
        key = _changes_key(batch.table)
        output = self._outputs.get(key)
        if output is not None and output.chunks + batch.batch.num_columns > CHUNKS:
            self._finish(output)
            self._outputs[*key, len(self._outputs)] = output
            output = None
        if output is None:
            output = self._outputs[key] = self._changes_output(batch)
        output.count(batch)
        if batch.batch.nbytes >= self._shared.least:
            output.chunks += batch.batch.num_columns
        finishes = output.is_finished = key in self._ending
        work = output.file.finish if finishes else output.file.add
        self._background.do(lambda: work(batch.batch), batch.size)

    def end_files(self, tables: Iterable[TableChanges]) -> None:
        """Have the file of each of these tables be closed behind the next rows that it gets.

        Where several of them have one file, that is left open, as each may have rows.
        """
        counts = Counter(map(_changes_key, tables))
        self._ending = {key for key, count in counts.items() if count == 1}

    def close(self) -> None:
        """Have all files closed behind what was added."""
        self._write_statements()
        self._output(_TRANSACTIONS, index_schema())
        for output in self._outputs.values():
            if not output.is_finished:
                self._finish(output)

    def _finish(self, output: _Output) -> None:
        output.is_finished = True
        self._background.do(output.file.finish)

    def finish(self, tables: Iterable[tuple[str, str, str]]) -> list[dict[str, Any]]:
        """Wait for the closed files; gives the manifest's entries, sorted by path."""
        self._background.join()
        self._shared.spill.close()
        entries = []
        for output in self._outputs.values():
            if output.file.written is None:
                raise ValueError(f"a file of {self._source} is not closed")
            self.listed.append(output.file.written)
            entries.append(output.entry(output.file.written))
        used = {(entry["db"], entry["table"], entry["schema_version"]) for entry in entries if "db" in entry}
        for db, table, version in tables:
            if (db, table, version) in used:
                used.discard((db, table, version))
                facts = {"db": db, "table": table, "schema_version": version}
                entries.append({"path": f"{schema_path(db, table, version)}.json", "kind": "schema", **facts})
        return sorted(entries, key=lambda entry: entry["path"])

    def abandon(self) -> None:
        """Close what is open; files go with their folder."""
        self._background.close()
        for output in self._outputs.values():
            output.file.abandon()
        self._shared.spill.close()

    def _write(self, output: _Output, batch: pa.RecordBatch) -> None:
        output.rows += batch.num_rows
        self._background.do(partial(output.file.add, batch), batch.nbytes)

    def _write_statements(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            batch = statements_batch(
                pending, self._options.decoder.arrow, self._options.personal, self._options.statements
            )
            self._write(self._output(_STATEMENTS, statements_schema()), batch)

    def _output(self, kind: str, schema: pa.Schema) -> _Output:
        """The file of transactions, or that of statements."""
        if (kind,) not in self._outputs:
            file = FileKind(kind, schema, with_statistics(schema), _IDENTIFIERS[kind], {})
            self._outputs[kind,] = _Output(self._shared, f"{kind}/{self._source}.parquet", file)
        return self._outputs[kind,]

    def _changes_output(self, batch: ChangeBatch) -> _Output:
        """The file of a table's row changes, whose first rows are given."""
        changes = batch.table
        table = (changes.db, changes.name)
        part = self._parts[table]
        self._parts[table] += 1
        folder = f"{_CHANGES}/{escape_name(table[0])}/{escape_name(table[1])}"
        name = f"{folder}/{self._source}-{batch.versions[0] & 0xFFFFFFFF}-{part}.parquet"
        statistics = with_statistics(changes.schema, changes.resolved.primary_key)
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        kind = FileKind(_CHANGES, changes.schema, statistics, _IDENTIFIERS[_CHANGES], facts)
        return _Output(self._shared, name, kind)


def _changes_key(changes: TableChanges) -> tuple[object, ...]:
    return (changes.db, changes.name, changes.version, changes.stored)


class Background:
    """Does work in the order in which it comes.

    Args:
        limit: bytes that work which waits may hold; whoever hands over more waits for what came before.
        has_thread: whether it is done in a thread; else it is done when it is handed over.
    """

    def __init__(self, limit: int, *, has_thread: bool) -> None:
        self._limit = limit
        self._pool = ThreadPoolExecutor(1, "binx-write") if has_thread else None
        self._waiting: deque[tuple[Future[object], int]] = deque()
        self._held = 0

    def do(self, work: Callable[[], object], size: int = 0) -> None:
        """Hand over work that holds so many bytes.

        Raises:
            ResourceError: the system starts no thread.
            BaseException: what work that was handed over before has raised.
        """
        if self._pool is None:
            work()
            return
        while self._waiting and (self._waiting[0][0].done() or self._held + size > self._limit):
            self._take_oldest()
        try:
            future: Future[object] = self._pool.submit(work)
        except RuntimeError as error:
            raise ResourceError.of("threads", error) from error
        self._waiting.append((future, size))
        self._held += size

    def join(self) -> None:
        """Wait until all work is done.

        Raises:
            BaseException: what some of it has raised.
        """
        while self._waiting:
            self._take_oldest()

    def close(self) -> None:
        """Forget work that is not begun, and wait until nothing is worked on."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._waiting.clear()

    def _take_oldest(self) -> None:
        future, size = self._waiting.popleft()
        self._held -= size
        future.result()
