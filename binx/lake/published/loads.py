"""``_loads/``: what each load did to which table, in Parquet files of a day, which a view reads."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from binx.lake.place import LakeStore
from binx.lake.summary import TableSummary

FOLDER = "_loads"
_SCHEMA = pa.schema(
    [
        ("load", pa.int64()),
        ("committed_at", pa.timestamp("us", "UTC")),
        ("db", pa.string()),
        ("table", pa.string()),
        ("listed", pa.int64()),
        ("loaded", pa.int64()),
        ("inserts", pa.int64()),
        ("updates", pa.int64()),
        ("deletes", pa.int64()),
        ("current", pa.int64()),
        ("completeness", pa.string()),
        ("reasons", pa.list_(pa.string())),
        ("error", pa.string()),
    ]
)


def record_load(place: LakeStore, load: int, tables: Iterable[TableSummary]) -> None:
    """Record a load that was committed: a row for each table that it changed or stopped.

    A load that changed no table has one row, without a table. Only the file of the day is written.
    """
    now = datetime.now(UTC)
    concerned = [table for table in tables if table.loaded or table.error or table.current is not None]
    rows = [{name: getattr(table, name) for name in _SCHEMA.names[2:]} for table in concerned]
    new = [{"load": load, "committed_at": now, **row} for row in rows or [{}]]
    path = f"{FOLDER}/{now.date()}.parquet"
    former = place.read(path)
    parts = [] if former is None else [pq.read_table(pa.BufferReader(former), partitioning=None)]
    content = io.BytesIO()
    table = pa.concat_tables([*parts, pa.Table.from_pylist(new, _SCHEMA)])
    pq.write_table(table, content, compression="zstd")
    place.put(path, content.getvalue())
