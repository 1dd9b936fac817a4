"""Write the Parquet files of one log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa

from binx.dataset.dataset import escape_name
from binx.dataset.finder import Group
from binx.dataset.options import ParquetOptions
from binx.dataset.parquet_file import CHANGES, STATEMENTS, TRANSACTIONS, ParquetFile, Shared
from binx.dataset.statement_batches import STATEMENTS_BATCH, statements_batch, statements_schema
from binx.dataset.transaction import StagedFiles, WrittenFile, schema_path
from binx.errors import ResourceError
from binx.log.index.transactions import index_schema
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.logged_statements import Statement

CHUNKS = 32_768
"""Maximum number of column chunks in a file; their metadata is held in memory until it is closed."""

_Key = tuple[object, ...]


class SourceFiles:
    """The Parquet files of one log.

    Any call may raise an OutputError for data added earlier.

    Args:
        has_thread: whether a separate thread writes the files.
    """

    def __init__(self, transaction: StagedFiles, options: ParquetOptions, *, has_thread: bool) -> None:
        self._source = transaction.source
        self._background = Background(options.decoder.memory // 2, has_thread=has_thread)
        self._shared = Shared(transaction, options)
        self._options = options
        self._files: list[ParquetFile] = []
        self._open: dict[_Key, ParquetFile] = {}
        self._chunks: Counter[_Key] = Counter()
        self._parts: Counter[tuple[str, str]] = Counter()
        self._pending: list[Statement] = []
        self._ending: set[_Key] = set()

    def write_transactions(self, group: Group) -> None:
        """Add transactions."""
        file = self._file(TRANSACTIONS, index_schema())
        file.facts["rows"] += group.marks.count(1)
        self._background.do(lambda: file.add(group.batch()), group.size)

    def write_statement(self, statement: Statement) -> None:
        """Add a statement."""
        self._pending.append(statement)
        if len(self._pending) >= STATEMENTS_BATCH:
            self._write_statements()

    def write_changes(self, batch: ChangeBatch) -> None:
        """Add row changes. Each table and schema version has its own files, usually one."""
        batch = batch.with_keys()
        key = _key_of(batch.table)
        if self._chunks[key] + batch.batch.num_columns > CHUNKS:
            self._finish(self._open.pop(key))
            del self._chunks[key]
        file = self._open.get(key)
        if file is None or file.is_finished:
            file = self._open[key] = self._changes_file(batch)
        file.count(batch)
        if batch.batch.nbytes >= self._shared.min_bytes:
            self._chunks[key] += batch.batch.num_columns
        finishes = file.is_finished = key in self._ending
        work = file.finish if finishes else file.add
        self._background.do(lambda: work(batch.batch), batch.size)

    def end_files(self, tables: Iterable[TableChanges]) -> None:
        """Close the file of each of these tables after the next rows that are added to it.

        A file that several of the tables share stays open, as each of them may add rows.
        """
        counts = Counter(map(_key_of, tables))
        self._ending = {key for key, count in counts.items() if count == 1}

    def close(self) -> None:
        """Close all files after what was added; a file of transactions is always written."""
        self._write_statements()
        self._file(TRANSACTIONS, index_schema())
        for file in self._files:
            if not file.is_finished:
                self._finish(file)

    def finish(
        self, tables: Iterable[tuple[str, str, str]]
    ) -> tuple[list[dict[str, Any]], list[WrittenFile]]:
        """Wait for the closed files; return their manifest entries, sorted by path, and the written files.

        Args:
            tables: database, name and schema version of each table whose schema record is listed if a file
                has its rows.
        """
        self._background.join()
        self._shared.spill.close()
        entries = [file.entry() for file in self._files]
        used = {(entry["db"], entry["table"], entry["schema_version"]) for entry in entries if "db" in entry}
        for db, table, version in used.intersection(tables):
            facts = {"db": db, "table": table, "schema_version": version}
            entries.append({"path": f"{schema_path(db, table, version)}.json", "kind": "schema", **facts})
        written = [file.written for file in self._files if file.written is not None]
        return sorted(entries, key=lambda entry: str(entry["path"])), written

    def abandon(self) -> None:
        """Close open files; they are deleted with their folder."""
        self._background.close()
        for file in self._files:
            file.abandon()
        self._shared.spill.close()

    def _finish(self, file: ParquetFile) -> None:
        file.is_finished = True
        self._background.do(file.finish)

    def _write_statements(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            options = self._options
            batch = statements_batch(pending, options.decoder.arrow, options.personal, options.statements)
            file = self._file(STATEMENTS, statements_schema())
            file.facts["rows"] += batch.num_rows
            self._background.do(partial(file.add, batch), batch.nbytes)

    def _file(self, kind: str, schema: pa.Schema) -> ParquetFile:
        """Return the file of transactions or of statements."""
        if (kind,) not in self._open:
            file = ParquetFile(self._shared, f"{kind}/{self._source}.parquet", kind, schema)
            self._files.append(file)
            self._open[kind,] = file
        return self._open[kind,]

    def _changes_file(self, batch: ChangeBatch) -> ParquetFile:
        """Create the file of a table's row changes for the given first rows."""
        changes = batch.table
        table = (changes.db, changes.name)
        part = self._parts[table]
        self._parts[table] += 1
        folder = f"{CHANGES}/{escape_name(table[0])}/{escape_name(table[1])}"
        name = f"{folder}/{self._source}-{batch.versions[0] & 0xFFFFFFFF}-{part}.parquet"
        facts = {"db": changes.db, "table": changes.name, "schema_version": changes.version}
        file = ParquetFile(self._shared, name, CHANGES, changes.schema, changes.resolved.primary_key, facts)
        self._files.append(file)
        return file


def _key_of(changes: TableChanges) -> _Key:
    return (changes.db, changes.name, changes.version, changes.stored)


class Background:
    """Runs tasks in order.

    Args:
        limit: bytes that waiting tasks may hold; beyond it, :meth:`do` waits for earlier tasks.
        has_thread: whether tasks run in a thread; otherwise they run in :meth:`do`.
    """

    def __init__(self, limit: int, *, has_thread: bool) -> None:
        self._limit = limit
        self._pool = ThreadPoolExecutor(1, "binx-write") if has_thread else None
        self._waiting: deque[tuple[Future[object], int]] = deque()
        self._held_bytes = 0

    def do(self, work: Callable[[], object], size: int = 0) -> None:
        """Submit a task that holds ``size`` bytes.

        Raises:
            ResourceError: the system cannot start a thread.
            BaseException: raised by an earlier task.
        """
        if self._pool is None:
            work()
            return
        while self._waiting and (self._waiting[0][0].done() or self._held_bytes + size > self._limit):
            self._take_oldest()
        try:
            future: Future[object] = self._pool.submit(work)
        except RuntimeError as error:
            raise ResourceError.of("threads", error) from error
        self._waiting.append((future, size))
        self._held_bytes += size

    def join(self) -> None:
        """Wait until all tasks are done.

        Raises:
            BaseException: raised by one of them.
        """
        while self._waiting:
            self._take_oldest()

    def close(self) -> None:
        """Cancel tasks that have not begun, and wait for the running one."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._waiting.clear()

    def _take_oldest(self) -> None:
        future, size = self._waiting.popleft()
        self._held_bytes -= size
        future.result()
