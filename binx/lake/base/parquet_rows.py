"""Import rows of Parquet files as a base."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import AbsentError, BinxError, DamagedError, RefusedError
from binx.lake.base.dump_tables import base_batch, present_bits
from binx.lake.base.parquet_backup import ParquetPart, open_parquet
from binx.lake.base.parquet_values import exact_values, sql_type
from binx.lake.base.source import BaseSource, Name
from binx.rows.batches import ChangeBatch, TableChanges
from binx.rows.columns.arrow_schema import MISFITS
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import folded_name
from binx.rows.columns.types import ArrowOptions
from binx.rows.ddl.dump_statements import statements, used_database
from binx.rows.ddl.tokens import identifier

_BATCH_ROWS = 32_768
_BATCH_BYTES = 16 << 20
_OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")
"""Columns that ``binx state`` adds to a table's own."""


class ParquetTables:
    """Imports tables from Parquet files.

    Args:
        schema: CREATE TABLE statements; None to derive columns from the files.
        schema_path: the file of these statements.
    """

    def __init__(
        self, parts: Sequence[ParquetPart], options: ArrowOptions, schema: str | None, schema_path: str
    ) -> None:
        self._parts = parts
        self._options = options
        self._schema = schema
        self._schema_path = schema_path

    def read(self, source: BaseSource, progress: Callable[[int], None]) -> None:
        """Import the tables.

        Raises:
            BinxError: something cannot be imported.
        """
        tables: dict[Name, list[ParquetPart]] = {}
        for part in self._parts:
            if source.wants(part.name):
                tables.setdefault(part.name, []).append(part)
        if self._schema is not None:
            databases = {db for db, _ in tables}
            _follow(source, self._schema, databases.pop() if len(databases) == 1 else "")
        digest = hashlib.sha256()
        taken: set[Name] = set()
        done = 0
        for name, parts in tables.items():
            table: TableChanges | None = None
            for part in parts:
                with open_parquet(part.path) as file:
                    try:
                        table = table or self._begin(source, name, part, file)
                        for batch in _ParquetRows(file, part, table, self._options, source).batches():
                            source.take_batch(batch)
                    except BinxError as error:
                        raise error.at(path=str(part.path)) from error.__cause__
                done += part.path.stat().st_size
                digest.update(f"{part.path.name} {_sha256(part.path)}\n".encode("utf-8", "replace"))
                progress(done)
            source.end_table()
            taken |= set() if table is None else {(table.db, table.name)}
        source.keep_only(taken)
        source.sha256 = digest.hexdigest()

    def _begin(self, source: BaseSource, name: Name, part: ParquetPart, file: pq.ParquetFile) -> TableChanges:
        """Begin a table, with columns from the schema, or else from the file."""
        if self._schema is None:
            texts = [_create_table(name[1], file.schema_arrow)] if part.own is None else part.own.statements
            for text in texts:
                _follow(source, text, name[0])
        try:
            return source.begin_table(*name)
        except DamagedError:
            raise AbsentError(
                f"expected a CREATE TABLE of {'.'.join(name)}, found none in {self._schema_path or 'it'}:"
                " give one with --schema"
            ) from None


def _follow(source: BaseSource, text: str, db: str) -> None:
    for number, statement in enumerate(statements(text)):
        used = used_database(statement)
        if used is None:
            source.statement(statement.strip(), db, number)
        else:
            db = used


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _create_table(table: str, schema: pa.Schema) -> str:
    """Return a CREATE TABLE statement for a file's columns, without a key."""
    columns = []
    for field in schema:
        try:
            kind = sql_type(field.type)
        except BinxError as error:
            error.message = f"column {field.name}: {error.message}"
            raise
        columns.append(f"{identifier(field.name)} {kind} {'' if field.nullable else 'NOT '}NULL")
    return f"CREATE TABLE {identifier(table)} ({', '.join(columns)}) DEFAULT CHARSET=utf8mb4"


