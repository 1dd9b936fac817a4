"""The Parquet of an index file: a row a transaction, and room for a section of binx's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from binx import __version__
from binx.export.manifest import CONTRACT
from binx.export.output import Sink
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from typing_extensions import Buffer

_IDENTIFIERS = ("transaction", "gtid")


class RowGroups:
    """A Parquet file with one row a transaction, which takes some bytes of ours before its footer.

    Args:
        sink: where it goes.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._section: Callable[[int], Iterator[bytes]] | None = None
        self._writer: pq.ParquetWriter | None = None
        self.position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with nullcontext() if error is None else suppress(Exception):
            if self._writer is not None:
                self._writer.close()

    closed = False
    """What Arrow asks of a stream."""

    def write(self, data: Buffer) -> None:
        """Take what Arrow writes; the first of it that belongs to the footer comes behind the section."""
        if self._section is not None:
            section, self._section = self._section, None
            for piece in section(self.position):
                self._sink.write(piece)
        self.position += memoryview(data).nbytes
        self._sink.write(data)

    def flush(self) -> None:
        """What Arrow asks of a stream; the sink holds nothing back."""

    def write_rows(
        self, file: BinlogFile, scan: TransactionScan, table: TransactionTable, seqno: int
    ) -> None:
        """Write a table's transactions as a row group."""
        from binx.log.index import index_batch

        epoch = int(file.format.at_startup)
        batch = index_batch(file, scan, table, epoch=epoch, first_seqno=seqno, dictionaries=True)
        self._opened(batch).write_batch(batch, row_group_size=batch.num_rows)

    def _opened(self, first: pa.RecordBatch | None) -> pq.ParquetWriter:
        """The writer; how it encodes columns is decided by the first rows."""
        if self._writer is None:
            import pyarrow.parquet as pq

            from binx.export.encodings import column_settings
            from binx.log.index import index_schema

            schema = index_schema(dictionaries=True)
            metadata = {"binx.contract": str(CONTRACT), "binx.version": __version__}
            self._writer = pq.ParquetWriter(
                self,
                schema.with_metadata(metadata),
                compression="zstd",
                compression_level=1,
                version="2.6",
                **column_settings(schema, first, identifiers=_IDENTIFIERS),
            )
        return self._writer

    def before_footer(self, section: Callable[[int], Iterator[bytes]]) -> None:
        """Take what shall stand between the last row group and the footer; it is told its offset."""
        self._opened(None)
        self._section = section


__all__ = ["RowGroups"]
