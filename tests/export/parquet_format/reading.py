"""Files that are written and read again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binx.export.parquet_format.arrow_writer import ArrowWriter


def write(path: Path, *batches: pa.RecordBatch, **options: Any) -> Path:
    """Write a file of these row groups."""
    with path.open("wb") as stream:
        writer = ArrowWriter(stream, batches[0].schema, **options)
        for batch in batches:
            writer.write_batch(batch)
        writer.close()
    return path


def written(*batches: pa.RecordBatch, **options: Any) -> bytes:
    """A file's bytes."""
    stream = io.BytesIO()
    writer = ArrowWriter(stream, batches[0].schema, **options)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    return stream.getvalue()


def opened(data: bytes) -> pq.ParquetFile:
    """The file that these bytes are."""
    return pq.ParquetFile(io.BytesIO(data))
