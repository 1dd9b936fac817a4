"""Parquet files as tasks read them: a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def read_groups(path: str) -> Iterator[pa.Table]:
    """The row groups of a file; one without rows, which has none, is a table without rows.

    Raises:
        OSError: it cannot be read; the message names it.
    """
    import pyarrow.parquet as pq

    with _named(path), pq.ParquetFile(path) as file:
        if not file.num_row_groups:
            yield file.schema_arrow.empty_table()
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, use_threads=False)


def count_rows(path: str) -> int:
    """How many rows a file has.

    Raises:
        OSError: it cannot be read; the message names it.
    """
    import pyarrow.parquet as pq

    with _named(path), pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


@contextmanager
def _named(path: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise OSError(f"{path} cannot be read: {error}") from error
