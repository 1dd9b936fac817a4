"""Write a table at a moment to a file: Parquet, CSV, or SQL that recreates it."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.errors import RefusedError
from binx.lake.at_moment import TableAt
from binx.lake.options import CSV, PARQUET
from binx.rows.columns.arrow_schema import time_text
from binx.rows.ddl.tokens import identifier
from binx.sql.literals import comment_text, text_literal
from binx.storage.output import OutputStream

_OWN = ("_commit_version", "_commit_timestamp", "_misfits", "_unknown")
_ROWS = 1_000
"""Rows per INSERT, and per batch that is formatted at once."""

_STATEMENT_BYTES = 1 << 20


def write_table(table: TableAt, out: OutputStream, form: str, *, create: bool = True) -> None:
    """Write a table; with ``create``, SQL creates the table, too.

    Raises:
        RefusedError: for SQL: the logs do not have the table's definition.
        OutputError: it cannot be written.
    """
    if form == PARQUET:
        statements = [] if table.refused else table.definition
        noted = {"db": table.name.db, "table": table.name.table, "statements": statements}
        with pq.ParquetWriter(out, table.rows.schema, compression="zstd", store_schema=False) as writer:
            writer.write_table(table.rows)
            writer.add_key_value_metadata({"binx.table": json.dumps(noted)})
        return
    lines = _csv(table) if form == CSV else _sql(table, create=create)
    for line in lines:
        out.write(line.encode("utf-8", "surrogatepass"))


def _csv(table: TableAt) -> Iterator[str]:
    """Values as the server prints them, quoted; binary in hexadecimal, NULL as an empty field."""
    names = [name for name in table.rows.column_names if name not in _OWN]
    yield ",".join(map(_cell, names)) + "\n"
    for row in _values(table.rows):
        yield ",".join("" if row[name] is None else _cell(_printed(row[name])) for name in names) + "\n"


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _sql(table: TableAt, *, create: bool) -> Iterator[str]:
    if create and table.refused:
        raise RefusedError(
            f"the CREATE TABLE of {table.name} cannot be written: {table.refused}; make the table, and write"
            " its rows with --no-create"
        )
    yield f"-- {comment_text(f'{table.name} as of {table.moment}')}, by binx state\n"
    for text in table.missing:
        yield f"-- Incomplete: {comment_text(text)}\n"
    yield "SET NAMES utf8mb4;\nSET SESSION time_zone = '+00:00', foreign_key_checks = 0, unique_checks = 0;\n"
    if create and not table.definition:
        yield "-- Its CREATE TABLE is not in the logs.\n"
    if create and any("VERSIONING" in text.upper() for text in table.definition):
        yield "SET SESSION system_versioning_alter_history = KEEP;\n"
    for text in table.definition if create else ():
        # The text may end with a comment.
        yield f"{text}\n;\n"
    yield "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\nBEGIN;\n"
    names = [name for name in table.rows.column_names if name not in (*_OWN, *table.generated)]
    called = f"{identifier(table.name.db)}.{identifier(table.name.table)}"
    head = f"INSERT INTO {called} ({', '.join(map(identifier, names))}) VALUES\n"
    rows: list[str] = []
    size = 0
    for row in _values(table.rows):
        rows.append(f"({', '.join(_literal(row[name]) for name in names)})")
        size += len(rows[-1])
        if len(rows) >= _ROWS or size >= _STATEMENT_BYTES:
            yield head + ",\n".join(rows) + ";\n"
            rows, size = [], 0
    if rows:
        yield head + ",\n".join(rows) + ";\n"
    yield "COMMIT;\n"


def _values(rows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """Yield rows as Python objects; values that the type cannot hold are text as the server prints it."""
    for batch in rows.to_batches(max_chunksize=_ROWS):
        fields = [
            field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
            for field in batch.schema
        ]
        for row in batch.cast(pa.schema(fields)).to_pylist():
            row.update(row.get("_misfits") or ())
            yield row


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        # Without an exponent it would be a DECIMAL, which has no negative zero.
        return f"{value!r}e0" if value == 0 else repr(value)
    if isinstance(value, int | Decimal):
        return _printed(value)
    if isinstance(value, bytes | dict | list):
        data = _bytes(value)
        return f"x'{data.hex()}'" if data else "''"
    return text_literal(_printed(value), escapes=True)


def _printed(value: Any) -> str:
    """Return a value as text."""
    return next((print_(value) for kind, print_ in _PRINTED if isinstance(value, kind)), str(value))


def _time(value: timedelta) -> str:
    return time_text(value // timedelta(microseconds=1), 6 if value.microseconds else 0)


def _bytes(value: bytes | Mapping[str, Any] | list[float]) -> bytes:
    """Return the bytes that a column accepts: a geometry's SRID and WKB, a vector's numbers."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, list):
        return struct.pack(f"<{len(value)}f", *value)
    return struct.pack("<I", value["srid"]) + bytes(value["wkb"])


_PRINTED: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (bool, lambda value: str(int(value))),
    (float, repr),
    (Decimal, lambda value: format(value, "f")),
    (datetime, lambda value: value.isoformat(" ")),
    (date, date.isoformat),
    (timedelta, _time),
    ((bytes, dict, list), lambda value: _bytes(value).hex()),
)
