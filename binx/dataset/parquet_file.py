"""Write one Parquet file of a log: collect row groups, and hash the file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.dataset.encoding import writer_settings
from binx.dataset.options import ParquetOptions
from binx.dataset.transaction import StagedFiles, WrittenFile
from binx.log.index.transactions import index_schema
from binx.rows.columns.names import SYSTEM_COLUMNS
from binx.storage.hashing import HashedFile
from binx.storage.output_errors import output_errors

if TYPE_CHECKING:
    from binx.rows.batches import ChangeBatch

CHANGES, TRANSACTIONS, STATEMENTS = "changes", "transactions", "statements"
_IDENTIFIERS = {
    CHANGES: ("_transaction",),
    TRANSACTIONS: ("transaction", "gtid"),
    STATEMENTS: ("transaction",),
}
"""Columns of transaction ids, which are text in files, as their dictionaries may have a GTID twice."""

_SETTLED = {CHANGES: SYSTEM_COLUMNS, TRANSACTIONS: index_schema().names}
"""Columns whose encoding was measured once for all logs."""


def with_statistics(schema: pa.Schema, keys: Collection[str] = ()) -> list[str]:
    """Return the columns to write min/max statistics for: numbers, times, and text columns of keys.

    Rows are looked up by these columns. For other text, statistics would cost more than they help.
    """
    return [
        field.name
        for field in schema
        if _is_number(field.type) or (_is_text(field.type) and field.name in keys)
    ]


def _is_number(data_type: pa.DataType) -> bool:
    """Whether values are numbers or times."""
    return bool(
        pa.types.is_integer(data_type)
        or pa.types.is_temporal(data_type)
        or pa.types.is_decimal(data_type)
        or pa.types.is_floating(data_type)
    )


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


OPEN_FILES = 64
"""Maximum number of files open at once; rows of further tables are spilled until the end."""

_PARTS_OF_MEMORY = 32
"""Batches smaller than this fraction of the memory for rows are spilled."""

_SPILLED_PARTS = 8
"""Spilled batches become a row group once they reach this many times that size."""


class Shared:
    """State shared by the files of one log."""

    def __init__(self, transaction: StagedFiles, options: ParquetOptions) -> None:
        self.transaction = transaction
        self.options = options
        self.spill = Spill(transaction.folder)
        self.open_files = 0
        self.min_bytes = options.decoder.memory // _PARTS_OF_MEMORY


class ParquetFile:
    """A Parquet file of a log.

    A batch that is large enough becomes a row group at once. Small ones are spilled, so that thousands of
    tables do not take memory, and large tables do not get small row groups.
    """

    # A log may have thousands of tables, and thus of these objects.
    __slots__ = (
        "_bytes", "_identifiers", "_keys", "_name", "_schema", "_shared", "_sink", "_spilled", "_writer",
        "facts", "is_finished", "kind", "versions", "written",
    )  # fmt: skip

    def __init__(
        self,
        shared: Shared,
        name: str,
        kind: str,
        schema: pa.Schema,
        keys: Collection[str] = (),
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.facts = {**(facts or {}), "rows": 0, **({"partial_rows": 0} if kind == CHANGES else {})}
        self.versions: tuple[int, int] | None = None
        self.is_finished = False
        self.written: WrittenFile | None = None
        self._shared = shared
        self._name = name
        self._keys = keys
        self._identifiers = _IDENTIFIERS[kind]
        self._schema = _with_text_columns(schema, self._identifiers)
        self._spilled: list[tuple[int, int]] = []
        self._bytes = 0
        self._sink: HashedFile | None = None
        self._writer: pq.ParquetWriter | None = None

    def count(self, batch: ChangeBatch) -> None:
        """Count row changes for the manifest's entry."""
        first, last = batch.versions
        self.facts["rows"] += batch.rows
        self.facts["partial_rows"] += batch.partial_rows
        before = self.versions or (first, last)
        self.versions = min(before[0], first), max(before[1], last)

    def entry(self) -> dict[str, Any]:
        """Return the manifest's entry for the closed file."""
        assert self.written is not None
        path, size, sha256 = self.written
        entry = {"path": path, "kind": self.kind, "bytes": size, "sha256": sha256, **self.facts}
        if self.versions is not None:
            entry["first_commit_version"], entry["last_commit_version"] = self.versions
        return entry

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows, as a row group or to the spill file."""
        shared, size = self._shared, batch.nbytes
        may_open = self._writer is not None or shared.open_files < OPEN_FILES
        with self._errors():
            if may_open and size >= shared.min_bytes:
                self._write([*self._take_spilled(), batch])
                return
            self._spilled.append(shared.spill.put(batch))
            self._bytes += size
            if may_open and self._bytes >= shared.min_bytes * _SPILLED_PARTS:
                self._write(self._take_spilled())

    def finish(self, last: pa.RecordBatch | None = None) -> None:
        """Add the last rows, if any, and close the file."""
        with self._errors():
            self._write_last(last)
            writer, sink = self._writer or self._open(None), self._sink
            self._writer = self._sink = None
            self._shared.open_files -= 1
            writer.close()
            if sink is not None:
                sink.close()
                self.written = self._shared.transaction.written(self._name, sink.sha256)

    def abandon(self) -> None:
        """Close the file without finishing it."""
        self._writer = None
        if self._sink is not None:
            self._sink.close()

    def _write_last(self, last: pa.RecordBatch | None) -> None:
        """Write the spilled batches as row groups; the last rows join the final one."""
        extents, self._spilled = self._spilled, []
        group: list[pa.RecordBatch] = []
        size = 0
        for batch in self._shared.spill.read(extents):
            group.append(batch)
            size += batch.nbytes
            if size >= self._shared.min_bytes * _SPILLED_PARTS:
                self._write(group)
                group, size = [], 0
        if last is not None:
            group.append(last)
        if group:
            self._write(group)

    def _take_spilled(self) -> list[pa.RecordBatch]:
        extents, self._spilled, self._bytes = self._spilled, [], 0
        return list(self._shared.spill.read(extents))

    def _write(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Write batches as one row group, or as several if they exceed its maximum number of rows."""
        table = pa.Table.from_batches(
            [_with_text(batch, self._identifiers, self._schema) for batch in batches]
        )
        if len(batches) > 1:
            # A row group has one dictionary per column; values of a second dictionary would be written plain.
            table = table.unify_dictionaries().combine_chunks()
        writer = self._writer or self._open(table)
        writer.write_table(table, row_group_size=self._shared.options.decoder.row_group_rows)

    def _open(self, first: pa.Table | None) -> pq.ParquetWriter:
        options = self._shared.options
        self._sink = HashedFile(self._shared.transaction.path(self._name))
        self._writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            write_statistics=with_statistics(self._schema, self._keys),
            **writer_settings(
                self._schema, first, options.compression, options.level, _SETTLED.get(self.kind, ())
            ),
        )
        self._shared.open_files += 1
        return self._writer

    def _errors(self) -> output_errors:
        return output_errors(self._shared.transaction.shown(self._name))


