"""Record batches of row changes: the system columns, then the table's own.

The shape is that of Delta's change data feed: one row a row image, an update as two.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa

from binx.errors import BinxError
from binx.event.table_map import TableMap
from binx.log.arrow import arrow_array
from binx.rows.alike import MISFITS, UTC_TIMESTAMP, alike_columns
from binx.rows.arrays import ColumnArrays, Handed
from binx.rows.names import ResolvedTable
from binx.rows.types import ArrowOptions

CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")
"""In the order of the kernel's numbers."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Row changes of one table, all of one schema version.

    Attributes:
        table: the table as its rows were read.
        version: the schema version, 8 hex digits.
        batch: the rows, in the order of the log.
        rows_flags: all flags that the rows events had, and maybe those of other rows before.
    """

    table: TableChanges
    batch: pa.RecordBatch
    rows_flags: int

    @property
    def version(self) -> str:
        """The schema version of the rows."""
        return self.table.version


class TableChanges:
    r"""One table in one schema version: how its rows become batches.

    Attributes:
        resolved: names and types, and where they come from.
        alike: what it has in common with all tables of the same columns.
        stored: how the log stores the columns: their types, and what these mean.
        valid_from: commit version of the first transaction that was read so.
        undecodable: values that became text with ``\xNN`` escapes, by column name.
    """

    def __init__(
        self, table_map: TableMap, resolved: ResolvedTable, options: ArrowOptions, valid_from: int
    ) -> None:
        self.resolved = resolved
        self.alike = alike_columns(table_map.columns, resolved.columns, options)
        self.valid_from = valid_from

    @property
    def stored(self) -> tuple[tuple[int, int], ...]:
        """How the log stores the columns."""
        return self.alike.stored

    @cached_property
    def _arrays(self) -> list[ColumnArrays]:
        return self.alike.arrays()

    @cached_property
    def version(self) -> str:
        """8 hex digits over all that a reader of the rows relies on."""
        return self.alike.records.version(self.db, self.name)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the batches, which lack the version where text is as stored."""
        return self.alike.schema.with_metadata({b"binx.schema_version": self.version.encode()})

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
        """Values whose bytes their character set does not have, by column."""
        pairs = zip(self.resolved.columns, self._arrays, strict=True)
        return {column.name: arrays.undecodable for column, arrays in pairs if arrays.undecodable}

    def schema_record(self) -> str:
        """The schema record of this version, as JSON."""
        return self.alike.records.schema_record(self.resolved, self.valid_from)

    def avro_schema(self) -> str:
        """The same as an Avro schema, as JSON."""
        return self.alike.records.avro_schema(self.resolved)

    def batch(self, handed: dict[str, Any]) -> pa.RecordBatch:
        """The rows that the kernel handed over.

        Raises:
            DamagedError: a value is not of its column's type.
            UnsupportedError: a column's text is more than a batch can hold.
        """
        rows: int = handed["rows"]

        def column(name: str, data_type: pa.DataType) -> pa.Array:
            return pa.Array.from_buffers(data_type, rows, [None, pa.py_buffer(handed[name])], 0)

        arrays = [
            pa.DictionaryArray.from_arrays(column("change_type", pa.int8()), _change_types()),
            column("commit_version", pa.int64()),
            column("commit_timestamp", UTC_TIMESTAMP),
            column("row", pa.int64()),
            pa.DictionaryArray.from_arrays(column("transaction", pa.int32()), _identifiers(handed)),
            column("event_timestamp", UTC_TIMESTAMP),
            column("position", pa.int64()),
            _present(handed, rows),
        ]
        if self.alike.can_differ:
            arrays.append(self._differences(handed["differences"], rows))
        if self.alike.can_misfit:
            arrays.append(self._misfits(handed["misfits"], rows))
        arrays += self._values(handed["columns"], rows)
        # What is written as text needs no version, which takes long to make where tables are many.
        schema = self.alike.schema if self.alike.options.raw_text else self.schema
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _values(self, handed: list[tuple[Any, ...]], rows: int) -> Iterator[pa.Array]:
        for column, made, buffers in zip(self.resolved.columns, self._arrays, handed, strict=True):
            try:
                yield made.array(Handed(*buffers), rows)
            except BinxError as error:
                error.message = f"column {column.name} of {self.db}.{self.name}: {error.message}"
                raise

    def _by_row(self, places: list[tuple[int, int, str]]) -> dict[int, dict[str, str]]:
        texts: dict[int, dict[str, str]] = defaultdict(dict)
        for row, column, text in places:
            texts[row][self.resolved.columns[column].name] = text
        return texts

    def _misfits(self, places: list[tuple[int, int, str]], rows: int) -> pa.Array:
        if not places:
            return pa.nulls(rows, MISFITS)
        texts = self._by_row(places)
        items = [list(texts[row].items()) if row in texts else None for row in range(rows)]
        return arrow_array(items, MISFITS)

    def _differences(self, places: list[tuple[int, int, str]], rows: int) -> pa.Array:
        """A JSON object by column; each difference is JSON text already."""
        if not places:
            return pa.nulls(rows, pa.string())
        objects = {
            row: "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "}"
            for row, texts in self._by_row(places).items()
        }
        return arrow_array([objects.get(row) for row in range(rows)], pa.string())


@cache
def _change_types() -> pa.Array:
    return arrow_array(CHANGE_TYPES, pa.string())


def _identifiers(handed: dict[str, Any]) -> pa.Array:
    offsets, text, count = handed["identifiers"]
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text)], 0)


def _present(handed: dict[str, Any], rows: int) -> pa.Array:
    if handed["present"] is None:
        return pa.nulls(rows, pa.binary())
    validity, offsets, bits, nulls = handed["present"]
    return pa.Array.from_buffers(
        pa.binary(), rows, [pa.py_buffer(validity), pa.py_buffer(offsets), pa.py_buffer(bits)], nulls
    )
