"""Record batches of row changes: the system columns, then the table's own.

The layout is that of Delta's change data feed: one row per row image, two for an update.
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from binx.errors import BinxError
from binx.event.column import Column as StoredColumn
from binx.rows.columns.arrays import Column, ColumnArrays, ColumnBuffers
from binx.rows.columns.arrow_schema import MISFITS, shared_columns
from binx.rows.columns.names import ResolvedTable
from binx.rows.columns.types import ArrowOptions

CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")
"""In the order of the kernel's numbers."""

_COMMIT_VERSION, _PRESENT = 1, 8
"""Indexes of system columns."""

_BEFORE, _AFTER = map(CHANGE_TYPES.index, ("update_preimage", "update_postimage"))


class ChangeBatch:
    """Row changes of one table, all of one schema version.

    Attributes:
        rows_flags: the low byte of each row's event flags, uint8; None if the rows are not from a log.
        typed_documents: number of JSON documents with values of SQL types that their text does not show.
    """

    def __init__(
        self,
        table: TableChanges,
        rows: int,
        columns: list[Column],
        rows_flags: pa.UInt8Array | None,
        typed_documents: int,
    ) -> None:
        self.table = table
        self.rows = rows
        self.columns = columns
        self.rows_flags = rows_flags
        self.typed_documents = typed_documents

    @property
    def version(self) -> str:
        """The schema version of the rows."""
        return self.table.version

    @property
    def versions(self) -> tuple[int, int]:
        """The first and the last commit version."""
        versions = self.columns[_COMMIT_VERSION]
        if isinstance(versions, ColumnBuffers):
            numbers = memoryview(versions.values).cast("q")
            return numbers[0], numbers[self.rows - 1]
        return versions[0].as_py(), versions[-1].as_py()

    @property
    def partial_rows(self) -> int:
        """Number of rows that lack columns."""
        present = self.columns[_PRESENT]
        return self.rows - (present.nulls if isinstance(present, ColumnBuffers) else present.null_count)

    @cached_property
    def batch(self) -> pa.RecordBatch:
        """The rows as an Arrow record batch."""
        arrays = [self.array(index) for index in range(len(self.columns))]
        return pa.RecordBatch.from_arrays(arrays, schema=self.table.batch_schema)

    def array(self, index: int) -> pa.Array:
        """Return the column at a position as an array."""
        column = self.columns[index]
        if isinstance(column, ColumnBuffers):
            return column.array(self.table.shared.types[index], self.rows)
        return column

    @property
    def size(self) -> int:
        """Bytes that the columns hold."""
        return sum(
            sum(memoryview(data).nbytes for data in (column.values, column.data) if data is not None)
            if isinstance(column, ColumnBuffers)
            else column.get_total_buffer_size()
            for column in self.columns
        )

    @property
    def change_types(self) -> bytes:
        """The change type of each row, as an index of :data:`CHANGE_TYPES`."""
        codes = self.columns[0]
        if isinstance(codes, ColumnBuffers):
            return bytes(codes.values)
        numbers = codes.indices
        return memoryview(numbers.buffers()[1])[numbers.offset :][: len(numbers)].tobytes()

    def with_keys(self) -> ChangeBatch:
        """Return the batch with the key of each before image repeated where the after image lacks it.

        With a row image of MINIMAL, an after image has only what changed. ``_present`` stays as logged.
        """
        names = [column.name for column in self.table.resolved.columns]
        keys = [names.index(name) for name in self.table.resolved.primary_key if name in names]
        if not keys or not self.partial_rows:
            return self
        kinds = np.frombuffer(self.change_types, np.uint8)
        pairs = np.zeros(self.rows, bool)
        pairs[1:] = (kinds[1:] == _AFTER) & (kinds[:-1] == _BEFORE)
        present = self.array(_PRESENT)
        _, offsets, data = (buffer and memoryview(buffer) for buffer in present.buffers())
        begins = np.frombuffer(offsets, np.int32)[present.offset :][: self.rows + 1]
        partial, bits = np.diff(begins) > 0, np.frombuffer(data, np.uint8)
        columns = list(self.columns)
        for key in keys:
            lacks_key = partial.copy()
            lacks_key[partial] = bits[begins[:-1][partial] + key // 8] >> key % 8 & 1 == 0
            rows = np.arange(self.rows) - (pairs & lacks_key)
            index = len(columns) - len(names) + key
            columns[index] = self.array(index).take(pa.array(rows))
        return ChangeBatch(self.table, self.rows, columns, self.rows_flags, self.typed_documents)

    def take(self, rows: pa.Int64Array) -> ChangeBatch:
        """Return a batch of some of the rows, by their indexes."""
        flags = None if self.rows_flags is None else self.rows_flags.take(rows)
        columns = self.batch.take(rows).columns
        return ChangeBatch(self.table, len(rows), columns, flags, self.typed_documents)


class TableChanges:
    r"""One table in one schema version: how its rows become batches.

    Attributes:
        valid_from: commit version of the first transaction that was read so.
        undecodable: values that became text with ``\xNN`` escapes, by column name.
    """

    def __init__(
        self,
        stored: tuple[StoredColumn, ...],
        resolved: ResolvedTable,
        options: ArrowOptions,
        valid_from: int,
    ) -> None:
        self.resolved = resolved
        self.shared = shared_columns(stored, resolved.columns, options)
        self.records = self.shared.records
        self.valid_from = valid_from

    @property
    def stored(self) -> tuple[tuple[int, int], ...]:
        """How the log stores the columns; empty if the rows are not from a log."""
        return self.shared.stored

    @cached_property
    def _arrays(self) -> list[ColumnArrays]:
        return self.shared.arrays()

    @cached_property
    def version(self) -> str:
        """8 hex digits over everything that readers of the rows rely on."""
        return self.records.version(self.db, self.name)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema with the schema version, which batches of raw text lack."""
        return self.shared.schema.with_metadata({b"binx.schema_version": self.version.encode()})

    @property
    def db(self) -> str:
        """The database's name."""
        return self.resolved.db

    @property
    def name(self) -> str:
        """The table's name."""
        return self.resolved.name

    @property
    def undecodable(self) -> dict[str, int]:
        """Number of values with bytes that are invalid in their character set, by column."""
        pairs = zip(self.resolved.columns, self._arrays, strict=True)
        return {column.name: arrays.undecodable for column, arrays in pairs if arrays.undecodable}

    def schema_record(self, create_table: str | None) -> str:
        """Return the schema record of this version, as JSON.

        Args:
            create_table: the statement that makes the table; None if it is not known.
        """
        return self.records.schema_record(self.resolved, self.valid_from, create_table)

    def avro_schema(self) -> str:
        """Return this version's Avro schema, as JSON."""
        return self.records.avro_schema(self.resolved)

    @property
    def batch_schema(self) -> pa.Schema:
        """The schema of batches."""
        # Text output needs no version, which takes long to compute for many tables.
        return self.shared.schema if self.shared.options.raw_text else self.schema

    def batch(self, buffers: dict[str, Any]) -> ChangeBatch:
        """Return the rows that the kernel decoded.

        Args:
            buffers: what :meth:`binx.kernels.rows.builder.RowBuilder.finish` returns.

        Raises:
            DamagedError: a value is not of its column's type.
            UnsupportedError: a column's text is more than a batch can hold.
        """
        rows: int = buffers["rows"]
        offsets, text, _ = buffers["identifiers"]
        columns: list[Column] = [
            ColumnBuffers(buffers["change_type"], *_change_types()),
            ColumnBuffers(buffers["commit_version"]),
            ColumnBuffers(buffers["commit_timestamp"]),
            ColumnBuffers(buffers["row"]),
            ColumnBuffers(buffers["transaction"], text, offsets),
            ColumnBuffers(buffers["event_timestamp"]),
            ColumnBuffers(buffers["position"]),
            ColumnBuffers(buffers["statement"]),
            _present(buffers, rows),
        ]
        if self.shared.can_differ:
            columns.append(self._differences(buffers["differences"], rows))
        if self.shared.can_misfit:
            columns.append(self._misfits(buffers["misfits"], rows))
        own_columns = zip(self.resolved.columns, self._arrays, buffers["columns"], strict=True)
        for column, arrays, (validity, nulls, values, data, srids) in own_columns:
            try:
                columns.append(arrays.column(ColumnBuffers(values, data, None, validity, nulls, srids), rows))
            except BinxError as error:
                error.message = f"column {column.name} of {self.db}.{self.name}: {error.message}"
                raise
        flags = pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(buffers["flags"])])
        return ChangeBatch(self, rows, columns, flags, buffers["typed_documents"])

    def _by_row(self, cells: list[tuple[int, int, str]]) -> dict[int, dict[str, str]]:
        texts: dict[int, dict[str, str]] = defaultdict(dict)
        for row, column, text in cells:
            texts[row][self.resolved.columns[column].name] = text
        return texts

    def _misfits(self, cells: list[tuple[int, int, str]], rows: int) -> Column:
        if not cells:
            return ColumnBuffers(None, nulls=rows)
        texts = self._by_row(cells)
        items = [list(texts[row].items()) if row in texts else None for row in range(rows)]
        return pa.array(items, MISFITS)

    def _differences(self, cells: list[tuple[int, int, str]], rows: int) -> Column:
        """Build a JSON object of diffs by column for each row; the diffs are already JSON text."""
        if not cells:
            return ColumnBuffers(None, nulls=rows)
        objects = {
            row: "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "}"
            for row, texts in self._by_row(cells).items()
        }
        return pa.array([objects.get(row) for row in range(rows)], pa.string())


@cache
def _change_types() -> tuple[pa.Buffer, pa.Buffer]:
    """Return the bytes and offsets of the change types."""
    _, offsets, data = pa.array(CHANGE_TYPES, pa.string()).buffers()
    return data, offsets


def _present(buffers: dict[str, Any], rows: int) -> ColumnBuffers:
    if buffers["present"] is None:
        return ColumnBuffers(None, nulls=rows)
    validity, offsets, bits, nulls = buffers["present"]
    return ColumnBuffers(offsets, bits, None, validity, nulls)
