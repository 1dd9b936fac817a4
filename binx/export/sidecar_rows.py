"""The Parquet of an index file: a row a transaction, and room for a section of binx's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from binx import __version__
from binx.export.manifest import CONTRACT
from binx.export.output import Sink
from binx.kernels.transactions import TransactionTable
from binx.log.file import BinlogFile
from binx.log.scanning import TransactionScan


class RowGroups:
    """A Parquet file with one row a transaction, which takes some bytes of ours before its footer.

    Args:
        sink: where it goes.
    """

    def __init__(self, sink: Sink) -> None:
        from binx.export.file_columns import with_statistics
        from binx.export.parquet_format.arrow_writer import ArrowWriter
        from binx.log.index import index_schema

        schema = index_schema(dictionaries=True)
        metadata = {"binx.contract": str(CONTRACT), "binx.version": __version__}
        self._writer = ArrowWriter(sink, schema.with_metadata(metadata), statistics=with_statistics(schema))

    def write_rows(
        self, file: BinlogFile, scan: TransactionScan, table: TransactionTable, seqno: int
    ) -> None:
        """Write a table's transactions as a row group."""
        from binx.log.index import index_batch

        epoch = int(file.format.at_startup)
        self._writer.write_batch(
            index_batch(file, scan, table, epoch=epoch, first_seqno=seqno, dictionaries=True)
        )

    def close(self, section: Callable[[int], Iterator[bytes]]) -> None:
        """End the file.

        Args:
            section: what shall stand between the last row group and the footer; it is told its offset.
        """
        for piece in section(self._writer.position):
            self._writer.write(piece)
        self._writer.close()


__all__ = ["RowGroups"]
