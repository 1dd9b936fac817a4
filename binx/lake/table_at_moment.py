"""Write a table at a moment to a file: Parquet, CSV, or SQL that recreates it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binx.errors import RefusedError
from binx.kernels.render.transactions import Spelling
from binx.lake.arrow.column_types import logical_type
from binx.lake.at_moment import TableAt
from binx.lake.options import CSV, PARQUET
from binx.lake.tables.lives import TableColumn
from binx.rows.columns.types import Kind, LogicalType
from binx.rows.ddl.tokens import identifier
from binx.slices.rendering import STATEMENT_BYTES, Changes, MergedChanges, Part, columns
from binx.sql.literals import SqlValues, comment_text
from binx.sql.session_settings import LENIENT_MODE, STRICT_MODE
from binx.sql.values import Spelled, ValueWriter
from binx.storage.output import OutputStream

_OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")
_ROW_START = "row_start"
_ROWS = 10_000
"""Rows that are written at once."""


def write_table(table: TableAt, out: OutputStream, form: str, *, create: bool = True) -> None:
    """Write a table; with ``create``, SQL creates the table, too.

    SQL has the current rows of a system-versioned table with the times that they begin at, which servers
    accept since MariaDB 10.11, and not those that ended.

    Raises:
        RefusedError: for SQL: the logs do not have the table's definition.
        OutputError: it cannot be written.
    """
    if form == PARQUET:
        statements = [] if table.definition is None else [table.definition.sql]
        noted = {"db": table.name.db, "table": table.name.table, "statements": statements}
        with pq.ParquetWriter(out, table.rows.schema, compression="zstd", store_schema=False) as writer:
            writer.write_table(table.rows)
            writer.add_key_value_metadata({"binx.table": json.dumps(noted)})
        return
    for text in _csv(table) if form == CSV else _sql(table, create=create):
        out.write(text)


def _csv(table: TableAt) -> Iterator[bytes]:
    """Values as the server prints them, quoted; binary in hexadecimal, NULL as an empty field."""
    names = [name for name in table.rows.column_names if name not in _OWN]
    titles = ('"' + table.columns[name].name.replace('"', '""') + '"' for name in names)
    yield f"{','.join(titles)}\n".encode()
    kinds = {name: table.columns[name] for name in names}
    openings = [b"" if number == 0 else b"," for number in range(len(names))]
    yield from row_texts(table.rows, kinds, CsvValues(), openings, b"\n")


class CsvValues(ValueWriter):
    """Writes columns as fields of CSV: what :mod:`binx.sql.literals` writes, in double quotes."""

    null = quote = b""
    string = Spelling.SPELL_TEXT
    true, false = b"1", b"0"

    def spelled(self, array: pa.Array, logical: LogicalType) -> tuple[Spelled, ...]:
        """Quote the values."""
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array = pc.replace_substring(array, '"', '""')
        spelled = [*super().spelled(array, logical)]
        spelled[0] = spelled[0].within(b'"', b"")
        spelled[-1] = spelled[-1].within(b"", b'"')
        return tuple(spelled)

    def misfit(self, text: str, _: LogicalType) -> str:
        """The text in quotes."""
        return f'"{text}"'

    def binary(self, array: pa.Array) -> Spelled:
        """Bytes in hexadecimal."""
        return Spelled(Spelling.SPELL_HEXADECIMAL, array)

    vector = binary

    def geometry(self, srid: pa.Array, wkb: pa.Array) -> tuple[Spelled, ...]:
        """The bytes that the server stores, in hexadecimal."""
        return tuple(part._replace(open=b"", close=b"") for part in SqlValues().geometry(srid, wkb))


def _sql(table: TableAt, *, create: bool) -> Iterator[bytes]:
    if create and table.refused:
        raise RefusedError(
            f"the CREATE TABLE of {table.name} cannot be written: {table.refused}; make the table, and write"
            " its rows with --no-create"
        )
    yield "".join(_head(table, create=create)).encode("utf-8", "surrogatepass")
    # MariaDB sets the end of a current row itself.
    names = [
        name
        for name in table.rows.column_names
        if name not in _OWN and table.generated.get(name, _ROW_START) == _ROW_START
    ]
    called = f"{identifier(table.name.db)}.{identifier(table.name.table)}"
    listed = ", ".join(identifier(table.columns[name].name) for name in names)
    statement = f"INSERT INTO {called} ({listed}) VALUES\n".encode(), b";\n", b""
    mode = LENIENT_MODE if _is_lenient(table) else STRICT_MODE
    yield f"SET SESSION sql_mode = '{mode}';\nBEGIN;\n".encode()
    if is_versioned(table):
        yield b"SET SESSION system_versioning_insert_history = 1;\n"
    kinds = {name: table.columns[name] for name in names}
    openings = [b"(" if number == 0 else b", " for number in range(len(names))]
    yield from row_texts(table.rows, kinds, SqlValues(), openings, b")", statement)
    yield b"COMMIT;\n"


def _head(table: TableAt, *, create: bool) -> Iterator[str]:
    """Yield what comes before the rows, with ``create`` the statements that make the table."""
    yield f"-- {comment_text(f'{table.name} as of {table.moment}')}, by binx state\n"
    for text in table.missing:
        yield f"-- Incomplete: {comment_text(text)}\n"
    yield "SET NAMES utf8mb4;\nSET SESSION time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0;\n"
    yield "/*M!100201 SET SESSION check_constraint_checks = 0 */;\n"
    if create and table.definition is None:
        yield "-- Its CREATE TABLE is not in the logs.\n"
    elif create and table.definition is not None:
        if "SYSTEM" in table.definition.zones:
            yield "-- Some defaults are moments in the time zone of the server's system, as it was there.\n"
        yield from (f"{statement};\n" for statement in table.definition.statements())
        yield "SET SESSION time_zone = '+00:00';\n"


def is_versioned(table: TableAt) -> bool:
    """Whether MariaDB keeps earlier versions of the table's rows (WITH SYSTEM VERSIONING)."""
    return _ROW_START in table.generated.values()