class _ParquetRows:
    """The rows of one file, converted to a table's.

    Raises:
        RefusedError: the file's columns are not the table's.
    """

    def __init__(
        self,
        file: pq.ParquetFile,
        part: ParquetPart,
        table: TableChanges,
        options: ArrowOptions,
        source: BaseSource,
    ) -> None:
        self._file = file
        self._table = table
        self._options = options
        self._source = source
        self._is_own = part.own is not None
        names = file.schema_arrow.names
        own = _OWN if self._is_own else ()
        indexes = {folded_name(name): index for index, name in enumerate(names) if name not in own}
        columns = table.resolved.columns
        wanted = [folded_name(column.name if self._is_own else column.source_name) for column in columns]
        extra = [names[index] for name, index in indexes.items() if name not in wanted]
        if extra or len(indexes) != len([name for name in names if name not in own]):
            raise RefusedError(
                f"expected columns of {table.db}.{table.name}, found {', '.join(extra) or 'one twice'}: leave"
                " them out where the file is written, or give the CREATE TABLE that has them"
            )
        self._indexes = [indexes.get(name) for name in wanted]
        missing = [
            column.source_name
            for column, index in zip(columns, self._indexes, strict=True)
            if index is None and (column.generated is None or column.primary_key_position is not None)
        ]
        if missing:
            raise RefusedError(
                f"expected all columns of {table.db}.{table.name}, it lacks {', '.join(missing)}"
            )
        # Spark and Hive write instants as INT96, which Arrow reads without a time zone.
        self._instants = {
            names.index(file.schema.column(number).path)
            for number in range(len(file.schema))
            if file.schema.column(number).physical_type == "INT96"
            and file.schema.column(number).path in names
        }

    def batches(self) -> Iterator[ChangeBatch]:
        """Yield all rows.

        Raises:
            BinxError: the file is damaged, or values are not of their column's type.
        """
        notes = self._file.metadata
        groups = [notes.row_group(number) for number in range(notes.num_row_groups)]
        widest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
        batches = self._file.iter_batches(batch_size=max(1, min(_BATCH_ROWS, _BATCH_BYTES // (widest + 1))))
        while True:
            try:
                batch = next(batches, None)
            except (OSError, pa.ArrowException) as error:
                what = str(error).splitlines()[0]
                raise DamagedError(f"expected a Parquet file, found it damaged ({what})") from error
            if batch is None:
                return
            if batch.num_rows:
                yield self._batch(batch)

    def _batch(self, batch: pa.RecordBatch) -> ChangeBatch:
        columns = self._table.resolved.columns
        texts, unknown = self._own_column(batch, "_misfits"), self._own_column(batch, "_unknown")
        misfits = {row: dict(pairs) for row, pairs in texts.items()}
        arrays = [
            self._array(batch, column, index, misfits, unknown)
            for column, index in zip(columns, self._indexes, strict=True)
        ]
        present = [number for number, index in enumerate(self._indexes) if index is not None]
        bitmaps = [present_bits(len(columns), present)] * batch.num_rows
        for row, names in unknown.items():
            known = [index for index in present if columns[index].name not in names]
            bitmaps[row] = present_bits(len(columns), known)
        listed = [list(misfits[row].items()) if row in misfits else None for row in range(batch.num_rows)]
        return base_batch(
            self._table,
            arrays,
            self._source.backup.version,
            self._source.rows_taken((self._table.db, self._table.name)),
            pa.array(bitmaps, pa.binary()),
            pa.array(listed, MISFITS) if misfits else None,
        )

    def _own_column(self, batch: pa.RecordBatch, name: str) -> dict[int, Any]:
        """Return the values, by row, of a column that ``binx state`` added; NULLs are omitted."""
        if not self._is_own or name not in batch.schema.names or batch.column(name).null_count == len(batch):
            return {}
        return {row: value for row, value in enumerate(batch.column(name).to_pylist()) if value is not None}

    def _array(
        self,
        batch: pa.RecordBatch,
        column: ResolvedColumn,
        index: int | None,
        misfits: Mapping[int, Mapping[str, str]],
        unknown: Mapping[int, Sequence[str]],
    ) -> pa.Array:
        if index is None:
            return exact_values(pa.nulls(batch.num_rows), column.type, self._options)
        values = batch.column(index)
        if index in self._instants:
            values = values.cast(pa.timestamp("us", tz="UTC"))
        try:
            array = exact_values(values, column.type, self._options, is_own=self._is_own)
        except BinxError as error:
            error.message = (
                f"column {column.source_name} of {self._table.db}.{self._table.name}: {error.message}"
            )
            raise
        if array.null_count and (not column.nullable or column.primary_key_position is not None):
            noted = sum(column.name in texts for texts in misfits.values())
            noted += sum(column.name in names for names in unknown.values())
            if array.null_count > noted:
                raise RefusedError(
                    f"column {column.source_name} of {self._table.db}.{self._table.name} is NOT NULL, found"
                    f" {array.null_count - noted} NULL; take tables with values that Parquet cannot hold, as"
                    " zero dates, from a dump"
                )
        return array