def _with_text_columns(schema: pa.Schema, identifiers: Collection[str]) -> pa.Schema:
    """Return the schema with dictionary-encoded identifiers as text."""
    for name in identifiers:
        index = schema.get_field_index(name)
        field = schema.field(index)
        if pa.types.is_dictionary(field.type):
            schema = schema.set(index, field.with_type(field.type.value_type))
    return schema


def _with_text(batch: pa.RecordBatch, identifiers: Collection[str], schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with identifiers as text, as in the file's schema."""
    for name in identifiers:
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, schema.field(index), column.dictionary_decode())
    return batch


_HELD_BYTES = 1 << 20
"""Maximum size of spilled batches that are held in memory."""


class Spill:
    """Record batches in a temporary file, or in memory if they are few."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = tempfile.SpooledTemporaryFile(_HELD_BYTES, dir=os.fspath(folder))  # noqa: SIM115

    def put(self, batch: pa.RecordBatch) -> tuple[int, int]:
        """Append a batch; return its offset and size."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        start = self._file.seek(0, os.SEEK_END)
        return start, self._file.write(sink.getvalue())

    def read(self, extents: Iterable[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        """Yield the batches at these offsets."""
        for offset, size in extents:
            self._file.seek(offset)
            yield pa.ipc.open_stream(pa.py_buffer(self._file.read(size))).read_next_batch()

    def close(self) -> None:
        """Close the file, which deletes it."""
        self._file.close()
