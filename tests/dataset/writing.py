"""Parquet files written as the data set's are."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.dataset.parquet_file import writer_settings


def write(path: Path, *batches: pa.RecordBatch) -> Path:
    """Write a file of these row groups."""
    path.write_bytes(written(*batches))
    return path


def written(*batches: pa.RecordBatch, **options: Any) -> bytes:
    """A file's bytes."""
    stream = io.BytesIO()
    first = pa.Table.from_batches(batches[:1])
    with pq.ParquetWriter(
        stream,
        first.schema,
        compression="zstd",
        compression_level=1,
        **writer_settings(first.schema, first, **options),
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return stream.getvalue()


def opened(data: bytes) -> pq.ParquetFile:
    """The file that these bytes are."""
    return pq.ParquetFile(io.BytesIO(data))


def sha256(path: Path) -> str:
    """Of a file's bytes, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
