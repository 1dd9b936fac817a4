"""Arrow's record batches as the row groups of a Parquet file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from binx.export.parquet_format.arrow_schema import ArrowColumns, arrow_columns
from binx.export.parquet_format.columns import Values, batch_values
from binx.export.parquet_format.compression import compressor
from binx.export.parquet_format.file import Begun, ParquetFile, Sink

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from binx.rows.column_buffers import ColumnBuffers


class ArrowWriter:
    """Writes batches of one schema; each becomes a row group.

    Args:
        sink: where to.
        schema: of the batches.
        compression: ``zstd``, ``snappy``, ``lz4`` or ``none``.
        level: of zstd; None for the one that pays.
        statistics: columns whose least and largest values are kept.
        texts: columns of words that readers take for text.
        begun: what of the file stands before the sink's place; None for a new one.
        columns: what :func:`~binx.export.parquet_format.arrow_schema.arrow_columns` gives, if it was asked.

    Raises:
        OSError: the sink does not take it.
        TypeError: a type is none of the data set's.
    """

    def __init__(
        self,
        sink: Sink,
        schema: pa.Schema,
        *,
        compression: str = "zstd",
        level: int | None = None,
        statistics: Collection[str] = (),
        texts: Collection[str] = (),
        begun: Begun | None = None,
        columns: ArrowColumns | None = None,
    ) -> None:
        codec, compress = compressor(compression, level)
        self._schema = schema
        self._columns = columns or arrow_columns(schema, texts)
        self._file = ParquetFile(sink, self._columns.written, codec, compress, statistics, begun)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Add a row group; a batch without rows adds none.

        Raises:
            OSError: the sink does not take it.
        """
        if batch.num_rows:
            self._file.write_rows(batch.num_rows, batch_values(batch))

    def write_rows(self, rows: int, values: Iterable[Values | ColumnBuffers]) -> None:
        """Add a row group of at least one row whose values are at hand, those of each leaf in their order.

        Raises:
            OSError: the sink does not take it.
        """
        self._file.write_rows(rows, values)

    @property
    def begun(self) -> Begun:
        """How far the file is."""
        return self._file.begun

    @property
    def position(self) -> int:
        """Bytes written."""
        return self._file.position

    def append(self, pieces: Iterable[Buffer], begun: Begun) -> None:
        """Add the row groups of another file, which was begun without magic.

        Args:
            pieces: its bytes.
            begun: what is known of it; it is of no use afterwards.

        Raises:
            OSError: the sink does not take them.
        """
        self._file.append(pieces, begun)

    def write(self, data: bytes) -> None:
        """Put bytes behind the row groups so far: readers pass over what no footer tells of.

        Raises:
            OSError: the sink does not take them.
        """
        self._file.write(data)

    def close(self) -> None:
        """Write the footer; the sink stays open.

        Raises:
            OSError: the sink does not take it.
        """
        self._file.close(self._columns.facts(self._schema.metadata))


__all__ = ["ArrowWriter"]