def _is_lenient(table: TableAt) -> bool:
    """Whether a strict session rejects a value: an ENUM's error value, or NULL for what is not known."""
    rows = table.rows
    if rows.column("_unknown").null_count < len(rows):
        return True
    kinds = {
        name: logical_type(table.columns[name], rows.schema.field(name).type).kind for name in table.columns
    }
    members = [rows.column(name) for name, kind in kinds.items() if kind is Kind.ENUM]
    return any(
        pc.any(pc.equal(values, 0 if pa.types.is_integer(values.type) else "")).as_py() for values in members
    )


def row_texts(
    rows: pa.Table,
    kinds: Mapping[str, TableColumn],
    writer: ValueWriter,
    openings: Sequence[bytes],
    closing: bytes,
    statement: tuple[bytes, bytes, bytes] | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
) -> Iterator[bytes]:
    """Write columns of rows, with a text before each value and one after the last.

    Args:
        rows: the rows; ``_misfits`` has the texts of values that their columns cannot hold.
        kinds: the columns to write, by their names in the rows.
        statement: texts around several rows, which are one statement.
        renamed: names of columns in ``_misfits`` that are others in the rows.
    """
    logical = {name: logical_type(column, rows.schema.field(name).type) for name, column in kinds.items()}
    for batch in rows.to_batches(max_chunksize=_ROWS):
        misfits = _misfits(batch, renamed or {})
        parts: list[bytes | Part] = []
        for opening, (name, kind) in zip(openings, logical.items(), strict=True):
            parts += columns(opening, writer.values(batch.column(name), kind, misfits.get(name, ())), None)
        numbers = memoryview(np.arange(batch.num_rows, dtype=np.int64).data)
        versions = memoryview(np.zeros(batch.num_rows, np.int64).data)
        changes = Changes(versions, numbers, None, batch.num_rows, [*parts, closing], None, statement)
        yield from MergedChanges([changes], statement_bytes=STATEMENT_BYTES).text(0, batch.num_rows)


def _misfits(batch: pa.RecordBatch, renamed: Mapping[str, str]) -> dict[str, list[tuple[int, str]]]:
    """Return the row and text of the values that their columns cannot hold, by column."""
    misfits: dict[str, list[tuple[int, str]]] = {}
    if "_misfits" in batch.schema.names:
        for row, texts in enumerate(batch.column("_misfits").to_pylist()):
            for name, text in texts or ():
                misfits.setdefault(renamed.get(name, name), []).append((row, text))
    return misfits
